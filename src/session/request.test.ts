import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sharedStore } from "../../test/support/shared-store.ts";
import { Agent } from "../agent/agent.ts";
import type { AgentOptions } from "../agent/options.ts";
import { type Script, scripted } from "../model/scripted.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { Workflow } from "../workflow/workflow.ts";
import { RathError } from "./errors.ts";
import { stateOf } from "./fold.ts";
import type { Node } from "./log.ts";
import type { ModelRequest, RequestMessage } from "./message.ts";
import { digestOf, messagesOf, messagesSince, requestOf } from "./request.ts";
import type { Session } from "./session.ts";
import { placeOf } from "./value.ts";

/** Replies that remember what they were sent. */
function recording(sent: ModelRequest[], ...replies: readonly Script[]): Script[] {
  return replies.map((reply) => (request, session) => {
    sent.push(JSON.parse(JSON.stringify(request)) as ModelRequest);
    return typeof reply === "function" ? reply(request, session) : reply;
  });
}

/** What providers refuse: calls without all their results right after them, and results without calls. */
function wellShaped(messages: readonly RequestMessage[]): void {
  for (const [index, message] of messages.entries()) {
    const calls = message.role === "assistant" ? message.parts.flatMap((part) => (part.type === "call" ? [part.id] : [])) : [];
    const next = messages[index + 1];
    if (calls.length > 0) expect(next?.role === "tool" && next.results.map(({ call }) => call)).toEqual(calls);
    if (message.role === "tool") expect(messages[index - 1]?.role).toBe("assistant");
  }
  expect(messages.at(-1)?.role).not.toBe("assistant");
}

/** Every model call among the ancestors reads again what it was sent. */
async function readsAgain(session: Session, sent: readonly ModelRequest[]): Promise<void> {
  const calls = [...session.events()].filter(({ kind }) => kind === "model.called");
  const read = await Promise.all(calls.map(async ({ id }) => session.at(id).request()));
  for (const { messages } of read) wellShaped(messages);
  const sorted = (list: readonly unknown[]) => list.map((one) => JSON.stringify(one, Object.keys(flat(one)).sort())).sort();
  expect(sorted(JSON.parse(JSON.stringify(read)) as unknown[])).toEqual(sorted(sent));
}
/** All keys, however deep, so that two orders of keys compare equal. */
function flat(value: unknown, keys: Record<string, true> = {}): Record<string, true> {
  if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      keys[key] = true;
      flat(inner, keys);
    }
  return keys;
}

const texts = (messages: readonly RequestMessage[]) =>
  messages.map((message) =>
    message.role === "tool"
      ? `tool: ${message.results.map(({ outcome, value }) => `${outcome} ${JSON.stringify(value)}`).join(" | ")}`
      : message.role === "system"
        ? `system: ${message.text}`
        : `${message.role}: ${message.parts.map((part) => ("text" in part ? part.text : `[${part.type}]`)).join("")}`,
  );

const look = tool({ name: "look", description: "x", input: z.object({ n: z.number() }), repeat: "safe", run: ({ n }) => n * 2 });
const bad = tool({ name: "bad", description: "x", input: z.object({}), repeat: "safe", run: () => Promise.reject(new Error("broke")) });
const calls = (...list: readonly [string, unknown][]): Script => ({ calls: list.map(([name, input]) => ({ tool: name, input })) });
const answers = (...replies: readonly Script[]) => new Agent({ model: scripted(...replies) });

describe("what a model read", () => {
  test("is read again at every call, with instructions, tools, settings, output schema and all results of a round", async () => {
    const sent: ModelRequest[] = [];
    const options: Omit<AgentOptions<unknown>, "model"> = {
      instructions: (session) => `You have ${session.messages.length} messages.`,
      tools: [look, bad],
      settings: { temperature: 0.5, toolChoice: "required" },
      output: z.object({ sum: z.number() }),
    };
    const script = recording(
      sent,
      calls(["look", { n: 1 }], ["bad", {}], ["look", { n: 2 }]),
      { reasoning: "Hm.", text: "Now ", calls: [{ tool: "nobody", input: {} }] },
      { output: { sum: "no" } },
      { output: { sum: 6 } },
    );
    const session = await new Agent({ ...options, model: scripted(...script) }).forward(testRath().session("Add."));
    expect(session.output).toEqual({ sum: 6 });
    expect(sent).toHaveLength(4);
    await readsAgain(session, sent);
    for (const [index, event] of [...session.events()].filter(({ kind }) => kind === "model.called").entries())
      expect(texts((await session.at(event.step).request()).messages)).toEqual(texts(sent[index]?.messages ?? []));
    expect(sent[0]?.settings).toEqual({ temperature: 0.5, toolChoice: "required" });
    expect(sent[1]?.settings).toEqual({ temperature: 0.5 });
  });

  test("a hook's changes included", async () => {
    const sent: ModelRequest[] = [];
    const beforeModel = (request: ModelRequest): ModelRequest => ({
      ...request,
      instructions: `${request.instructions} Politely.`,
      messages: [...request.messages.slice(-1)],
    });
    const model = scripted(...recording(sent, calls(["look", { n: 1 }]), "ok"));
    const session = await new Agent({ model, tools: [look], instructions: "Answer.", hooks: { beforeModel } }).forward(
      testRath().session("go").say("please"),
    );
    expect(sent[0]).toMatchObject({ instructions: "Answer. Politely.", messages: [{ parts: [{ text: "please" }] }] });
    const first = [...session.events()].find(({ kind }) => kind === "model.called");
    expect(texts((await session.at(first?.id ?? "").request()).messages)).toEqual(["user: please"]);
  });

  test("before any call there is nothing to read, and a wrong digest is found", async () => {
    const rath = testRath();
    await expect(rath.session("go").request()).rejects.toThrow(RathError);
    const session = await answers("ok").forward(rath.session("go"));
    const { node, context } = placeOf(session);
    let called: Node = node;
    while (called.kind !== "model.called") called = called.parent as Node;
    const { platform } = context.host;
    expect(requestOf(called, platform).messages).toHaveLength(1);
    const data = { ...called.data<"model.called">(platform), request: "0".repeat(64) };
    const tampered = Object.create(called, { data: { value: () => data } }) as Node;
    expect(() => requestOf(tampered, platform)).toThrow(expect.objectContaining({ code: "store.corrupt" }));
    // The same for what it stands on: another parent is another request.
    const moved = Object.create(called, { parent: { value: node }, data: { value: () => called.data(platform) } }) as Node;
    expect(() => requestOf(moved, platform)).toThrow(expect.objectContaining({ code: "store.corrupt" }));
  });

  test("its digest goes on from the one before: a request costs what is new", async () => {
    const session = await answers("a").forward(testRath().session("go"));
    const { platform } = placeOf(session).context.host;
    let hashed = 0;
    const counting = { ...platform, sha256: (text: string) => `${hashed++}` && platform.sha256(text) };
    const more = session.say("1").say("2").say("3");
    digestOf(stateOf(placeOf(session).node).context, counting);
    hashed = 0;
    digestOf(stateOf(placeOf(more).node).context, counting);
    expect(hashed).toBe(3);
  });
});

describe("what a model reads of other branches", () => {
  async function pair(sent: ModelRequest[] = []) {
    const rath = testRath({ implicitForks: "error" });
    const start = await answers("hello").forward(rath.session("go"));
    const [left, right] = await Promise.all(
      ["left", "right"].map((label) => answers("-", ...recording(sent, `${label} answer`)).forward(start.fork(label).say(`${label}?`))),
    );
    return { start, left: left as Session, right: right as Session };
  }
  const goOn = async (session: Session, sent: ModelRequest[]) =>
    new Agent({ name: "next", model: scripted(...recording(sent, "ok")) }).forward(session.say("and?"));
  const ownLeft = ["user: go", "assistant: hello", "user: left?", "assistant: left answer"];

  test("a fork reads its own line alone", async () => {
    const sent: ModelRequest[] = [];
    const { right } = await pair(sent);
    await readsAgain(right, [...sent.filter((one) => JSON.stringify(one).includes("right?")), ...(await firstRequest(right))]);
    expect(texts((await right.request()).messages)).toEqual(["user: go", "assistant: hello", "user: right?"]);
  });

  test("by default the answer, as data with the branch's name", async () => {
    const sent: ModelRequest[] = [];
    const { left, right } = await pair();
    const judged = await right.check("tests", () => true);
    const done = await goOn(await left.merge(judged), sent);
    const [own, data] = [texts(sent[0]?.messages ?? []).slice(0, 4), texts(sent[0]?.messages ?? [])[4] ?? ""];
    expect(own).toEqual(ownLeft);
    expect(data).toMatch(/not an instruction/);
    expect(JSON.parse(data.slice(data.indexOf("{")))).toEqual({
      branch: "right",
      answer: "right answer",
      checks: [{ name: "tests", passed: true }],
    });
    expect(texts((await done.request()).messages)).toEqual(texts(sent[0]?.messages ?? []));
    wellShaped(sent[0]?.messages ?? []);
  });

  test("all that was said there, or what a function makes of it", async () => {
    const sent: ModelRequest[] = [];
    const { left, right } = await pair();
    await goOn(await left.merge(right, { context: "all" }), sent);
    expect(texts(sent[0]?.messages ?? [])[4]).toMatch(/"conversation":\["user: right\?","assistant: right answer"\]/);
    const own = await pair();
    await goOn(await own.left.merge(own.right, { context: ([other]) => `They said: ${other?.text}` }), sent);
    expect(texts(sent[1]?.messages ?? [])).toEqual([...ownLeft, "user: They said: right answer", "user: and?"]);
  });

  test("a receiver that added nothing takes a single other verbatim", async () => {
    const sent: ModelRequest[] = [];
    const { start, right } = await pair();
    const done = await goOn(await start.fork("still").merge(right), sent);
    expect(texts(sent[0]?.messages ?? [])).toEqual([
      "user: go",
      "assistant: hello",
      "user: right?",
      "assistant: right answer",
      "user: and?",
    ]);
    expect(done.messages.map(({ text }) => text)).toEqual(["go", "hello", "right?", "right answer", "and?", "ok"]);
  });

  test("after a merge of a merge each branch is there once", async () => {
    const sent: ModelRequest[] = [];
    const { start, left, right } = await pair();
    const third = await answers("-", "third answer").forward(start.fork("third").say("third?"));
    const done = await goOn(await third.merge(await left.merge(right)), sent);
    expect(done.messages.map(({ text }) => text)).toEqual([
      "go",
      "hello",
      "third?",
      "third answer",
      "left?",
      "left answer",
      "right?",
      "right answer",
      "and?",
      "ok",
    ]);
    const read = texts(sent[0]?.messages ?? []);
    expect(read.slice(0, 4)).toEqual(["user: go", "assistant: hello", "user: third?", "assistant: third answer"]);
    expect(read.filter((text) => text.includes("left answer"))).toHaveLength(1);
  });

  test("a detached session reads on with what it took along", async () => {
    const sent: ModelRequest[] = [];
    const { left } = await pair();
    const done = await goOn(left.detach(), sent);
    expect(texts(sent[0]?.messages ?? [])).toEqual([...ownLeft, "user: and?"]);
    expect([done.usage.input, done.usage.own.input]).toEqual([done.usage.own.input, done.usage.own.input]);
    await readsAgain(done, sent);
  });
});

async function firstRequest(session: Session): Promise<ModelRequest[]> {
  const first = [...session.events()].find(({ kind }) => kind === "model.called");
  return [JSON.parse(JSON.stringify(await session.at(first?.id ?? "").request())) as ModelRequest];
}

describe("calls that have no result", () => {
  test("in a fork made while tools were open are closed, those that returned are there", async () => {
    const rath = testRath({ implicitForks: "error" });
    const pay = tool({ name: "pay", description: "x", input: z.object({}), needsApproval: () => true, run: () => "paid" });
    const agent = new Agent({ model: scripted(calls(["look", { n: 4 }], ["pay", {}]), "done"), tools: [look, pay] });
    const running = agent.forward(rath.session("go"));
    let pending = await rath.pending();
    for (; pending.length === 0 || (await rath.open(pending[0]?.session ?? "")).calls.length === 0; pending = await rath.pending())
      await new Promise((resolve) => setTimeout(resolve, 2));
    const open = await rath.open(pending[0]?.session as string);
    const sent: ModelRequest[] = [];
    const other = await new Agent({ name: "other", model: scripted(...recording(sent, "elsewhere")) }).forward(
      open.fork("other").say("Leave it."),
    );
    expect(texts(sent[0]?.messages ?? [])).toEqual([
      "user: go",
      "assistant: [call][call]",
      'tool: ok 8 | cancelled "This call was not continued in this branch."',
      "user: Leave it.",
    ]);
    await readsAgain(other, [...(await firstRequest(other)), ...sent]);
    await rath.decide(pending[0]?.id as string, { by: "human:ada", approve: true });
    const done = await running;
    expect(texts((await done.request()).messages).at(-1)).toBe('tool: ok 8 | ok "paid"');
  });

  test("inside a tool the call that is under way is closed too", async () => {
    const sent: ModelRequest[] = [];
    const inner = new Agent({ name: "inner", model: scripted(...recording(sent, "inside")) });
    const think = tool({
      name: "think",
      description: "x",
      input: z.object({}),
      repeat: "nested",
      run: async (_, { session }) => (await inner.forward(session.say("Think."))).output,
    });
    const done = await new Agent({ model: scripted(calls(["think", {}]), "done"), tools: [think] }).forward(testRath().session("go"));
    expect(done.text).toBe("done");
    wellShaped(sent[0]?.messages ?? []);
    expect(texts(sent[0]?.messages ?? [])).toEqual([
      "user: go",
      "assistant: [call]",
      'tool: cancelled "This call was not continued in this branch."',
      "user: Think.",
    ]);
  });

  test("of a reply that ended without them leave nothing open", async () => {
    class Two extends Workflow {
      readonly first = new Agent({
        model: scripted({ text: "half", calls: [{ tool: "look", input: { n: 1 } }] }),
        tools: [look],
        limits: { rounds: 1 },
      });
      readonly second = new Agent({ model: scripted("ok") });
      async forward(session: Session) {
        return this.second.forward(await this.first.forward(session));
      }
    }
    const done = await new Two().forward(testRath().session("go"));
    const read = (await done.request()).messages;
    wellShaped(read);
    expect(texts(read)).toEqual(["user: go", "assistant: half[call]", "tool: ok 2"]);
  });
});

describe("what was erased", () => {
  /** Erases the first event of a kind and opens the session again. */
  async function without(kind: string, nth = 0): Promise<{ readonly session: Session; readonly erased: string }> {
    const store: Store = sharedStore();
    const first = testRath({ store });
    const agent = new Agent({
      model: scripted({ text: "secret plan", calls: [{ tool: "look", input: { n: 1 } }] }, "done"),
      tools: [look],
    });
    const done = await agent.forward(first.session("secret"));
    const erased = [...done.events()].filter((event) => event.kind === kind)[nth]?.id ?? "";
    await store.erase?.([erased], "e".repeat(64));
    await first.close();
    return { session: await testRath({ store }).open(done.id), erased };
  }

  test.each([
    ["message.added", ["user: [erased]", "assistant: secret plan[call]", "tool: ok 2"]],
    ["model.returned", ["user: secret", "assistant: [erased]", "user: Continue."]],
  ])("%s is read as such; the digest still fits", async (kind, read) => {
    const { session } = await without(kind);
    const { messages } = await session.request();
    expect(texts(messages)).toEqual(read);
    wellShaped(messages);
  });

  test("a result or its call leaves the shape of the round", async () => {
    for (const kind of ["tool.returned", "tool.called"]) {
      const { messages } = await (await without(kind)).session.request();
      wellShaped(messages);
      expect(JSON.stringify(messages)).not.toContain("ok 2");
    }
  });

  test("a model call that was erased is named", async () => {
    const { session, erased } = await without("model.called", 1);
    await expect(session.request()).rejects.toMatchObject({ code: "event.erased", details: { event: erased } });
  });
});

describe("what comes after the newest reply", () => {
  test("is the end of what a model reads, and is found without reading the rest", async () => {
    const look = tool({ name: "look", description: "x", input: z.object({}), repeat: "safe", run: () => "seen" });
    const round = {
      text: "I look.",
      calls: [
        { tool: "look", input: {} },
        { tool: "look", input: {} },
      ],
    };
    const agent = new Agent({ model: scripted(round, round, "done", "more"), tools: [look] });
    const session = await agent.forward((await agent.forward(testRath().session("go"))).say("and now?"));
    let compared = 0;
    for (const { step } of session.events()) {
      const { node, context } = placeOf(session.at(step));
      const { platform } = context.host;
      const chain = stateOf(node).context;
      const all = messagesOf(chain, platform);
      expect(messagesSince(chain, platform)).toEqual(all.slice(all.findLastIndex(({ role }) => role === "assistant") + 1));
      compared++;
    }
    expect(compared).toBeGreaterThan(12);
  });
});

/** What docs/parity.md and docs/claims.md say of agents, tools, routes and limits, where no other test shows it. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent, type Model, RathError, replay, Selector, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import { modelFailed } from "../../src/model/model.ts";
import { testRath } from "../../src/testing/testing.ts";
import { eventsIn, stored } from "../support/bundles.ts";

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  repeat: "safe",
  run: ({ at }) => `saw ${at}`,
});
const calls = (...at: readonly string[]) => ({ calls: at.map((one) => ({ tool: "look", input: { at: one } })) });

describe("the loop", () => {
  test("an agent that reaches its rounds stops there and says so", async () => {
    await using rath = testRath();
    const agent = new Agent({ model: scripted(calls("a"), calls("b"), "never"), tools: [look], limits: { rounds: 2 } });
    const session = await agent.forward(rath.session("Go."));
    expect([session.stop, session.calls.length]).toEqual(["rounds", 2]);
    expect(() => session.output).toThrow(/stopped as "rounds" \(2 rounds\)/);
  });

  test("deltas are shown as they come and the whole is in the session; a response carries ids to come back with", async () => {
    await using rath = testRath();
    const agent = new Agent({ model: scripted(calls("a"), "It is a long and quiet story."), tools: [look] });
    const stream = agent.stream(rath.session("Tell."));
    const response = stream.toResponse();
    const [types, texts] = [new Set<string>(), [] as string[]];
    for await (const part of stream) {
      types.add(part.type);
      if (part.type === "text-delta") texts.push(part.text);
    }
    const session = await stream.result();
    expect([...types].sort()).toEqual(["event", "text-delta", "tool-end", "tool-start"]);
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.join("")).toBe(session.text);
    const body = await response.text();
    for (const event of session.events({ from: 3 })) expect(body).toContain(`id: ${event.id}\n`);
  });

  test("usage adds up over rounds, forks, merges and agents inside tools, each call once", async () => {
    await using rath = testRath();
    const usage = { input: 100, output: 10, cached: 40, cacheWrite: 5, reasoning: 3 };
    const inner = new Agent({ name: "inner", model: scripted({ text: "deep", usage }) });
    const ask = { calls: [{ tool: "ask", input: { task: "Go." } }], usage };
    const outer = new Agent({
      name: "outer",
      model: scripted(ask, { text: "one", usage }, { text: "two", usage }),
      tools: [inner.asTool({ name: "ask", description: "Asks." })],
    });
    const first = await outer.forward(rath.session("Go."));
    const [a, b] = await Promise.all(["a", "b"].map((label) => outer.forward(first.fork(label).say(label))));
    const merged = await (a as Session).merge(b as Session);
    const times = (n: number) => ({ input: 100 * n, output: 10 * n, cached: 40 * n, cacheWrite: 5 * n, reasoning: 3 * n });
    expect(first.usage).toMatchObject({ ...times(3), own: times(2) });
    expect(a?.usage).toMatchObject({ ...times(4), own: times(1) });
    expect(merged.usage).toMatchObject(times(5));
  });

  test("a model is asked again when its provider says, another one after it, and every attempt is on record", async () => {
    await using rath = testRath();
    let asked = 0;
    const busy: Model = {
      id: "busy/one",
      // biome-ignore lint/correctness/useYield: it fails before it says anything
      async *stream() {
        asked++;
        throw modelFailed("too many", { retryable: true, status: 429, retryAfterMs: 7 });
      },
    };
    const agent = new Agent({ model: [busy, scripted({ text: "after all", fail: "cut" })], retry: { attempts: 2 } });
    const session = await agent.forward(rath.session("Go."));
    expect([session.text, asked]).toEqual(["after all", 2]);
    const returned = [...session.events()].find((event) => event.kind === "model.returned");
    expect(returned?.facts.attempts).toBe(4);
    expect(returned?.kind === "model.returned" && returned.data.failures).toMatchObject([
      { message: "too many", model: "busy/one", status: 429, waitedMs: 7 },
      { message: "too many", model: "busy/one", status: 429 },
      { model: "scripted", text: expect.stringMatching(/^after/) },
    ]);
  });
});

describe("tools", () => {
  test("a keyed tool that fails is tried again with the same key, and the attempts are on record", async () => {
    await using rath = testRath();
    const keys: string[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: z.object({}),
      repeat: "keyed",
      retry: { attempts: 3 },
      run: (_, { key }) => {
        keys.push(key);
        if (keys.length < 3) throw new Error("no answer");
        return "paid";
      },
    });
    const session = await rath.session("Pay.").call(pay, {});
    expect([session.output, keys.length, new Set(keys).size]).toEqual(["paid", 3, 1]);
    expect(session.calls[0]?.id).toBe(keys[0]);
  });

  test("a tool reads the conversation up to its call, and what it does there is nested in the call", async () => {
    await using rath = testRath();
    const read = tool({
      name: "read",
      description: "Reads.",
      input: z.object({}),
      repeat: "nested",
      run: async (_, { session }) => {
        const noted = await session.do("count", () => session.messages.map(({ role }) => role), { repeat: "safe" });
        return noted.output;
      },
    });
    const agent = new Agent({ model: scripted({ text: "Wait.", calls: [{ tool: "read", input: {} }] }, "done"), tools: [read] });
    const session = await agent.forward(rath.session("Go."));
    expect(session.calls).toMatchObject([{ outcome: { value: ["user", "assistant"] }, session: expect.any(String) }]);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test("evidence of a call: tool, input, outcome, who, where, when, how long, how often", async () => {
    await using rath = testRath();
    const agent = new Agent({ name: "looker", model: scripted(calls("a"), "done"), tools: [look] });
    const session = await agent.forward(rath.session("Go.").fork("try").say("Now."));
    const [call] = session.calls;
    expect(call).toMatchObject({ tool: "look", input: { at: "a" }, outcome: { type: "ok", value: "saw a" }, by: "looker" });
    const events = [...session.events()];
    const called = events.find((event) => event.id === call?.id);
    const returned = events.find((event) => event.kind === "tool.returned");
    expect(called).toMatchObject({
      kind: "tool.called",
      session: session.id,
      step: call?.step,
      data: { revision: expect.stringMatching(/^[0-9a-f]{16}$/) },
    });
    expect(returned?.facts).toMatchObject({ attempts: 1, ms: expect.any(Number), outcome: "ok" });
  });

  test("who approved a call, why and with which input is on record; until then it is pending on the value", async () => {
    await using rath = testRath();
    const sent: string[] = [];
    const send = tool({
      name: "send",
      description: "Sends.",
      input: z.object({ to: z.string() }),
      needsApproval: true,
      run: ({ to }) => void sent.push(to),
    });
    const agent = new Agent({ name: "clerk", model: scripted({ calls: [{ tool: "send", input: { to: "all" } }] }, "sent"), tools: [send] });
    const run = await rath.run(agent, rath.session("Send it."));
    const settled = await run.settle();
    expect(settled.session.pending).toMatchObject([
      { kind: "approval", tool: "send", input: { to: "all" }, by: "clerk", session: run.session },
    ]);
    await rath.decide(settled.session.pending[0]?.id ?? "", {
      by: "person:7",
      approve: true,
      input: { to: "ann" },
      reason: "one is enough",
    });
    const session = await run.result();
    expect([sent, session.calls[0]?.input, session.pending]).toEqual([["ann"], { to: "ann" }, []]);
    const answer = (await stored(session)).find(({ envelope }) => envelope["kind"] === "answer.given");
    expect(answer).toMatchObject({ envelope: { by: "person:7" }, data: { approve: true, input: { to: "ann" }, reason: "one is enough" } });
  });

  test("rules refuse by tool, agent and principal and count calls; one that is not understood is refused at once", async () => {
    const agent = new Agent({ name: "guest", model: scripted(calls("a"), calls("b"), "done"), tools: [look] });
    const outcomes = async (policy: NonNullable<Parameters<typeof testRath>[0]>["policy"], principal?: string) => {
      await using rath = testRath({ policy });
      return (await agent.forward(rath.session("Go.", { principal }))).calls.map(({ outcome }) => outcome.type);
    };
    expect(await outcomes({ deny: ["lo*"] })).toEqual(["denied", "denied"]);
    expect(await outcomes({ allow: ["write"], agents: ["guest"] })).toEqual(["denied", "denied"]);
    expect(await outcomes({ deny: ["*"], agents: ["host"] })).toEqual(["ok", "ok"]);
    expect(await outcomes([{ calls: 1 }, { deny: ["*"], principals: ["person:1"] }])).toEqual(["ok", "denied"]);
    expect(await outcomes([{ calls: 9 }, { deny: ["*"], principals: ["person:1"] }], "person:1")).toEqual(["denied", "denied"]);
    expect(() => testRath({ policy: { commands: ["rm"] } as never })).toThrow(/policy\.commands is \["rm"\]: give/);
  });
});

test("a rule about a person holds on forks of their sessions and inside agents' tools", async () => {
  const inner = new Agent({ name: "inner", model: scripted(calls("a"), "done"), tools: [look] });
  const ask = inner.asTool({ name: "ask", description: "Asks." });
  const outer = new Agent({ name: "outer", model: scripted({ calls: [{ tool: "ask", input: { task: "Look." } }] }, "done"), tools: [ask] });
  await using rath = testRath({ policy: { deny: ["look"], principals: ["person:1"] } });
  const theirs = rath.session("Go.", { principal: "person:1" });
  const fork = await inner.forward(theirs.fork("try").say("Now."));
  expect(fork.calls.map(({ outcome }) => outcome.type)).toEqual(["denied"]);
  const asked = await outer.forward(theirs.fork("ask"));
  const nested = await rath.open(asked.calls[0]?.session ?? "");
  expect(nested.calls.map(({ outcome }) => outcome.type)).toEqual(["denied"]);
  expect((await inner.forward(rath.session("Go.").fork("other"))).calls[0]?.outcome.type).toBe("ok");
});

test("who goes on with a session that was opened again, or with the result of a run, is its principal and not its newest agent", async () => {
  await using rath = testRath();
  const agent = new Agent({ name: "writer", model: scripted("a draft") });
  const run = await rath.run(agent, rath.session("Write.", { principal: "person:1" }));
  const result = await run.result();
  const opened = await rath.open(result.id);
  for (const session of [result, opened, opened.fork("again")]) expect(session.say("Better.").messages.at(-1)?.by).toBe("person:1");
  expect((await rath.open((await agent.forward(rath.session("Write."))).id)).say("Better.").messages.at(-1)?.by).toBe("user");
});

describe("flow", () => {
  const writer = new Agent({ name: "writer", description: "Writes.", model: scripted("a draft", "a better draft") });

  test("a choice is on record with its candidates, reason and cost, and a Selector returns a session", async () => {
    await using rath = testRath();
    const usage = { input: 70, output: 7 };
    const answer = (choice: string, reason: string) => ({ output: { choice, reason }, usage });
    const team = new Selector({ choices: { writer }, choose: scripted(answer("writer", "nothing is written")), limits: { rounds: 1 } });
    const session = await team.forward(rath.session("Write."));
    expect(session.routes).toMatchObject([{ choice: "writer", candidates: ["writer"], reason: "nothing is written" }]);
    expect([session.stop, session.messages.map(({ text }) => text)]).toEqual(["rounds", ["Write.", "a draft"]]);
    expect(session.usage.input - session.usage.own.input).toBe(70);
    const chosen = await team.select(rath.session("Write."));
    expect(chosen.output).toEqual({ choice: "writer", reason: "nothing is written" });
    expect(String(await replay(session, team))).toMatch(/^identical/);
  });

  test("what a route names beside the receiver is on record, and its check must have passed before the session goes on", async () => {
    await using rath = testRath();
    const route = {
      choice: "writer",
      reason: "go",
      context: "the task",
      memory: "project",
      placement: { sandbox: "memory" },
      check: "length",
    } as const;
    const team = new Selector({ choices: { writer }, choose: () => route });
    const session = await team.forward(rath.session("Write."));
    const { placement, ...rest } = route;
    expect(session.routes).toMatchObject([rest]);
    expect(session.placement?.sandbox).toBe(placement.sandbox);
    expect(session.stop).toBe("invalid");
    expect(() => session.output).toThrow(/the check "length" .* did not pass/);
  });

  test("a workflow says what it is made of, and its revision changes with that", async () => {
    class Team extends Workflow {
      readonly name = "team";
      readonly both: readonly Agent[];
      constructor(instructions: string) {
        super();
        this.both = [writer, new Agent({ model: ["openai/gpt-5.5", scripted()], instructions, tools: [look] })];
      }
      forward(session: Session) {
        return writer.forward(session);
      }
    }
    const described = new Team("Be kind.").describe();
    expect(described.agents).toEqual([
      { path: "team/writer", model: "scripted", tools: [] },
      { path: "team/both-2", model: "openai/gpt-5.5, scripted", tools: ["look"] },
    ]);
    expect(new Team("Be kind.").describe().revision).toBe(described.revision);
    expect(new Team("Be rude.").describe().revision).not.toBe(described.revision);
  });

  test("what is missing is said before anything is spent, with the path of the agent that needs it", async () => {
    await using rath = testRath({ models: { fast: scripted("ok") } });
    await rath.ready(new Agent({ name: "quick", model: "fast" }));
    const lost = new Agent({ name: "lost", model: "nobody/nothing" });
    await expect(rath.ready(lost)).rejects.toMatchObject({ code: "model.unknown", message: expect.stringMatching(/^lost: /) });
    await expect(lost.forward(rath.session("Go."))).rejects.toSatisfy((error) => RathError.is(error, "model.unknown"));
  });

  test("one agent works on fresh, forked and opened sessions, and several agents on one", async () => {
    await using rath = testRath();
    const first = await writer.forward(rath.session("Write."));
    const fork = await writer.forward(first.fork("again").say("Better."));
    const opened = await writer.forward((await rath.open(first.id)).say("Better."));
    const reader = new Agent({ name: "reader", model: scripted((request) => `${request.messages.length} messages`) });
    const read = await reader.forward(opened);
    expect([first.text, fork.text, opened.text, read.text]).toEqual(["a draft", "a better draft", "a better draft", "5 messages"]);
    const said = read.messages.filter(({ role }) => role === "assistant");
    expect(said.map(({ by }) => by)).toEqual(["writer", "writer", "reader"]);
  });
});

test("the digest of a request is chained over event ids as docs/formats/session.md says", async () => {
  const golden = new URL("../golden/", import.meta.url);
  let compared = 0;
  for (const name of ["agent", "handoff", "nested", "output", "stops"]) {
    expect(await readdir(new URL(name, golden))).toContain("session.jsonl");
    const events = eventsIn(await readFile(new URL(`${name}/session.jsonl`, golden), "utf8"));
    const byId = new Map<string, (typeof events)[number]>(events.map((event: { id: string }) => [event.id, event]));
    for (const called of events.filter(({ envelope }: { envelope: { kind: string } }) => envelope.kind === "model.called")) {
      const ids: string[] = [];
      for (let at = byId.get(called.envelope.parents[0]); at !== undefined; at = byId.get(at.envelope.parents[0])) {
        const { kind, facts } = at.envelope;
        if (kind === "message.added" || kind === "tool.returned" || (kind === "model.returned" && facts.outcome === "ok"))
          ids.unshift(at.id);
        if (kind === "message.added" && at.data.alone === true) break;
      }
      const digest = ids.reduce((before, id) => createHash("sha256").update(`${before} ${id}`).digest("hex"), "openrath request 1");
      expect(called.data.request).toBe(digest);
      compared++;
    }
  }
  expect(compared).toBeGreaterThan(15);
});

/** Compressed conversations across crashes, replays, reruns, forks and merges, and on their way to a provider. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { LLMock } from "@copilotkit/aimock";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { Compressor } from "../../src/agent/compressor.ts";
import type { ContextPolicy } from "../../src/agent/context/policy.ts";
import { aiSdkModel } from "../../src/model/ai-sdk.ts";
import { type Script, scripted } from "../../src/model/scripted.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { replay, runtimeOf } from "../../src/runtime/replay.ts";
import { rerun } from "../../src/runtime/rerun.ts";
import { stateOf } from "../../src/session/fold.ts";
import type { ModelRequest, RequestMessage } from "../../src/session/message.ts";
import type { Model } from "../../src/session/model.ts";
import { contextWhat } from "../../src/session/request.ts";
import type { Session } from "../../src/session/session.ts";
import { placeOf } from "../../src/session/value.ts";
import { whatOf } from "../../src/session/what.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { tool } from "../../src/tool/tool.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Life, mortalModel, rathOf } from "../crash/world.ts";

const work = tool({
  name: "work",
  description: "Works.",
  input: z.object({ n: z.number() }),
  repeat: "safe",
  run: ({ n }) => `${n} ${"result ".repeat(40)}`,
});
const round = (n: number): Script => ({
  text: `round ${n}`,
  reasoning: "Hm.",
  calls: [
    { tool: "work", input: { n } },
    { tool: "work", input: { n: n + 10 } },
  ],
});
const script = [1, 2, 3, 4, 5, 6].map(round);

function what(session: Session): string {
  const runtime = runtimeOf(session);
  return whatOf(placeOf(session).node, runtime.platform, (node) => runtime.textOf(node), new Map());
}
function readWhat(session: Session): string {
  const runtime = runtimeOf(session);
  return contextWhat(stateOf(placeOf(session).node).context, runtime.platform, new WeakMap(), (node) => runtime.textOf(node));
}

const policies: readonly (readonly [string, (summary: Model, broken: Model) => ContextPolicy])[] = [
  ["a window", () => ({ window: 700 })],
  ["a summary", (model) => ({ summariseAt: 700, keep: 150, model })],
  ["a summary that fails", (_, model) => ({ summariseAt: 500, keep: 150, model })],
  ["shortened results", () => ({ trimResults: 30, keep: 1 })],
  ["a function", () => (entries) => (entries.length < 6 ? undefined : { keep: [], replacement: `${entries.length} gone` })],
];

describe.each(policies)("an agent with %s", (_, policyOf) => {
  class Flow extends Workflow {
    readonly worker: Agent;
    readonly compressor: Compressor;
    constructor(life: Life) {
      super();
      const mortal = (...replies: readonly Script[]): Model => mortalModel(life, ...replies);
      const summary = mortal((request) => `Summary of ${request.messages.length}.`);
      const broken = mortal(() => {
        throw new Error("no summary today");
      });
      this.worker = new Agent({ model: mortal(...script, "done"), tools: [work], context: policyOf(summary, broken) });
      this.compressor = new Compressor({ policy: { summariseAt: 9999, keep: 0 }, model: summary });
    }
    async forward(session: Session) {
      return this.compressor.forward(await this.worker.forward(session));
    }
  }
  const run = async (rath: Rath, flow: Flow): Promise<Session> => {
    const settled = await (await rath.run(flow, rath.session("The task."), { key: "flow" })).settle();
    if (settled.status !== "done") throw new Error(JSON.stringify(settled));
    return settled.session;
  };

  test("left anywhere goes on to the same, and is replayed identical", async () => {
    const calm = new Life();
    const flow = new Flow(calm);
    const rath = rathOf(memoryStore(), calm);
    const expected = await run(rath, flow);
    expect(expected.compressions.length).toBeGreaterThan(0);
    expect(String(await replay(expected, flow))).toMatch(/^identical/);
    for (let point = 0; point < calm.points; point++) {
      const store = memoryStore();
      const life = new Life(point);
      const mortal = rathOf(store, life);
      await life.sees(run(mortal, new Flow(life)));
      void mortal.close().catch(() => {});
      const second = new Life();
      const heirs = new Flow(second);
      const heir = rathOf(store, second);
      const session = await run(heir, heirs);
      expect(what(session), `killed at ${point}`).toBe(what(expected));
      expect(readWhat(session), `killed at ${point}`).toBe(readWhat(expected));
      expect(String(await replay(session, heirs)), `killed at ${point}`).toMatch(/^identical/);
      await heir.close();
    }
  }, 120_000);
});

describe("a rerun", () => {
  const asked: string[] = [];
  const counting = (name: string, ...replies: readonly Script[]): Model =>
    scripted(
      ...replies.map(
        (reply): Script =>
          (request, session) => {
            asked.push(name);
            return typeof reply === "function" ? reply(request, session) : reply;
          },
      ),
    );
  const agent = (instructions = "Work.") =>
    new Agent({
      name: "worker",
      instructions,
      model: counting("worker", ...script, "done"),
      tools: [work],
      context: { summariseAt: 700, keep: 150, model: counting("summary", "They worked.") },
    });

  test("reuses everything across compressions", async () => {
    const session = await agent().forward(testRath().session("The task."));
    const { length } = session.compressions;
    expect(length).toBeGreaterThan(0);
    asked.length = 0;
    const again = await rerun(session, agent());
    expect([asked, again.reused, again.split]).toEqual([[], again.of, undefined]);
    expect(again.session.compressions).toHaveLength(length);
    expect(readWhat(again.session)).toBe(readWhat(session));
  });

  test("after a summary that says the same asks nobody, after another one asks again", async () => {
    const session = await agent().forward(testRath().session("The task."));
    const [summary] = [...session.events()].filter((event) => event.kind === "do.returned");
    asked.length = 0;
    await rerun(session, agent(), { change: { event: summary?.id ?? "", output: "They worked." } });
    expect(asked.filter((name) => name === "worker")).toEqual([]);
    await rerun(session, agent(), { change: { event: summary?.id ?? "", output: "They slept." } });
    expect(asked.filter((name) => name === "worker").length).toBeGreaterThan(0);
  });
});

describe("equality of what is read", () => {
  const ask = (rath: Rath) => new Agent({ name: "worker", model: scripted(...script, "done"), tools: [work] }).forward(rath.session("go"));
  test("does not depend on how it came about", async () => {
    const [plain, other] = [await ask(testRath()), await ask(testRath())];
    const whole = readWhat(plain);
    expect(readWhat(other)).toBe(whole);
    const short = await new Compressor({ policy: { window: 500 } }).forward(plain.fork("a"));
    expect(readWhat(short)).not.toBe(whole);
    // Undone, it is as if nothing had been compressed.
    expect(readWhat(await new Compressor({ policy: "full" }).forward(short))).toBe(whole);
    // The same left out at once or one after the other, said in the same words, is the same.
    const cut = async (...sizes: readonly number[]) => {
      let at: Session = plain.fork(String(sizes));
      for (const size of sizes)
        at = await new Compressor({
          policy: (entries) => ({ keep: entries.slice(size).map(({ event }) => event), replacement: "gone" }),
        }).forward(at);
      return at;
    };
    expect(readWhat(await cut(7))).toBe(readWhat(await cut(4, 5)));
    expect(readWhat(await cut(7))).not.toBe(readWhat(await cut(4)));
    const trim = (to: number) => new Compressor({ policy: { trimResults: to, keep: 0 } }).forward(plain.fork(`t${to}`));
    expect(readWhat(await trim(30))).not.toBe(readWhat(await trim(31)));
  });
});

const texts = (messages: readonly RequestMessage[]): readonly string[] =>
  messages.map((message) => {
    if (message.role === "system") return message.text;
    if (message.role === "tool") return message.results.map(({ value }) => String(value).slice(0, 3)).join("|");
    return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  });

describe("branches", () => {
  test("forked before and after a compression, and merged, each read their own", async () => {
    const rath = testRath({ implicitForks: "error" });
    const sent: ModelRequest[] = [];
    const next = (name: string, session: Session) =>
      new Agent({
        name,
        model: scripted((request) => {
          sent.push(JSON.parse(JSON.stringify(request)) as ModelRequest);
          return `${name} answer`;
        }),
      }).forward(session);
    const long = await new Agent({ model: scripted(...script, "done"), tools: [work] }).forward(rath.session("go"));
    const short = await new Compressor({ policy: { summariseAt: 9999, keep: 0 }, model: scripted("Sum.") }).forward(long.fork("short"));
    const before = await next("before", short.at(long.head).fork("before").say("and?"));
    const after = await next("after", short.fork("after").say("and?"));
    expect(texts(sent[0]?.messages ?? [])).toHaveLength(15);
    const summed = expect.stringMatching(/was replaced by this summary.*\n\{"summary":"Sum\."\}$/s) as unknown as string;
    expect(texts(sent[1]?.messages ?? [])).toEqual(["go", summed, "done", "and?"]);
    // The receiver's own reading, and one message for the other branch.
    await next("x", await after.fork("x").merge(before));
    expect(texts(sent[2]?.messages ?? [])).toEqual(["go", summed, "done", "and?", "after answer", expect.stringMatching(/Another branch/)]);
    await next("y", await before.fork("y").merge(after));
    expect(texts(sent[3]?.messages ?? [])).toHaveLength(17);
    // A receiver that said nothing since reads what the other one reads.
    const joined = await next("z", await short.fork("z").merge(after));
    expect(texts(sent[4]?.messages ?? [])).toEqual(["go", summed, "done", "and?", "after answer", "Continue."]);
    expect(joined.compressions).toEqual(after.compressions);
    expect(joined.messages.length).toBe(long.messages.length + 3);
  });

  test("what was written elsewhere in the meantime keeps its ranges", async () => {
    // The value was continued by another process before its own compression was written: it is linked again, with other ids.
    const store = memoryStore();
    const sent: ModelRequest[] = [];
    const one = rathOf(store, new Life());
    const two = rathOf(store, new Life());
    const start = await new Agent({ model: scripted(...script, "done"), tools: [work] }).forward(one.session("go"));
    const elsewhere = await two.open(start.id);
    const mine = start.say("mine").say("and mine");
    await two.save(elsewhere.say("theirs"));
    const done = await new Agent({
      name: "next",
      context: { window: 300 },
      model: scripted((request) => {
        sent.push(JSON.parse(JSON.stringify(request)) as ModelRequest);
        return "ok";
      }),
    }).forward(mine);
    expect(done.id).not.toBe(start.id);
    const read = texts((await done.request()).messages);
    expect(read).toEqual(texts(sent[0]?.messages ?? []));
    expect(read.slice(-2)).toEqual(["mine", "and mine"]);
    expect(read[0]).toMatch(/not shown/);
    await Promise.all([one.close(), two.close()]);
  });
});

describe("over HTTP", () => {
  type Body = { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };
  const signed = Buffer.from("signature").toString("base64");

  async function served(make: (url: string, fetch: typeof globalThis.fetch) => Model, context: ContextPolicy) {
    const mock = new LLMock({ port: 0 });
    let asked = 0;
    mock.on({ systemMessage: "You summarise" }, () => ({ content: "They worked." }));
    mock.on({ systemMessage: "Work." }, () => {
      const n = ++asked;
      if (n > 6) return { content: "Done." };
      const calls = [n, n + 10].map((number) => ({ name: "work", arguments: JSON.stringify({ n: number }), id: `call_${number}` }));
      return { reasoning: `Thought ${n}.`, reasoningSignature: signed, toolCalls: calls };
    });
    await mock.start();
    const bodies: Body[] = [];
    const fetch: typeof globalThis.fetch = async (url, init) => {
      bodies.push(JSON.parse(String(init?.body)) as Body);
      return globalThis.fetch(url, init);
    };
    try {
      const model = make(mock.url, fetch);
      const session = await new Agent({ name: "w", model, instructions: "Work.", tools: [work], context }).forward(
        testRath().session("Go."),
      );
      expect(session.text).toBe("Done.");
      expect(session.compressions.length).toBeGreaterThan(0);
      return { session, bodies };
    } finally {
      await mock.stop();
    }
  }

  test.each<[string, ContextPolicy]>([
    ["a window", { window: 700 }],
    ["a summary", { summariseAt: 700, keep: 150 }],
    ["shortened results", { trimResults: 30, keep: 1 }],
  ])("Anthropic takes what %s leaves: calls with their results, and signed thoughts with their turn", async (_, context) => {
    const { session, bodies } = await served(
      (url, fetch) => aiSdkModel(createAnthropic({ apiKey: "k", baseURL: `${url}/v1`, fetch })("claude-opus-4-8")),
      context,
    );
    type Block = { readonly type: string; readonly id?: string; readonly tool_use_id?: string; readonly signature?: string };
    for (const { messages } of bodies) {
      expect(messages[0]?.role).toBe("user");
      for (const [index, { role, content }] of messages.entries()) {
        const blocks = (Array.isArray(content) ? content : []) as readonly Block[];
        const uses = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
        const next = ((messages[index + 1]?.content ?? []) as readonly Block[]).filter(({ type }) => type === "tool_result");
        if (uses.length > 0) expect(next.map(({ tool_use_id }) => tool_use_id)).toEqual(uses);
        // A turn with calls keeps its thought, first and signed.
        if (role === "assistant" && uses.length > 0) expect(blocks[0]).toMatchObject({ type: "thinking", signature: signed });
      }
    }
    const counts = [...session.events()].flatMap((event) => (event.kind === "context.compressed" ? [event.data.reasoning] : []));
    for (const count of counts) expect((count?.kept ?? 0) + (count?.dropped ?? 0)).toBeGreaterThan(0);
  });

  test("so does OpenAI", async () => {
    const { bodies } = await served(
      (url, fetch) => aiSdkModel(createOpenAI({ apiKey: "k", baseURL: `${url}/v1`, fetch }).chat("gpt-4.1")),
      {
        summariseAt: 700,
        keep: 150,
      },
    );
    type Message = { readonly role: string; readonly tool_calls?: readonly { readonly id: string }[]; readonly tool_call_id?: string };
    for (const { messages } of bodies) {
      const list = messages as readonly Message[];
      expect(list.find(({ role }) => role !== "system")?.role).toBe("user");
      for (const [index, { tool_calls: calls = [] }] of list.entries())
        expect(list.slice(index + 1, index + 1 + calls.length).map(({ tool_call_id }) => tool_call_id)).toEqual(calls.map(({ id }) => id));
    }
  });
});

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { attempts, breaks, says } from "../../test/support/models.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import { Agent } from "../agent/agent.ts";
import { modelFailed } from "../model/failure.ts";
import { type Script, scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import type { Session } from "../session/session.ts";
import type { Stream, StreamPart } from "../session/stream.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { best, parallel, sequence } from "./combinators.ts";
import { Workflow } from "./workflow.ts";

const add = tool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number() }),
  repeat: "safe",
  run: ({ a, b }, context) => {
    context.progress("adding");
    return a + b;
  },
});
const adding = { text: "Let me see. ", calls: [{ tool: "add", input: { a: 1, b: 2 } }] };
const adder = () => new Agent({ name: "adder", model: scripted({ reasoning: "Hm.", ...adding }, "It is three."), tools: [add] });

const agentOf = (...replies: readonly Script[]) => new Agent({ model: scripted(...replies) });

async function all<T>(parts: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const part of parts) list.push(part);
  return list;
}
const brief = (part: StreamPart): string =>
  part.type === "event" ? part.event.kind : part.type.endsWith("delta") ? `${part.type} ${(part as { text: string }).text}` : part.type;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a stream", () => {
  test("gives typed parts in the order they happen", async () => {
    const stream = adder().stream(testRath().session("1 + 2?"));
    const parts = await all(stream);
    expect(parts.map(brief)).toEqual([
      "workflow.entered",
      "model.called",
      "reasoning-delta Hm.",
      "text-delta Let ",
      "text-delta me ",
      "text-delta see. ",
      "model.returned",
      "tool.called",
      "tool-start",
      "tool-progress",
      "tool.returned",
      "tool-end",
      "model.called",
      "text-delta It ",
      "text-delta is ",
      "text-delta three.",
      "model.returned",
      "agent.stopped",
      "workflow.left",
    ]);
    const ends = parts.filter((part) => part.type === "tool-start" || part.type === "tool-end" || part.type === "tool-progress");
    const [call] = ends.map((part) => part.call);
    expect(ends).toMatchObject([
      { type: "tool-start", call, tool: "add", input: { a: 1, b: 2 }, by: "adder" },
      { type: "tool-progress", call, update: "adding" },
      { type: "tool-end", call, outcome: { type: "ok", value: 3 } },
    ]);
    const session = await stream.result();
    expect([session.output, new Set(parts.map((part) => part.session))]).toEqual(["It is three.", new Set([session.id])]);
  });

  test("several readers each get everything, whenever they come", async () => {
    const stream = adder().stream(testRath().session("1 + 2?"));
    const [early, text] = await Promise.all([all(stream), all(stream.text)]);
    await stream.result();
    expect(await all(stream)).toEqual(early);
    expect(text.join("")).toBe("Let me see. It is three.");
    expect((await all(stream.text)).join("")).toBe(text.join(""));
  });

  test("leaving the loop stops reading, not the work; nobody has to read", async () => {
    const stream = adder().stream(testRath().session("1 + 2?"));
    for await (const _ of stream) break;
    expect((await stream.result()).text).toBe("It is three.");
    expect((await adder().stream(testRath().session("1 + 2?")).result()).stop).toBe("finished");
  });

  test("cancel stops the work; the result says so and is on record", async () => {
    const rath = testRath();
    const agent = new Agent({ model: scripted({ text: "never", delay: 10_000 }) });
    const stream = agent.stream(rath.session("go"));
    await wait(10);
    await stream.cancel("enough");
    const session = await stream.result();
    expect([session.stop, session.status]).toEqual(["cancelled", "cancelled"]);
    expect(() => session.output).toThrow(/cancelled.*enough/);
    expect((await all(stream)).map(brief).slice(-2)).toEqual(["agent.stopped", "workflow.left"]);
    expect((await rath.open(session.id)).stop).toBe("cancelled");
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test("cancel stops a tool that listens, and the agent after it", async () => {
    let stopped = "";
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const hang = tool({
      name: "hang",
      description: "Hangs.",
      input: z.object({}),
      repeat: "safe",
      run: (_, { signal }) =>
        new Promise((_, reject) => {
          begin();
          signal.addEventListener("abort", () => {
            stopped = String((signal.reason as Error).message);
            reject(signal.reason);
          });
        }),
    });
    let asked = 0;
    const never: Script = () => `asked ${++asked}`;
    const agent = new Agent({ model: scripted({ calls: [{ tool: "hang", input: {} }] }, never), tools: [hang] });
    const stream = agent.stream(testRath().session("go"));
    await begun;
    await stream.cancel("enough");
    const session = await stream.result();
    expect([session.stop, stopped, session.calls[0]?.outcome]).toEqual(["cancelled", "enough", { type: "cancelled", reason: "enough" }]);
    expect(asked).toBe(0);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test("cancel stops an agent that waits for a person", async () => {
    const pay = tool({ name: "pay", description: "Pays.", input: z.object({}), needsApproval: true, run: () => expect.fail("it ran") });
    const agent = new Agent({ model: scripted({ calls: [{ tool: "pay", input: {} }] }, "not reached"), tools: [pay] });
    const stream = agent.stream(testRath().session("go"));
    for await (const part of stream) if (part.type === "pending") break;
    await stream.cancel("enough");
    const session = await stream.result();
    expect([session.stop, session.calls[0]?.outcome]).toEqual(["cancelled", { type: "cancelled", reason: "enough" }]);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test("the signal and `await using` stop it like cancel", async () => {
    const agent = () => new Agent({ model: scripted({ text: "never", delay: 10_000 }) });
    const controller = new AbortController();
    const signalled = agent().stream(testRath().session("go"), { signal: controller.signal });
    await wait(5);
    controller.abort(new Error("by signal"));
    expect((await signalled.result()).stop).toBe("cancelled");
    const before = agent().stream(testRath().session("go"), { signal: AbortSignal.abort(new Error("before")) });
    expect((await before.result()).stop).toBe("cancelled");
    let disposed: Stream<string>;
    {
      await using stream = agent().stream(testRath().session("go"));
      disposed = stream;
      await wait(5);
    }
    expect((await disposed.result()).stop).toBe("cancelled");
    const done = adder().stream(testRath().session("go"));
    await done.result();
    await done[Symbol.asyncDispose]();
    expect((await done.result()).stop).toBe("finished");
  });

  test("text is of its own branch; forks and nested work are parts with sessions of their own", async () => {
    class Both extends Workflow {
      readonly main = new Agent({ model: scripted("main says") });
      readonly side = new Agent({ model: scripted("side says") });
      async forward(session: Session) {
        const [, own] = await Promise.all([this.side.forward(session.fork("side")), this.main.forward(session)]);
        return own as Session<string>;
      }
    }
    const stream = new Both().stream(testRath().session("go"));
    expect((await all(stream.text)).join("")).toBe("main says");
    const texts = (await all(stream)).flatMap((part) => (part.type === "text-delta" ? [`${part.by}: ${part.text}`] : []));
    expect(texts.join("")).toContain("workflow/side: side");
  });

  test("of agents in parallel calls: each start has its own end", async () => {
    const slow = (name: string, ms: number) =>
      tool({ name, description: name, input: z.object({}), repeat: "safe", run: () => new Promise((done) => setTimeout(done, ms, name)) });
    class Fan extends Workflow {
      readonly agents = ["a", "b"].map(
        (name, index) =>
          new Agent({ name, model: scripted({ calls: [{ tool: name, input: {} }] }, name), tools: [slow(name, index === 0 ? 5 : 25)] }),
      );
      async forward(session: Session) {
        const both = await Promise.all(this.agents.map((agent, n) => agent.forward(session.fork(`f${n}`))));
        return both[0] as Session;
      }
    }
    const parts = await all(new Fan().stream(testRath().session("go")));
    const tools = new Map(parts.flatMap((part) => (part.type === "tool-start" ? [[part.call, part.tool] as const] : [])));
    const ends = parts.flatMap((part) => (part.type === "tool-end" ? [[tools.get(part.call), part.outcome] as const] : []));
    expect(ends).toEqual([
      ["a", { type: "ok", value: "a" }],
      ["b", { type: "ok", value: "b" }],
    ]);
  });
});

describe("a stream inside forward", () => {
  test("gives what its own work does, also beside another stream of the same agent", async () => {
    const texts: Record<string, string[]> = {};
    const kinds: Record<string, string[]> = {};
    class Nested extends Workflow {
      readonly agent = new Agent({
        model: scripted((request) => `says ${JSON.stringify(request.messages).includes("left") ? "left" : "right"} thing`),
      });
      async forward(session: Session) {
        const both = await Promise.all(
          ["left", "right"].map(async (side) => {
            const stream = this.agent.stream(session.fork(side).say(side));
            [texts[side], kinds[side]] = await Promise.all([all(stream.text), all(stream).then((parts) => parts.map(brief))]);
            return stream.result();
          }),
        );
        return both[0] as Session<string>;
      }
    }
    const flow = new Nested();
    const done = await flow.forward(testRath({ implicitForks: "error" }).session("go"));
    expect([texts["left"]?.join(""), texts["right"]?.join("")]).toEqual(["says left thing", "says right thing"]);
    expect(kinds["left"]?.map((kind) => kind.replace("left ", "right "))).toEqual(kinds["right"]);
    expect(kinds["left"]?.filter((kind) => kind === "model.returned")).toHaveLength(1);
    expect(kinds["left"]?.at(-1)).toBe("workflow.left");
    expect(String(await replay(done, flow))).toMatch(/^identical/);
  });

  test("of a run that was resumed goes on with the forks it had", async () => {
    let reached = false;
    const slow: Script = () => {
      reached = true;
      return { text: "r2 end", delay: 300 };
    };
    const two = parallel({ left: agentOf("l1"), right: sequence(agentOf("r1"), agentOf(slow)) }, best);
    class Watching extends Workflow {
      readonly two = two;
      seen: string[] = [];
      async forward(session: Session) {
        const stream = this.two.stream(session);
        this.seen = (await all(stream)).flatMap((part) => (part.type === "text-delta" ? [`${part.by}: ${part.text}`] : []));
        return stream.result();
      }
    }
    const store = sharedStore();
    const watching = new Watching();
    const first = testRath({ store, workflows: { watching } });
    const run = await first.run("watching", first.session("go"));
    while (!reached) await wait(5);
    await wait(20);
    await first.close();
    await using second = testRath({ store, workflows: { watching } });
    expect((await (await second.resume(run.id)).settle()).status).toBe("done");
    // What was said before is recorded and not shown again.
    expect(watching.seen).toEqual(["watching/two/right/step-2: r2 ", "watching/two/right/step-2: end"]);
  });

  test("includes forks and nested work under it", async () => {
    const helper = new Agent({ name: "helper", model: scripted("helped") });
    const agent = new Agent({
      name: "boss",
      model: scripted({ calls: [{ tool: "help", input: { task: "x" } }] }, "done"),
      tools: [helper.asTool({ name: "help", description: "Helps." })],
    });
    class Outer extends Workflow {
      parts: StreamPart[] = [];
      async forward(session: Session) {
        const stream = agent.stream(session);
        this.parts = await all(stream);
        return stream.result();
      }
    }
    const outer = new Outer();
    await outer.forward(testRath().session("go"));
    const texts = outer.parts.flatMap((part) => (part.type === "text-delta" ? [`${part.by}: ${part.text}`] : []));
    expect(texts).toEqual(["workflow/boss/helper: helped", "workflow/boss: done"]);
  });
});

/** Server-sent events, parsed as a browser does. */
async function events(response: Response): Promise<{ id?: string; event?: string; data: string }[]> {
  const text = await response.text();
  return text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const fields = block.split("\n").map((line) => /^(\w+): (.*)$/.exec(line) ?? []);
      return Object.fromEntries(fields.map(([, name, value]) => [name, value])) as { data: string };
    });
}

describe("a stream as a response", () => {
  test("sse: each event has its id, each part its JSON, and the end is marked", async () => {
    const stream = adder().stream(testRath().session("1 + 2?"));
    const response = stream.toResponse({ headers: { "x-own": "1" } });
    expect([response.headers.get("content-type"), response.headers.get("x-own")]).toEqual(["text/event-stream; charset=utf-8", "1"]);
    const got = await events(response);
    expect(got.at(-1)).toEqual({ event: "end", data: "{}" });
    const parts = got.slice(0, -1).map(({ data }) => JSON.parse(data) as StreamPart);
    expect(parts).toEqual(JSON.parse(JSON.stringify(await all(stream))));
    const session = await stream.result();
    const ids = got.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(ids.every((id) => session.at(id).head === id)).toBe(true);
    expect(ids).toHaveLength(parts.filter(({ type }) => type === "event").length);
  });

  test("text: what was said, and nothing else", async () => {
    const response = adder().stream(testRath().session("1 + 2?")).toResponse({ format: "text" });
    expect(await response.text()).toBe("Let me see. It is three.");
  });

  test("ai-sdk: the UI message stream, version 1", async () => {
    const stream = adder().stream(testRath().session("1 + 2?"));
    const response = stream.toResponse({ format: "ai-sdk" });
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    const got = await events(response);
    expect(got.at(-1)?.data).toBe("[DONE]");
    const chunks = got.slice(0, -1).map(({ data }) => JSON.parse(data) as Record<string, unknown>);
    const call = chunks.find(({ type }) => type === "tool-input-start")?.["toolCallId"];
    expect(chunks).toEqual([
      { type: "start" },
      { type: "reasoning-start", id: "1" },
      { type: "reasoning-delta", id: "1", delta: "Hm." },
      { type: "reasoning-end", id: "1" },
      { type: "text-start", id: "2" },
      { type: "text-delta", id: "2", delta: "Let " },
      { type: "text-delta", id: "2", delta: "me " },
      { type: "text-delta", id: "2", delta: "see. " },
      { type: "text-end", id: "2" },
      { type: "tool-input-start", toolCallId: call, toolName: "add" },
      { type: "tool-input-available", toolCallId: call, toolName: "add", input: { a: 1, b: 2 } },
      { type: "tool-output-available", toolCallId: call, output: 3 },
      { type: "text-start", id: "3" },
      { type: "text-delta", id: "3", delta: "It " },
      { type: "text-delta", id: "3", delta: "is " },
      { type: "text-delta", id: "3", delta: "three." },
      { type: "text-end", id: "3" },
      { type: "finish" },
    ]);
  });

  test("ai-sdk: a result never comes without its input, also when the call was refused; errors say what happened", async () => {
    const approve = tool({ name: "pay", description: "x", input: z.object({}), needsApproval: () => true, run: () => 1 });
    const fails = tool({
      name: "fails",
      description: "x",
      input: z.object({}),
      repeat: "safe",
      run: () => Promise.reject(new Error("broke")),
    });
    const rath = testRath();
    const calls = [
      { tool: "pay", input: {} },
      { tool: "fails", input: {} },
    ];
    const stream = new Agent({ model: scripted({ calls }, "ok"), tools: [approve, fails] }).stream(rath.session("go"));
    const reading = events(stream.toResponse({ format: "ai-sdk" }));
    for (let pending = await rath.pending(); ; pending = await rath.pending()) {
      if (pending[0] === undefined) await wait(2);
      else {
        await rath.decide(pending[0].id, { by: "human:ada", approve: false, reason: "too dear" });
        break;
      }
    }
    const chunks = (await reading).slice(0, -1).map(({ data }) => JSON.parse(data) as Record<string, unknown>);
    const inputs = new Set<unknown>();
    for (const chunk of chunks) {
      if (chunk["type"] === "tool-input-available") inputs.add(chunk["toolCallId"]);
      if (String(chunk["type"]).startsWith("tool-output")) expect(inputs.has(chunk["toolCallId"])).toBe(true);
    }
    expect(chunks.filter(({ type }) => type === "tool-output-error").map(({ errorText }) => errorText)).toEqual(["broke", "too dear"]);
  });

  test("a workflow that failed does not look finished", async () => {
    class Broken extends Workflow {
      async forward(session: Session): Promise<Session> {
        await session.do("one", () => 1);
        throw new Error("broken");
      }
    }
    const ui = await events(new Broken().stream(testRath().session("go")).toResponse({ format: "ai-sdk" }));
    expect(ui.map(({ data }) => data)).toContain('{"type":"error","errorText":"broken"}');
    const sse = await events(new Broken().stream(testRath().session("go")).toResponse());
    expect(sse.at(-1)).toEqual({ event: "failed", data: '{"message":"broken"}' });
  });

  test("an agent that stops with an error is seen to fail: a text breaks off, and a UI is told why", async () => {
    const stream = () => new Agent({ model: scripted() }).stream(testRath().session("go"));
    await expect(stream().toResponse({ format: "text" }).text()).rejects.toThrow(/script has 0 replies/);
    const ui = await events(stream().toResponse({ format: "ai-sdk" }));
    expect(ui.map(({ data }) => data)).toContainEqual(expect.stringMatching(/"type":"error","errorText":"The script has 0 replies/));
    expect((await stream().result()).stop).toBe("error");
  });

  test("a reply that begins again is a text of its own", async () => {
    const cut = modelFailed("cut", { retryable: true, retryAfterMs: 0 });
    const model = () => attempts("m", [breaks(cut, "Hello ", "wor"), says("Help is near")]);
    const agent = () => new Agent({ model: model() });
    expect(await agent().stream(testRath().session("go")).toResponse({ format: "text" }).text()).toBe("Hello wor\nHelp is near");
    const ui = await events(agent().stream(testRath().session("go")).toResponse({ format: "ai-sdk" }));
    expect(ui.filter(({ data }) => data.includes("text-start"))).toHaveLength(2);
  });

  test("a client that goes away stops reading, not the work", async () => {
    const stream = new Agent({ model: scripted({ text: "late", delay: 30 }) }).stream(testRath().session("go"));
    const reader = stream.toResponse().body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect((await stream.result()).stop).toBe("finished");
  });
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { scripted } from "../../src/model/scripted.ts";
import { composeRath } from "../../src/openrath.ts";
import type { Session } from "../../src/session/session.ts";
import type { StreamPart } from "../../src/session/stream.ts";
import { tool } from "../../src/tool/tool.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";
import { until } from "../support/other-process.ts";
import { sharedStore } from "../support/shared-store.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});
async function file(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-stream-"));
  folders.push(folder);
  return join(folder, "store.db");
}

const noop = tool({ name: "noop", description: "x", input: z.object({}), repeat: "safe", run: () => 1 });
/** Two rounds of text around a tool, each slow enough to be watched. */
class Talk extends Workflow {
  readonly name = "talk";
  readonly agent: Agent;
  constructor(delay = 30) {
    super();
    const calls = [{ tool: "noop", input: {} }];
    this.agent = new Agent({ model: scripted({ text: "One two three. ", calls, delay }, { text: "Four five.", delay }), tools: [noop] });
  }
  forward(session: Session) {
    return this.agent.forward(session);
  }
}
/** Asks a person. */
class Pay extends Workflow {
  readonly name = "pay";
  readonly agent: Agent;
  constructor() {
    super();
    const pay = tool({ name: "pay", description: "x", input: z.object({}), needsApproval: () => true, run: () => "paid" });
    this.agent = new Agent({ model: scripted({ text: "I pay. ", calls: [{ tool: "pay", input: {} }] }, "Done."), tools: [pay] });
  }
  forward(session: Session) {
    return this.agent.forward(session);
  }
}

async function all<T>(parts: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const part of parts) list.push(part);
  return list;
}
const kinds = (parts: readonly StreamPart[]) => parts.flatMap((part) => (part.type === "event" ? [part.event.kind] : []));
const ids = (parts: readonly StreamPart[]) => parts.flatMap((part) => (part.type === "event" ? [part.event.id] : []));
const textIn = (parts: readonly StreamPart[]) => parts.flatMap((part) => (part.type === "text-delta" ? [part.text] : [])).join("");
const whole = "One two three. Four five.";

function open(store: Parameters<typeof composeRath>[0]["store"]) {
  return composeRath({ store, workflows: { talk: new Talk(), pay: new Pay() } }, { times: { parkGraceMs: 5 } });
}

describe("the stream of a run", () => {
  test("has every event in order and the text once, while it runs", async () => {
    for (const delay of [0, 30, 300]) {
      await using rath = composeRath({ store: "memory" }, {});
      const flow = new Talk(delay);
      const run = await rath.run(flow, rath.session("go"));
      const stream = run.stream();
      const [parts, text] = await Promise.all([all(stream), all(stream.text)]);
      const done = await stream.result();
      expect([delay, text.join("")]).toEqual([delay, whole]);
      expect(textIn(parts)).toBe(whole);
      expect(done.text).toBe("Four five.");
      expect(kinds(parts).filter((kind) => !kind.startsWith("run."))).toEqual([...done.events()].map(({ kind }) => kind));
      expect(new Set(ids(parts)).size).toBe(ids(parts).length);
      // What was said comes after the call that asked for it.
      const order = parts.map((part) => (part.type === "event" ? part.event.kind : part.type));
      expect(order.indexOf("text-delta")).toBeGreaterThan(order.indexOf("model.called"));
      const tools = parts.filter((part) => part.type === "tool-start" || part.type === "tool-end");
      expect(tools.map(({ type }) => type)).toEqual(["tool-start", "tool-end"]);
    }
  });

  test("is soon: an event is seen long before a reader would look again", async () => {
    await using rath = composeRath({ store: "memory" }, {});
    const steps = 40;
    let seen = 0;
    // Each step waits until the reader has seen the one before it: who looks four times a second takes ten seconds.
    const flow = new Flow(async (session) => {
      let at = session;
      for (let n = 1; n <= steps; n++) {
        at = await at.do("step", () => n, { repeat: "safe" });
        await until(`step ${n}`, () => seen >= n);
      }
      return at;
    });
    const run = await rath.run(flow, rath.session("go"));
    const start = performance.now();
    for await (const part of run.stream()) if (part.type === "event" && part.event.kind === "do.returned") seen++;
    expect(seen).toBe(steps);
    expect(performance.now() - start).toBeLessThan(2000);
  });

  test("of an ended run is the same, from the beginning or after an event", async () => {
    const store = sharedStore();
    await using rath = open(store);
    const run = await rath.run("talk", rath.session("go"));
    const live = await all(run.stream());
    const later = await all((await rath.attach(run.id)).stream());
    expect(ids(later)).toEqual(ids(live));
    expect(textIn(later)).toBe(whole);
    for (const [index, id] of ids(live).entries()) {
      const stream = run.stream({ after: id });
      const rest = await all(stream);
      expect(ids(rest)).toEqual(ids(live).slice(index + 1));
      expect((await stream.result()).text).toBe("Four five.");
    }
  });

  test("after a call that was seen, its end still names it", async () => {
    await using rath = open(sharedStore());
    const run = await rath.run("talk", rath.session("go"));
    const live = await all(run.stream());
    const called = live.find((part) => part.type === "event" && part.event.kind === "tool.called");
    const id = called?.type === "event" ? called.event.id : "";
    const end = (await all(run.stream({ after: id }))).find((part) => part.type === "tool-end");
    expect(end).toMatchObject({ call: id, outcome: { type: "ok" } });
  });

  test("after an event that is none of its own is refused", async () => {
    await using rath = open(sharedStore());
    const run = await rath.run("talk", rath.session("go"));
    await expect(run.stream({ after: "0".repeat(64) }).result()).rejects.toMatchObject({ code: "session.not-found" });
  });

  test("is read from another Rath on the same file, while it runs and afterwards", async () => {
    const path = await file();
    await using here = open(path);
    await using there = open(path);
    const run = await here.run("talk", here.session("go"));
    const stream = (await there.attach(run.id)).stream();
    const [parts, live] = await Promise.all([all(stream), all(run.stream())]);
    expect(ids(parts)).toEqual(ids(live));
    expect([textIn(parts), textIn(live)]).toEqual([whole, whole]);
    expect((await stream.result()).head).toBe((await run.result()).head);
  });

  test("goes on while the run waits for a person, here and elsewhere", async () => {
    const path = await file();
    await using here = open(path);
    await using there = open(path);
    const run = await here.run("pay", here.session("go"));
    const streams = [run.stream(), (await there.attach(run.id)).stream()];
    const reading = streams.map((stream) => all(stream));
    expect((await run.settle()).status).toBe("waiting");
    const late = run.stream();
    const [pending] = await there.pending();
    expect(pending).toMatchObject({ kind: "approval", tool: "pay" });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await here.decide(pending?.id as string, { by: "human:ada", approve: true });
    for (const parts of [...(await Promise.all(reading)), await all(late)]) {
      expect(parts.filter((part) => part.type === "pending").map((part) => part.type === "pending" && part.pending.id)).toEqual([
        pending?.id,
      ]);
      expect(textIn(parts)).toBe("I pay. Done.");
      expect(parts.filter((part) => part.type === "tool-end")).toMatchObject([{ outcome: { type: "ok", value: "paid" } }]);
    }
    expect((await late.result()).text).toBe("Done.");
  });

  test("cancel ends the run durably; the result says that it was", async () => {
    await using rath = composeRath({ store: "memory" }, {});
    const run = await rath.run(new Talk(5000), rath.session("go"));
    const stream = run.stream();
    await new Promise((resolve) => setTimeout(resolve, 10));
    await stream.cancel("enough");
    await expect(stream.result()).rejects.toMatchObject({ code: "run.cancelled" });
    expect(await run.status()).toBe("cancelled");
    const parts: StreamPart[] = [];
    const reading = (async () => {
      for await (const part of stream) parts.push(part);
    })();
    await expect(reading).rejects.toMatchObject({ code: "run.cancelled" });
    expect(kinds(parts).at(-1)).toMatch(/^run\./);
  });

  // Mutants: what is pending is told at once; what was recorded before the reader came is not waited for.
  test.each([0, 1, 2, 5, 10])("tells of a question after all that led to it, read %i turns after its start", async (turns) => {
    class Asks extends Workflow {
      forward(session: Session) {
        return session.ask("Go on?");
      }
    }
    await using rath = composeRath({ store: "memory" }, {});
    const run = await rath.run(new Asks(), rath.session("go"));
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    const seen: string[] = [];
    for await (const part of run.stream()) {
      seen.push(part.type === "event" ? part.event.kind : part.type);
      if (part.type === "pending") await rath.decide(part.pending.id, { by: "human:ada", answer: "yes" });
    }
    expect(seen.indexOf("pending")).toBeGreaterThan(seen.indexOf("ask.called"));
    expect(seen).toContain("ask.called");
    expect(seen.filter((type) => type === "pending")).toHaveLength(1);
  });

  test("leaving the loop leaves the run alone", async () => {
    await using rath = composeRath({ store: "memory" }, {});
    const run = await rath.run(new Talk(20), rath.session("go"));
    for await (const _ of run.stream()) break;
    expect((await run.result()).text).toBe("Four five.");
  });
});

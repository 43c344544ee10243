/** Runs that merge, ask, call tools and publish are killed around every write to the store and to memory, and go on to the same end. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent, type Rath, replay, type Session, scripted, tool, verify } from "../../src/index.ts";
import type { MemoryStore } from "../../src/memory/memory.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Flow } from "../support/flow.ts";
import { Life, rathOf } from "./world.ts";

type Steps = (session: Session) => Promise<Session>;

/** Memory as a process sees it that may die around each write. */
function mortalMemory(memory: MemoryStore, life: Life): MemoryStore {
  const around = async <T>(act: () => Promise<T>): Promise<T> => {
    await life.point();
    const done = await act();
    await life.point();
    return done;
  };
  return {
    ...memory,
    write: (writes, options) => around(() => memory.write(writes, options)),
    used: (uses) => around(() => memory.used(uses)),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Runs to the end; whatever is asked is answered in the same way. */
async function complete(rath: Rath, flow: Flow): Promise<Session> {
  const run = await rath.run(flow, rath.session("go"), { key: "k" });
  for (;;) {
    const settled = await run.settle();
    if (settled.status === "done") return settled.session;
    if (settled.status !== "waiting" || settled.diverged !== undefined || settled.pending.length === 0)
      throw new Error(`stuck: ${settled.status === "failed" ? settled.error.stack : JSON.stringify(settled)}`);
    for (const { id } of settled.pending)
      await rath.decide(id, { by: "human:ada", answer: { choice: "content", content: "what a person said" } }).catch(answered);
  }
}

function answered(error: unknown): void {
  if ((error as { readonly code?: string }).code !== "pending.answered") throw error;
}

/** What a run came to: what it read and wrote, and what everybody reads. */
async function outcome(session: Session, memory: MemoryStore): Promise<unknown> {
  const rows: string[] = [];
  for await (const { uri, version, content, state } of memory.list({ asOf: "all" })) rows.push(`${uri}@${version} ${state} ${content}`);
  const said = ({ key, version, content }: { key: string; version: number; content: string }): string => `${key}@${version} ${content}`;
  // Calls of one round end in any order.
  return { reads: session.memory.reads.map(said).sort(), writes: session.memory.writes.map(said).sort(), rows: rows.sort() };
}

/** How many points it was killed at. */
async function killEverywhere(steps: Steps): Promise<number> {
  const calm = new Life();
  const there = volatileMemory();
  const rath = rathOf(memoryStore(), calm, { memory: mortalMemory(there, calm) });
  const expected = await outcome(await complete(rath, new Flow(steps)), there);
  await rath.close();
  for (let point = 0; point < calm.points; point++) {
    const [store, memory, life] = [memoryStore(), volatileMemory(), new Life(point)];
    const mortal = rathOf(store, life, { memory: mortalMemory(memory, life) });
    await life.sees(complete(mortal, new Flow(steps)));
    void mortal.close().catch(() => {});
    const second = new Life();
    const heir = rathOf(store, second, { memory: mortalMemory(memory, second) });
    const flow = new Flow(steps);
    const session = await complete(heir, flow);
    expect(await outcome(session, memory), `killed at ${point}`).toEqual(expected);
    expect(String(await replay(session, flow)), `killed at ${point}`).toMatch(/^identical/);
    // Each process has a key of its own here.
    const problems = (await verify(session)).problems.filter(({ problem }) => !problem.includes("an unknown key"));
    expect(problems, `killed at ${point}`).toEqual([]);
    await heir.close();
  }
  return calm.points;
}

const both = async (session: Session, key = "k"): Promise<[Session, Session]> => [
  await session.fork("left").remember({ key, content: "left" }),
  await session.fork("right").remember({ key, content: "right" }),
];

const learn = tool({
  name: "learn",
  description: "Learns something.",
  input: z.object({ what: z.string() }),
  repeat: "nested",
  run: async ({ what }, { session }) => {
    const read = await session.recall(what);
    const learnt = await read.remember({ key: what, content: `all about ${what}` });
    return (await learnt.recall({ key: what })).output.length;
  },
});

const teacher = (): Agent =>
  new Agent({
    name: "teacher",
    description: "Teaches.",
    model: scripted({ calls: [{ tool: "remember", input: { key: "taught", content: "what was taught" } }] }, "done"),
    memory: { remember: "tool" },
  });

describe("killed anywhere, it comes to the same end:", { timeout: 120_000 }, () => {
  test.each<[string, Steps]>([
    [
      "a merge in which a function writes something else",
      async (session) => {
        const [left, right] = await both(session);
        const merged = await left.merge(right, { conflicts: () => ({ content: "something else" }) });
        return merged.recall({});
      },
    ],
    [
      "a merge that a person settles",
      async (session) => {
        const [left, right] = await both(session);
        const merged = await left.merge(right, { conflicts: "ask" });
        return (await merged.remember({ key: "after", content: "after" })).recall({});
      },
    ],
    [
      "two writes at once, and a third taken back",
      async (session) => {
        const first = await session.remember({ key: "k", content: "a", publish: "now" });
        const second = await first.remember({ key: "k", content: "b", publish: "now" });
        const third = await second.remember({ key: "gone", content: "c", publish: "now" });
        return (await third.forget("gone", "wrong")).recall({});
      },
    ],
    [
      "tools of one round and an agent that is a tool remember inside",
      (session) =>
        new Agent({
          name: "student",
          model: scripted(
            {
              calls: [
                { tool: "learn", input: { what: "one" } },
                { tool: "learn", input: { what: "two" } },
                { tool: "teach", input: { task: "go" } },
              ],
            },
            "done",
          ),
          tools: [learn, teacher().asTool({ name: "teach" })],
          memory: { recall: "before" },
        }).forward(session),
    ],
    [
      "branches of which one is rejected, and one is adopted",
      async (session) => {
        const [left, right] = await both(session);
        const rejected = right.reject("no");
        const merged = await left.merge(rejected);
        await merged.fork("lost").remember({ key: "lost", content: "lost" });
        return merged.fork("won").remember({ key: "won", content: "won" });
      },
    ],
  ])("%s", async (_, steps) => {
    expect(await killEverywhere(steps)).toBeGreaterThan(4);
  });
});

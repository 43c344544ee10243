/** Agents that use memory, killed at every commit, every call of a model and every call of memory. */
import { describe, expect, test } from "vitest";
import type { Extracted } from "../../src/agent/agent.ts";
import { Agent, Extractor, type Model, type Rath, replay, Selector, type Session, Workflow } from "../../src/index.ts";
import type { MemoryStore } from "../../src/memory/memory.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import type { Script } from "../../src/model/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Life, mortalModel, rathOf } from "./world.ts";

/** The memory as a process sees that may die around each call. */
function mortalMemory(memory: MemoryStore, life: Life): MemoryStore {
  const between = async <T>(call: () => Promise<T>): Promise<T> => {
    await life.point();
    const result = await call();
    await life.point();
    return result;
  };
  return {
    revision: () => between(() => memory.revision()),
    write: (writes) => between(() => memory.write(writes)),
    search: (query) => between(() => memory.search(query)),
    list: (query) => memory.list(query),
    used: (uses) => memory.used(uses),
    uses: (uri) => memory.uses(uri),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Every way in which agents use memory, in one workflow. */
class Learns extends Workflow {
  readonly reader: Agent;
  readonly team: Selector;
  readonly learn: Extractor;

  constructor(life: Life) {
    super();
    const mortal = (...replies: readonly Script[]): Model => mortalModel(life, ...replies);
    const remember = (key: string, content: string) => ({ tool: "remember", input: { key, content } });
    this.reader = new Agent({
      memory: { remember: "tool" },
      model: mortal({ calls: [remember("day", "Deploys happen on Mondays."), remember("hour", "Deploys happen at nine.")] }, "Noted."),
    });
    const asker = new Agent({
      description: "Asks.",
      memory: { recall: "tool", remember: "tool" },
      model: mortal({ calls: [remember("name", "Ada deploys.")] }, { calls: [{ tool: "recall", input: { query: "deploys" } }] }, "Known."),
    });
    this.team = new Selector({
      choices: { asker },
      choose: (session) => (session.routes.length === 0 ? { choice: "asker", reason: "", memory: "user" } : "done"),
    });
    const proposals = [
      { key: "who", content: "Ada asked.", evidence: ["m1"] },
      { key: "none", content: "Nobody said so.", evidence: ["m99"] },
    ];
    this.learn = new Extractor({ model: mortal({ output: { proposals } }), accept: () => true });
  }

  async forward(session: Session) {
    const read = await this.reader.forward(session);
    return this.learn.forward(await this.team.forward(read.say("Who deploys?")));
  }
}

/** What a session came to, without ids and times: what was recalled has those of its evidence. */
function view(session: Session<unknown>) {
  const { memory, messages, output } = session;
  return {
    events: [...session.events()].map(({ kind, by, facts }) => [kind, by, facts.outcome, facts.injected, facts.trusted]),
    messages: messages.map(({ role, by, text }) => [role, by, text.replaceAll(/"at":"[^"]*"/g, "")]),
    output: (output as readonly Extracted[]).map(({ because, ...rest }) => ({ ...rest, because: because.length })),
    reads: memory.reads.map(({ uri, version, recall }) => [uri, version, recall.by, recall.revision, recall.injected]),
    writes: memory.writes.map(({ uri, version, content, trust, by, because }) => [uri, version, content, trust, by, because.length]),
  };
}

async function complete(rath: Rath, workflow: Learns): Promise<Session> {
  const run = await rath.run(workflow, rath.session("When do deploys happen?"), { key: "learns" });
  return run.result();
}

/** What everybody knows in the end: each thing once. */
async function kept(memory: MemoryStore): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const { uri, version, content, trust } of memory.list({ asOf: "all" })) all.push(`${uri}@${version} ${trust} ${content}`);
  return all.sort();
}

async function seeded(): Promise<MemoryStore> {
  const memory = volatileMemory();
  const rath = rathOf(memoryStore(), new Life(), { memory: mortalMemory(memory, new Life()) });
  await rath.session("Know this.").remember({ key: "day", content: "Deploys happen on Fridays.", publish: "now" });
  await rath.close();
  return memory;
}

describe("an agent that uses memory, left in the middle of anything", () => {
  // Mutant: a tool for memory is "once"; a person is then asked what became of a note.
  test("goes on to the same result, and each thing is remembered once", async () => {
    const calm = new Life();
    const memory = await seeded();
    const learns = new Learns(calm);
    const expected = await complete(rathOf(memoryStore(), calm, { memory: mortalMemory(memory, calm) }), learns);
    const known = await kept(memory);
    expect(known).toEqual([
      "memory://project/day@1 trusted Deploys happen on Fridays.",
      "memory://project/day@2 trusted Deploys happen on Mondays.",
      "memory://project/hour@1 trusted Deploys happen at nine.",
      "memory://project/who@1 trusted Ada asked.",
      "memory://user/user/name@1 trusted Ada deploys.",
    ]);
    expect(expected.memory.reads.map(({ uri, version }) => `${uri}@${version}`)).toEqual([
      "memory://project/day@1",
      "memory://user/user/name@1",
    ]);
    expect(String(await replay(expected, learns))).toMatch(/^identical/);
    expect(calm.points).toBeGreaterThan(30);
    for (let point = 0; point < calm.points; point++) {
      const store = memoryStore();
      const there = await seeded();
      const life = new Life(point);
      const mortal = rathOf(store, life, { memory: mortalMemory(there, life) });
      await life.sees(complete(mortal, new Learns(life)));
      void mortal.close().catch(() => {});
      const second = new Life();
      const heirs = new Learns(second);
      const heir = rathOf(store, second, { memory: mortalMemory(there, second) });
      const session = await complete(heir, heirs);
      expect(view(session), `killed at ${point}`).toEqual(view(expected));
      expect(await kept(there), `killed at ${point}`).toEqual(known);
      expect(String(await replay(session, heirs)), `killed at ${point}`).toMatch(/^identical/);
      await heir.close();
    }
  }, 120_000);
});

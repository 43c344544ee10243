/** Agents that use memory, later: what a resumed run and a rerun read, and what embeddings find. */
import { describe, expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.ts";
import { Extractor } from "../../src/agent/extractor.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { scripted } from "../../src/model/scripted.ts";
import { replay } from "../../src/runtime/replay.ts";
import { rerun } from "../../src/runtime/rerun.ts";
import type { EmbeddingModel } from "../../src/session/embedding.ts";
import type { Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { dataIn, known, reading, times } from "../support/agent-memory.ts";
import { failingMemory } from "../support/failing-memory.ts";
import { sharedStore } from "../support/shared-store.ts";

describe("resume", () => {
  // Mutant: a resumed run recalls again, and its model reads what was not there when it began.
  test("takes what was recalled from the record, though memory has changed since", async () => {
    const memory = failingMemory();
    const shared = { ...memory, [Symbol.asyncDispose]: async () => {} };
    const store = sharedStore();
    const { agent, seen } = reading({});
    class Asks extends Workflow {
      readonly agent = agent;
      async forward(session: Session) {
        const first = await this.agent.forward(session);
        const asked = await first.ask("Go on?");
        return this.agent.forward(asked.say("And how are tests run in CI?"));
      }
    }
    const asks = new Asks();
    const first = testRath({ memory: shared, store, workflows: { asks } });
    await known(first, { "test-command": "Tests are run with npm test." });
    const run = await first.run(asks, first.session("How are the tests run?"));
    const waiting = await run.settle();
    await first.close();
    await using second = testRath({ memory: shared, store, workflows: { asks } });
    await known(second, { "test-command": "Tests are run with make." });
    await second.decide(waiting.status === "waiting" ? (waiting.pending[0]?.id ?? "") : "", { by: "human:ada", answer: "yes" });
    const done = await (await second.resume(run.id)).result();
    expect(done.stop).toBe("finished");
    // The run reads memory as it was when it first looked.
    expect(seen).toHaveLength(2);
    expect([times(seen[1], "npm test"), times(seen[1], "make.")]).toEqual([1, 0]);
    expect([...done.events()].filter(({ kind }) => kind === "recall.called")).toHaveLength(2);
    expect(String(await replay(done, asks))).toMatch(/^identical/);
    expect(seen).toHaveLength(2);
  });
});

describe("rerun", () => {
  /** An agent that recalls and remembers, and what is learned of it. */
  class Learns extends Workflow {
    readonly agent = new Agent({
      memory: { remember: "tool" },
      model: scripted({ calls: [{ tool: "remember", input: { key: "asked", content: "Somebody asked about tests." } }] }, "Noted."),
    });
    readonly learn = new Extractor({
      accept: "all",
      model: scripted({ output: { proposals: [{ key: "learned", content: "Tests matter.", evidence: ["m1"] }] } }),
    });
    async forward(session: Session) {
      return this.learn.forward(await this.agent.forward(session));
    }
  }
  const facts = (session: Session) =>
    session.memory.writes.map(({ uri, version, content, trust, because }) => ({ uri, version, content, trust, because: because.length }));

  test("reuses all where nothing changed, though memory has", async () => {
    await using rath = testRath({ memory: failingMemory() });
    await known(rath, { "test-command": "Tests are run with npm test." });
    const learns = new Learns();
    const done = await learns.forward(rath.session("How are the tests run?"));
    await known(rath, { "test-command": "Tests are run with make." });
    const again = await rerun(done, learns);
    expect([again.reused, again.split]).toEqual([again.of, undefined]);
    expect(again.session.output.map(({ key, accepted }) => [key, accepted])).toEqual([["learned", true]]);
  });

  test("with another question recalls anew, from the memory of then or of now", async () => {
    await using rath = testRath({ memory: failingMemory() });
    await known(rath, { "test-command": "Tests are run with npm test." });
    const learns = new Learns();
    const done = await learns.forward(rath.session("How are the tests run?"));
    await known(rath, { "test-command": "Tests are run with make." });
    const change = (session: Session) => session.say("I mean the slow tests.");
    const then = await rerun(done, learns, { change });
    expect(then.session.memory.reads.map(({ content }) => content)).toContain("Tests are run with npm test.");
    expect(then.session.memory.reads.map(({ content }) => content)).not.toContain("Tests are run with make.");
    expect(facts(then.session)).toEqual(facts(done));
    const now = await rerun(done, learns, { change, memory: "latest" });
    expect(now.session.memory.reads.map(({ content }) => content)).toContain("Tests are run with make.");
  });
});

describe("embeddings", () => {
  /** A provider's model for which a text about cars is one however it says so; a million tokens for each text. */
  const model = (fails: () => Error | undefined = () => undefined): EmbeddingModel => ({
    specificationVersion: "v3",
    provider: "openai.embedding",
    modelId: "text-embedding-3-small",
    doEmbed: async ({ values }: { values: readonly string[] }) => {
      const error = fails();
      if (error !== undefined) throw error;
      return { embeddings: values.map((text) => (/car|automobile/.test(text) ? [1, 0] : [0, 1])), usage: { tokens: 1_000_000 } };
    },
  });

  test("find what means the same in other words; what they cost counts", async () => {
    await using rath = testRath({ memory: volatileMemory({ embedder: model() }) });
    await known(rath, { garage: "The automobile stands outside.", cat: "The cat sleeps inside." });
    const { agent, seen } = reading({ limit: 1 });
    const done = await agent.forward(rath.session("Where did I park my car?"));
    expect(dataIn(seen[0])[0]).toContain("automobile");
    expect(done.usage.usd).toBeCloseTo(0.02, 12);
    expect(String(await replay(done, agent))).toMatch(/^identical/);
  });

  // Mutant: where no vector can be made, words alone are searched, and nobody sees that less is found.
  test("that fail end the agent, which says so", async () => {
    let problem: Error | undefined;
    await using rath = testRath({ memory: volatileMemory({ embedder: model(() => problem) }) });
    await known(rath, { garage: "The automobile stands outside." });
    problem = Object.assign(new Error("no such key"), { statusCode: 401 });
    const { agent, seen } = reading({});
    const done = await agent.forward(rath.session("Where did I park my car?"));
    expect([done.stop, seen.length]).toEqual(["error", 0]);
    expect(() => done.output).toThrow(/memory could not be recalled: .*openai\/text-embedding-3-small: no such key \(HTTP 401\)/);
  });
});

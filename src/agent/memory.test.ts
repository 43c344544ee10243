import { describe, expect, test } from "vitest";
import { failingMemory } from "../../test/support/failing-memory.ts";
import { scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import type { Event } from "../session/event.ts";
import type { ModelRequest } from "../session/message.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { recall } from "../tool/builtin/memory.ts";
import { tool } from "../tool/tool.ts";
import { Workflow } from "../workflow/workflow.ts";
import { Agent } from "./agent.ts";
import type { AgentMemory, AgentOptions } from "./options.ts";
import { Selector } from "./selector.ts";

const rathOn = (memory = failingMemory()) => testRath({ memory });
const agentWith = (memory: AgentMemory, more: Partial<AgentOptions> = {}) =>
  new Agent({ model: scripted("Yes.", "Yes."), memory, ...more });
/** What was asked of memory. */
const recalls = (session: Session) =>
  [...session.events()]
    .filter((event): event is Event & { kind: "recall.called" } => event.kind === "recall.called")
    .map(({ data }) => data);
const runs = async (agent: Agent<unknown>, session: Session) => {
  const done = await agent.forward(session);
  expect(String(await replay(done, agent))).toMatch(/^identical/);
  return done;
};

describe("an agent with memory", () => {
  test("recalls once when it is entered, by what was said last; without memory it does not", async () => {
    const look = tool({ name: "look", description: "Looks.", input: { type: "object" }, repeat: "safe", run: () => "It rains." });
    const model = scripted({ calls: [{ tool: "look", input: {} }] }, "Take a coat.");
    const session = rathOn().session("I am Ada.").say("  What is it like outside?  ");
    const done = await runs(new Agent({ model, tools: [look], memory: {} }), session);
    expect([done.stop, done.text]).toEqual(["finished", "Take a coat."]);
    expect(recalls(done)).toEqual([{ query: "What is it like outside?", limit: 5, inject: { tokens: 1000 } }]);
    expect(recalls(await runs(new Agent({ model: scripted("Yes.") }), rathOn().session("Hello")))).toEqual([]);
    expect(recalls(await runs(agentWith({ recall: "never" }), rathOn().session("Hello")))).toEqual([]);
  });

  test("passes on whose memory, how many and how much", async () => {
    const done = await runs(agentWith({ scope: "user", limit: 2, tokens: 50 }), rathOn().session("Hello"));
    expect(recalls(done)).toEqual([{ query: "Hello", scopes: ["user"], limit: 2, inject: { tokens: 50 } }]);
  });

  test("recalls nothing where nobody said anything in words", async () => {
    expect(recalls(await runs(agentWith({}), rathOn().session()))).toEqual([]);
    expect(recalls(await runs(agentWith({}), rathOn().session("   ")))).toEqual([]);
    const picture = rathOn().session([{ type: "file", mediaType: "image/png", data: Uint8Array.of(1) }]);
    expect(recalls(await runs(agentWith({}), picture))).toEqual([]);
  });

  // Mutant: the whole message is the query. A store then searches for thousands of words.
  test("asks with the beginning and the end of a long message, whole characters alone", async () => {
    const long = `begin ${"x".repeat(992)}${"😀".repeat(3000)}${"y".repeat(990)} the end`;
    const [asked] = recalls(await runs(agentWith({}), rathOn().session(long)));
    expect(asked?.query?.length).toBeLessThanOrEqual(2000);
    expect(asked?.query).toMatch(/^begin x[\s\S]*y the end$/);
    expect(asked?.query).not.toMatch(/\p{Cs}/u);
  });

  test("a message that stands alone is what counts: a receiver does not read what was said before it", async () => {
    const worker = agentWith({}, { description: "Works." });
    const selector = new Selector({
      choices: { worker },
      choose: (session) => (session.routes.length === 0 ? { choice: "worker", reason: "", context: "Only this." } : "done"),
    });
    const done = await selector.forward(rathOn().session("Something long ago."));
    expect(recalls(done).map(({ query }) => query)).toEqual(["Only this."]);
  });

  // Mutant: the failure is swallowed, and the model answers as if there were nothing to know.
  test("ends with an error that names memory when memory fails; the failure is on record, and the model is not asked", async () => {
    const memory = failingMemory();
    memory.failing = new Error("the disk is full");
    const done = await agentWith({}).forward(rathOn(memory).session("Hello"));
    expect(done.stop).toBe("error");
    expect(() => done.output).toThrow(/memory could not be recalled: .*the disk is full/);
    expect([...done.events()].map(({ kind }) => kind)).not.toContain("model.called");
    const returned = [...done.events()].find(({ kind }) => kind === "recall.returned");
    expect([returned?.facts.outcome, returned?.data]).toEqual(["error", expect.objectContaining({ message: "the disk is full" })]);
    expect(String(await replay(done, agentWith({})))).toMatch(/^identical/);
  });

  test("whoever stops it while it recalls finds it cancelled", async () => {
    const stop = new AbortController();
    const slow = failingMemory({
      search: () => {
        stop.abort(new Error("enough"));
        return new Promise(() => {});
      },
    });
    const done = await agentWith({}).stream(rathOn(slow).session("Hello"), { signal: stop.signal }).result();
    expect(done.stop).toBe("cancelled");
  });
});

describe("an agent whose model uses memory itself", () => {
  test("has the tools it was given by the option, and recalls nothing by itself", async () => {
    const seen: ModelRequest[] = [];
    const model = scripted((request) => {
      seen.push(request);
      return "Yes.";
    });
    const offered = async (memory: AgentMemory) => {
      const done = await runs(new Agent({ model, memory }), rathOn().session("Hello"));
      return [seen.at(-1)?.tools.map(({ name }) => name), recalls(done).length];
    };
    expect(await offered({ recall: "tool" })).toEqual([["recall"], 0]);
    expect(await offered({ recall: "tool", remember: "tool" })).toEqual([["recall", "remember"], 0]);
    expect(await offered({ recall: "never", remember: "tool" })).toEqual([["remember"], 0]);
    expect(await offered({ remember: "tool" })).toEqual([["remember"], 1]);
    expect(await offered({ recall: "never" })).toEqual([[], 0]);
  });

  test("remembers in the option's scope and recalls from there", async () => {
    const model = scripted(
      { calls: [{ tool: "remember", input: { key: "editor", content: "Ada uses vim." } }] },
      { calls: [{ tool: "recall", input: { query: "vim" } }] },
      "Done.",
    );
    const agent = new Agent({ model, memory: { recall: "tool", remember: "tool", scope: "user" } });
    const done = await runs(agent, rathOn().session("I use vim."));
    expect(done.memory.writes).toMatchObject([{ uri: "memory://user/user/editor", origin: "model", trust: "trusted" }]);
    expect(done.calls.map(({ tool: name, outcome }) => [name, outcome.type])).toEqual([
      ["remember", "ok"],
      ["recall", "ok"],
    ]);
    expect(done.memory.reads).toMatchObject([{ key: "editor", scope: "user" }]);
  });

  test("reads of a memory that fails what went wrong, and goes on", async () => {
    const memory = failingMemory();
    memory.failing = new Error("the disk is full");
    const model = scripted({ calls: [{ tool: "recall", input: { query: "vim" } }] }, (request) => JSON.stringify(request.messages.at(-1)));
    const done = await runs(new Agent({ model, memory: { recall: "tool" } }), rathOn(memory).session("Hello"));
    expect(done.text).toMatch(/Error: .*the disk is full/);
  });
});

describe("a route's memory", () => {
  /** Recalls what it finds, in the scope that it was handed. */
  class Inner extends Workflow {
    readonly description = "Uses memory.";
    readonly agent = agentWith({});
    async forward(session: Session) {
      const answered = await this.agent.forward(session);
      const called = await answered.call(recall, { query: "anything" });
      return called.remember({ key: "k", content: "c" });
    }
  }
  const routed = (chosen: object) =>
    new Selector({
      choices: { inner: new Inner() },
      choose: (session) => (session.routes.length === 0 ? { choice: "inner", reason: "", ...chosen } : "done"),
    });

  // Mutant: the route's scope is recorded and not passed on.
  test("holds for the work under it, and for nothing after it", async () => {
    class Around extends Workflow {
      readonly selector = routed({ memory: "user" });
      async forward(session: Session) {
        const done = await this.selector.forward(session);
        return done.remember({ key: "after", content: "c" });
      }
    }
    const around = new Around();
    const done = await around.forward(rathOn().session("Hello"));
    expect(recalls(done).map(({ scopes }) => scopes)).toEqual([["user"], ["user"]]);
    expect(done.memory.writes.map(({ uri }) => uri)).toEqual(["memory://user/user/k", "memory://project/after"]);
    expect(done.routes[0]?.memory).toBe("user");
    expect(String(await replay(done, around))).toMatch(/^identical/);
  });

  test("gives way to a scope that the receiver names, and is nothing where the route names none", async () => {
    const own = new Selector({
      choices: { own: agentWith({ scope: "project" }, { description: "Its own." }) },
      choose: (session) => (session.routes.length === 0 ? { choice: "own", reason: "", memory: "user" } : "done"),
    });
    expect(recalls(await own.forward(rathOn().session("Hello"))).map(({ scopes }) => scopes)).toEqual([["project"]]);
    const none = await routed({}).forward(rathOn().session("Hello"));
    expect(recalls(none).map(({ scopes }) => scopes)).toEqual([undefined, undefined]);
  });

  test("must be a scope", async () => {
    await expect(routed({ memory: "team" }).forward(rathOn().session("Hello"))).rejects.toThrow(/memory of the choice is "team"/);
  });
});

describe("the memory option", () => {
  const problem = (memory: unknown, more: Partial<AgentOptions> = {}) => {
    try {
      new Agent({ name: "a", model: scripted(), memory: memory as AgentMemory, ...more });
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };

  test("is refused by name when it cannot work", () => {
    expect(problem({ recal: "tool" })).toBe(
      'Agent "a" has a memory option "recal" that is not known; there are: recall, remember, scope, tokens, limit.',
    );
    expect(problem({ recall: "always" })).toBe('Agent "a" has memory.recall "always": give one of before, tool, never.');
    expect(problem({ remember: "before" })).toBe('Agent "a" has memory.remember "before": give one of tool, never.');
    expect(problem({ scope: "team" })).toMatch(/has memory\.scope "team": give one of user, agent, project, workflow, session/);
    for (const bad of [0, -1, 1.5, Number.NaN, "5"]) {
      expect(problem({ tokens: bad })).toMatch(/has memory\.tokens .*: give a whole number from 1\./);
      expect(problem({ limit: bad })).toMatch(/has memory\.limit .*: give a whole number from 1 to 1000/);
    }
    expect(problem({ limit: 1001 })).toMatch(/memory\.limit 1001/);
    expect([problem(true), problem(null)].every((text) => /has memory that is no object/.test(text))).toBe(true);
    expect([problem({}), problem(undefined)]).toEqual(["", ""]);
  });

  // Mutant: the option's tool replaces the user's in silence.
  test("is refused beside a tool of the same name", () => {
    const named = (name: string) => tool({ name, description: "d", input: { type: "object" }, run: () => 1 });
    expect(problem({ recall: "tool" }, { tools: [named("recall")] })).toMatch(/has a tool named "recall" beside memory\.recall: "tool"/);
    expect(problem({ remember: "tool" }, { tools: [named("remember")] })).toMatch(/has a tool named "remember"/);
    expect(problem({ recall: "before" }, { tools: [named("recall")] })).toBe("");
    expect(problem({ remember: "tool" }, { tools: [named("recall")] })).toBe("");
  });

  test("is part of what an agent is", () => {
    const of = (memory?: AgentMemory) => new Agent({ name: "a", model: scripted(), memory }).describe();
    expect(of({ recall: "tool", remember: "tool" }).agents[0]?.tools).toEqual(["recall", "remember"]);
    const given: readonly (AgentMemory | undefined)[] = [undefined, {}, { recall: "tool" }, { scope: "user" }, { tokens: 5 }, { limit: 1 }];
    expect(new Set(given.map((memory) => of(memory).revision)).size).toBe(given.length);
    expect(of({ recall: "before", limit: 5 }).revision).toBe(of({}).revision);
  });
});

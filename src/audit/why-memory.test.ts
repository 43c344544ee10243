import { describe, expect, test } from "vitest";
import { Agent } from "../agent/agent.ts";
import { Compressor } from "../agent/compressor.ts";
import type { AgentMemory } from "../agent/options.ts";
import { volatileMemory } from "../memory/volatile.ts";
import { type Script, scripted } from "../model/scripted.ts";
import type { Session } from "../session/session.ts";
import type { Why } from "../session/why.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { why } from "./why.ts";

const tests = tool({
  name: "tests",
  description: "Runs the tests.",
  input: { type: "object", properties: {} },
  repeat: "safe",
  run: () => "3 passed with npm test",
});

const told = ({ hops }: Why): string[] => hops.map(({ relation, event, summary }) => `${relation} ${event.kind}: ${summary}`);
const rathWithMemory = () => testRath({ memory: volatileMemory() });

/** A session that learned something from a tool, published. */
async function learned(rath: ReturnType<typeof rathWithMemory>): Promise<Session> {
  const called = await rath.session("How are tests run?").call(tests, {});
  const [call] = called.calls;
  const session = await called.remember({ key: "test-command", content: "npm test", because: [call?.id ?? ""] });
  await rath.memory.publish(session);
  return session;
}

describe("why of a memory", () => {
  test("leads to the call that wrote it and to what justified that", async () => {
    await using rath = rathWithMemory();
    const session = await learned(rath);
    const chain = await why(session, { memory: "test-command" });
    expect(told(chain)).toEqual([
      'wrote remember.called: user remembered memory://project/test-command@1 (of a tool, untrusted, staged): "npm test"',
      'justified tool.called: tests {}: "3 passed with npm test"',
    ]);
    expect(chain.hops[1]?.event.id).toBe(session.calls[0]?.id);
    await expect(rath.memory.why("test-command", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    expect(told(await rath.memory.why("test-command"))).toEqual(told(chain).map((line) => line.replace(", staged", "")));
    expect((await why(session, { memory: "memory://project/test-command@1" })).hops).toHaveLength(2);
  });

  // Mutant: what a memory was made of is not followed.
  test("goes on over the memories that were read before, into other sessions", async () => {
    await using rath = rathWithMemory();
    const first = await learned(rath);
    const recalled = await rath.session("Write the guide").recall("test command");
    const [read] = [...recalled.events()].filter(({ kind }) => kind === "recall.returned");
    const second = await recalled.remember({ key: "guide", content: "Run npm test first.", because: [read?.id ?? ""] });
    await rath.memory.publish(second);
    const chain = await rath.memory.why("guide");
    expect(chain.hops.map(({ relation, event }) => `${relation} ${event.kind} ${event.session === first.id ? 1 : 2}`)).toEqual([
      "wrote remember.called 2",
      "justified recall.returned 2",
      "wrote remember.called 1",
      "justified tool.called 1",
    ]);
    expect(chain.hops[2]?.summary).toContain("was read before memory://project/guide@1 was written");
    expect(String(chain).split("\n")[3]).toContain(`(session ${first.id.slice(0, 13)})`);
    // From a session that knows nothing of it, it is what is published.
    expect((await why(rath.session("x"), { memory: "guide" })).hops).toHaveLength(4);
  });

  // Mutant: a decision, which has no event, is taken for the origin.
  test("says who took it back and why; a rollback leads to what it brought back", async () => {
    await using rath = rathWithMemory();
    const session = await learned(rath);
    await rath.memory.retract("test-command", { by: "human:ada", reason: "the command changed" });
    const retracted = await rath.memory.why("test-command");
    expect(retracted.hops[0]).toMatchObject({ relation: "wrote", event: { kind: "remember.called", session: session.id } });
    expect(retracted.hops[0]?.summary).toMatch(/: "npm test"; retracted by human:ada: "the command changed"$/);
    await rath.memory.rollback(1, { by: "human:bob", reason: "it was right" });
    const back = await rath.memory.why("test-command");
    expect(back.hops[0]?.summary).toMatch(/retracted by human:ada: "the command changed"; rolled back by human:bob: "it was right"$/);
    expect(back.hops).toHaveLength(2);
    const forgotten = await session.fork().forget("test-command", "old");
    await rath.memory.publish(forgotten);
    const gone = await rath.memory.why("test-command");
    expect(gone.hops[0]).toMatchObject({ event: { kind: "forget.called" } });
    expect(gone.hops[0]?.summary).toContain("user forgot memory://project/test-command@4 (of a");
  });

  // Mutant: an event is named as often as something leads to it.
  test("of memories that were made of each other ends, each event once", async () => {
    await using rath = rathWithMemory();
    let session: Session = await learned(rath);
    for (const key of ["a", "b", "a", "b", "a"]) {
      session = await (await session.recall("npm test", { limit: 9 })).remember({ key, content: `npm test, says ${key}` });
      await rath.memory.publish(session);
    }
    const { hops } = await why(session, { memory: "a" });
    const ids = hops.map(({ event }) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(hops.filter(({ event }) => event.kind === "remember.called").length).toBeGreaterThan(3);
  });

  test("that is not there, or of which several have the name, is an error that says so", async () => {
    await using rath = rathWithMemory();
    const session = await learned(rath);
    await expect(why(session, { memory: "nothing" })).rejects.toMatchObject({ code: "memory.not-found" });
    await expect(rath.memory.why("nothing")).rejects.toMatchObject({ code: "memory.not-found" });
    const two = await session.remember({ key: "test-command", content: "x", scope: "session" });
    await expect(why(two, { memory: "test-command" })).rejects.toMatchObject({ code: "memory.ambiguous" });
  });
});

describe("why of an answer that read memory", () => {
  const user = (name: string, replies: readonly Script[], memory: AgentMemory) => new Agent({ name, model: scripted(...replies), memory });

  test("what was recalled for it was in its context, and leads to what justified it in another session", async () => {
    await using rath = rathWithMemory();
    const first = await learned(rath);
    const session = await user("helper", ["With npm test."], {}).forward(rath.session("What is the test command?"));
    const chain = await why(session, { answer: "" });
    expect(chain.hops.map(({ relation, event }) => `${relation} ${event.kind} ${event.session === first.id ? 1 : 2}`)).toEqual([
      "wrote model.returned 2",
      "decided model.called 2",
      "was-in-context recall.returned 2",
      "was-in-context message.added 2",
      "wrote remember.called 1",
      "justified tool.called 1",
    ]);
    expect(chain.hops[2]?.summary).toMatch(
      /^helper recalled "What is the test command\?": memory:\/\/project\/test-command@1 \(untrusted, score [\d.]+\) "npm test"$/,
    );
    await rath.memory.retract("test-command", { by: "human:ada", reason: "old" });
    expect((await why(session, { answer: "" })).hops[4]?.summary).toContain('retracted by human:ada: "old"');
  });

  // Mutant: all that was found is followed, whether or not the model was given it.
  test("what did not fit into its context is not said to have been there", async () => {
    await using rath = rathWithMemory();
    await learned(rath);
    const long = await rath.session("x").remember({ key: "long", content: `test command ${"word ".repeat(2000)}` });
    await rath.memory.publish(long);
    const session = await user("helper", ["With npm test."], { tokens: 100 }).forward(rath.session("What is the test command?"));
    expect(session.memory.reads.map(({ key }) => key).sort()).toEqual(["long", "test-command"]);
    const told = (await why(session, { answer: "" })).hops.map(({ summary }) => summary).join("\n");
    expect(told).toContain("memory://project/test-command@1");
    expect(told).not.toContain("memory://project/long");
  });

  // Mutant: results of tools in a context are not looked into for recalls.
  test("what a model asked memory for is followed, and what it remembered leads to its own reply", async () => {
    await using rath = rathWithMemory();
    const first = await learned(rath);
    const agent = user(
      "helper",
      [
        { calls: [{ tool: "recall", input: { query: "test command" } }] },
        { calls: [{ tool: "remember", input: { key: "lesson", content: "Run npm test first." } }] },
        "Noted.",
      ],
      { recall: "tool", remember: "tool" },
    );
    const run = await rath.run(agent, rath.session("Learn"));
    const session = await run.result();
    const { hops } = await rath.memory.why("lesson");
    expect(hops[0]).toMatchObject({ relation: "wrote", event: { kind: "remember.called" } });
    const told = hops.map(({ relation, summary }) => `${relation} ${summary}`).join("\n");
    expect(told).toContain("justified helper called remember");
    expect(told).toContain("decided helper asked scripted, which read");
    expect(hops.some(({ event, relation }) => event.kind === "recall.returned" && relation === "was-in-context")).toBe(true);
    expect(hops.some(({ event }) => event.kind === "remember.called" && event.session === first.id)).toBe(true);
    expect((await why(session, { memory: "lesson" })).hops.map(({ event }) => event.id)).toEqual(hops.map(({ event }) => event.id));
  });
});

test("a call that justifies a memory stands for what came of it, also inside a nested agent", async () => {
  await using rath = rathWithMemory();
  const inner = new Agent({ name: "inner", description: "Knows.", model: scripted("It is noon.") });
  const outer = new Agent({
    name: "outer",
    model: scripted({ calls: [{ tool: "inner", input: { task: "When?" } }] }, "Noon."),
    tools: [inner.asTool({ name: "inner" })],
  });
  const asked = await outer.forward(rath.session("When is high water?"));
  const session = await asked.remember({ key: "tide", content: "noon", because: [asked.calls[0]?.id ?? ""] });
  expect(told(await why(session, { memory: "tide" })).slice(1)).toEqual([
    'justified tool.called: inner {"task":"When?"}: "It is noon."',
    'wrote model.returned: outer/inner said "It is noon."',
    "called model.returned: outer called inner",
    "decided model.called: outer/inner asked scripted, which read 1 message",
    "decided model.called: outer asked scripted, which read 1 message",
    'was-in-context message.added: user: "When?"',
    'was-in-context message.added: user: "When is high water?"',
  ]);
});

describe("why across compressions", () => {
  // Mutant: what a summary stands for is not named.
  test("a summary leads to who wrote it and to what it stands for", async () => {
    await using rath = rathWithMemory();
    await learned(rath);
    const helper = new Agent({ name: "helper", model: scripted("First answer.", "Second answer.", "Third answer."), memory: {} });
    let session: Session = await helper.forward(rath.session("What is the test command?"));
    session = await helper.forward(session.say("And then?"));
    const shorter = new Compressor({ policy: { summariseAt: 1000, keep: 0 }, model: scripted("They spoke of tests.") });
    const compressed = await shorter.forward(session);
    expect(compressed.compressions).toHaveLength(1);
    session = await helper.forward(compressed.say("Sum it up"));
    const { hops } = await why(session, { answer: "Third" });
    const of = (kind: string) => hops.filter(({ event }) => event.kind === kind);
    expect(of("context.compressed")).toMatchObject([
      { relation: "was-in-context", summary: expect.stringContaining("They spoke of tests.") },
    ]);
    const ids = new Set<string>(hops.map(({ event }) => event.id));
    const [one] = session.compressions;
    expect(one?.dropped.length).toBeGreaterThan(0);
    for (const dropped of one?.dropped ?? []) expect(ids).toContain(dropped);
    for (const hop of hops.filter(({ event }) => one?.dropped.includes(event.id)))
      expect(["compressed", "was-in-context"]).toContain(hop.relation);
    expect(of("do.returned")).toMatchObject([{ relation: "wrote" }]);
    expect(of("remember.called")).toHaveLength(1);
    // Mutant: every model call after a recall is said to have read it.
    const readers: string[] = [];
    for await (const { readBy } of rath.memory.usedBy("test-command")) readers.push(...readBy);
    const asked = [...session.events()].filter(({ kind, by }) => kind === "model.called" && by === "helper").map(({ id }) => id);
    const summing = [...session.events()].filter(({ kind, by }) => kind === "model.called" && by !== "helper").map(({ id }) => id);
    expect(asked).toHaveLength(3);
    expect(readers).toEqual([...asked.slice(0, 2), ...summing]);
  });

  // Mutant: everything that was ever said counts as read.
  test("what a window dropped was not in context", async () => {
    await using rath = rathWithMemory();
    const helper = new Agent({ name: "helper", model: scripted("First.", "Second.", "Third.") });
    let session: Session = await helper.forward(rath.session(`Old news ${"x".repeat(4000)}`));
    session = await helper.forward(session.say(`Newer ${"y".repeat(4000)}`));
    session = await new Compressor({ policy: { window: 600 } }).forward(session);
    const [one] = session.compressions;
    session = await helper.forward(session.say("Now"));
    const { hops } = await why(session, { answer: "Third" });
    expect(one?.dropped.length).toBeGreaterThan(0);
    expect(hops.filter(({ event }) => one?.dropped.includes(event.id))).toEqual([]);
    expect(hops.map(({ summary }) => summary)).toContain('user: "Now"');
  });
});

/** What people ask about memory and compression after the fact, answered from the record by ordinary calls of the public doors. */
import { describe, expect, test } from "vitest";
import { Compressor, type EventKind, RathError, type Session, why } from "../../src/index.ts";
import type { MemoryRead } from "../../src/memory/memory.ts";
import { learned } from "../support/learning.ts";
import { all } from "../support/memory.ts";

const eventsOf = (session: Session, kind: EventKind, by?: string) =>
  [...session.events()].filter((event) => event.kind === kind && (by === undefined || event.by === by));
const idsOf = (session: Session, kind: EventKind, by?: string) => eventsOf(session, kind, by).map(({ id }) => id);
const nameOf = ({ key, version }: { readonly key: string; readonly version: number }) => `${key}@${version}`;
const uriOf = (key: string) => `memory://project/${key}`;
const eventOf = (session: Session, text: string) => session.messages.find((message) => message.text === text)?.event;
/** What a model read, as text. */
const shown = (messages: unknown) => JSON.stringify(messages);

describe("a session that remembers, recalls, forks, rejects, merges and compresses answers", () => {
  // Mutants: everything is published at once, that of rejected branches too; the first recall is lost.
  test("Q3: Which memory item was recalled or committed?", async () => {
    await using world = await learned();
    const { rath, taught, session } = world;
    expect(session.memory.reads.map((read) => [nameOf(read), read.recall.by, read.query])).toEqual([
      ["parser-dates@1", "repair/coder", "Repair how the parser reads dates."],
      ["style@1", "repair/coder", "Repair how the parser reads dates."],
      ["lint@1", "repair/coder", "tabs linter"],
      ["parser-dates@1", "repair/finisher", "Finish the parser."],
      ["style@1", "repair/finisher", "Finish the parser."],
    ]);
    expect(new Set(session.memory.reads.map(({ recall }) => recall.event))).toEqual(new Set(idsOf(session, "recall.called")));
    expect(session.memory.writes.map((write) => [nameOf(write), write.by])).toEqual([
      ["decision@1", "repair/coder"],
      ["way-proper@1", "repair"],
    ]);
    expect(session.memory.writes.map(({ event }) => event)).toEqual(idsOf(session, "remember.called"));
    // What became of it: all of both runs, and nothing of the branches that were rejected.
    const committed = await all(rath.memory.list({ state: "published" }));
    expect(committed.map((item) => [nameOf(item), item.event])).toEqual(
      [...taught.memory.writes, ...session.memory.writes].map((write) => [nameOf(write), write.event]),
    );
    for (const key of ["guess", "way-hack"]) expect(await rath.memory.history(key)).toEqual([]);
  });

  // Mutants: `dropped` is what is kept; what is brought back is read from the shortened view.
  test("Q4: Which evidence was removed during compression?", async () => {
    await using world = await learned();
    const { session } = world;
    const [compression, ...others] = session.compressions;
    expect(others).toEqual([]);
    const events = new Map([...session.events()].map(({ id, kind, by }) => [id as string, `${kind} ${by}`]));
    const about = (id: string) => events.get(id);
    expect(compression?.dropped.map(about)).toEqual([
      "message.added ada",
      "recall.returned repair/coder",
      "model.returned repair/coder",
      "tool.returned repair/coder",
      "model.returned repair/coder",
      "tool.returned repair/coder",
      "model.returned repair/coder",
      "tool.returned repair/coder",
      "model.returned repair/coder",
    ]);
    expect(compression?.kept.map(about)).toEqual(["message.added repair", "model.returned repair/trier"]);
    expect(compression).toMatchObject({
      policy: "summary",
      by: "repair/shorter",
      replacedBy: "They plan to read dates as local time.",
      usage: { input: expect.any(Number), output: 10 },
    });
    // It is not gone: what was removed is in the conversation, and comes back.
    expect(session.messages.map(({ text }) => text)).toContain("Dates are read as local time.");
    expect(shown((await session.request()).messages)).not.toContain("Repair how the parser reads dates.");
    const whole = await new Compressor({ policy: "full" }).forward(session.fork("whole"));
    expect(whole.compressions.at(-1)).toMatchObject({ policy: "full", dropped: [] });
    expect(whole.compressions.at(-1)?.kept.slice(0, 11)).toEqual([...(compression?.dropped ?? []), ...(compression?.kept ?? [])]);
  });

  // Mutants: `why` leaves out what was recalled; it leaves out what a summary stands for.
  test("Q8: Which memory or artifact influenced the decision?", async () => {
    await using world = await learned();
    const { taught, session } = world;
    const { hops } = await why(session, { answer: "Done: dates are local time" });
    const hop = (id: string | undefined) => hops.find(({ event }) => event.id === id);
    const [asked, decided] = hops;
    expect(asked).toMatchObject({ relation: "wrote", event: { kind: "model.returned", by: "repair/finisher" } });
    expect(decided).toMatchObject({ relation: "decided", event: { id: idsOf(session, "model.called", "repair/finisher")[1] } });
    // The memories that the model read, and where they come from; the plan that it read; the summary, and what that stands for.
    const [first, , second] = idsOf(session, "recall.returned");
    expect(hop(second)).toMatchObject({ relation: "was-in-context", event: { by: "repair/finisher" } });
    expect(hop(taught.memory.writes[1]?.event)).toMatchObject({ relation: "wrote" });
    expect(hop(taught.calls[0]?.id)).toMatchObject({ relation: "justified" });
    expect(hop(idsOf(session, "tool.returned", "repair/finisher")[0])).toMatchObject({
      relation: "was-in-context",
      summary: expect.stringContaining('read_file {"path":"plan.md"}'),
    });
    expect(hop(session.compressions[0]?.event)).toMatchObject({ relation: "was-in-context" });
    expect(hops.map(({ event }) => event.id)).toEqual(expect.arrayContaining([...(session.compressions[0]?.dropped ?? [])]));
    expect(hop(first)).toMatchObject({ relation: "compressed", event: { by: "repair/coder" } });
    // The artifact leads back to the model call that wrote it, and to what that had read.
    const plan = await why(session, "plan.md:2");
    expect(plan.hops[0]).toMatchObject({ relation: "wrote", event: { kind: "tool.returned", by: "repair/coder" } });
    expect(plan.hops.map(({ event }) => event.id)).toEqual(
      expect.arrayContaining([idsOf(session, "model.called", "repair/coder")[1], ...idsOf(session, "recall.returned").slice(0, 2)]),
    );
  });

  // Mutant: the step of a recall is the one of its result.
  test("Q12: Which memory item was recalled at step seven?", async () => {
    await using world = await learned();
    const { session } = world;
    const atSeven = session.memory.reads.filter(({ recall }) => recall.step === 7);
    expect(atSeven.map((read) => [nameOf(read), read.trust, read.recall])).toEqual([
      ["parser-dates@1", "untrusted", recallOf(session, atSeven[0])],
      ["style@1", "trusted", recallOf(session, atSeven[0])],
    ]);
    expect(session.at(6).memory.reads).toEqual([]);
    expect(session.at(8).memory.reads).toEqual(atSeven);
    expect([...session.events({ from: 7, to: 7 })]).toMatchObject([
      { kind: "recall.called", data: { query: "Repair how the parser reads dates.", limit: 2, scopes: ["project"] } },
    ]);
    const scores = atSeven.map(({ score }) => score);
    expect(scores.every((score) => score > 0)).toBe(true);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  // Mutants: a fork from the past recalls from the newest revision; `request` forgets that something was compressed.
  test("Q15: What memory state was present before compression?", async () => {
    await using world = await learned();
    const { rath, session, sent } = world;
    const [compression] = session.compressions;
    const before = session.at((compression?.step ?? 0) - 1);
    expect(before.compressions).toEqual([]);
    expect(before.memory.reads.map(nameOf)).toEqual(["parser-dates@1", "style@1", "lint@1"]);
    expect(before.memory.writes.map(nameOf)).toEqual(["decision@1", "way-proper@1"]);
    // What could be recalled there, though others have written since.
    await rath.session("Later.").remember({ key: "later", content: "Something else.", publish: "now" });
    const state = await before.fork("then").recall({}, { limit: 99 });
    expect(state.output.map((hit) => [nameOf(hit), hit.state])).toEqual([
      ["way-proper@1", "staged"],
      ["decision@1", "staged"],
      ["lint@1", "published"],
      ["parser-dates@1", "published"],
      ["style@1", "published"],
    ]);
    expect((await session.fork("now").recall({}, { limit: 99 })).output.map(({ key }) => key)).toContain("later");
    // What the last model before it read, and the first one after it: rebuilt, checked against the digest, the same as was sent.
    const then = await before.request();
    expect(then).toEqual(sent[3]);
    expect(shown(then.messages)).toContain("The parser reads dates as UTC.");
    const [call] = eventsOf(session, "model.called", "repair/finisher");
    const after = await session.at(call?.step ?? 0).request();
    expect(shown(after.messages)).not.toContain("Repair how the parser");
    expect(after).toEqual(sent.at(-2));
  });

  // Mutants: model calls of forks are left out; those after the compression are counted in; results of tools carry nothing.
  test("Q21: Why was this memory present in the run?", async () => {
    await using world = await learned();
    const { rath, session } = world;
    const coder = idsOf(session, "model.called", "repair/coder");
    const [finishing, finished] = idsOf(session, "model.called", "repair/finisher");
    const [summary] = idsOf(session, "model.called", "repair/shorter/summary");
    const [proper] = idsOf(session, "model.called", "repair/trier");
    const uses = await all(rath.memory.usedBy("parser-dates"));
    // What was asked, by which session and which workflow.
    expect(uses.map(({ session: id, by, query, version, injected }) => ({ id, by, query, version, injected }))).toEqual([
      { id: session.id, by: "repair/coder", query: "Repair how the parser reads dates.", version: 1, injected: true },
      { id: session.id, by: "repair/finisher", query: "Finish the parser.", version: 1, injected: true },
    ]);
    // Planning: every call of the coder, and both tries, of which one was rejected; then the summary. After it, only by the second recall.
    const [planning, finishingUses] = uses.map(({ readBy }) => readBy);
    expect(planning).toHaveLength(7);
    expect(planning?.slice(0, 4)).toEqual(coder);
    expect(planning?.slice(4, 6)).toContain(proper);
    expect(planning?.[6]).toBe(summary);
    expect(finishingUses).toEqual([finishing, finished]);
    // By the model's own wish: it read the result, not the call before it.
    const [lint, ...others] = await all(rath.memory.usedBy(uriOf("lint")));
    expect(others).toEqual([]);
    expect(lint).toMatchObject({ by: "repair/coder", query: "tabs linter", injected: true });
    expect(lint?.readBy.slice(0, 3)).toEqual(coder.slice(1));
    // What was made of it.
    expect((await all(rath.memory.derivedFrom("parser-dates"))).map(nameOf)).toEqual(["decision@1", "way-proper@1"]);
    // A check judges without reading memory: nothing of it is among what led to the verdict.
    const judged = await why(session, { event: session.checks.find(({ name }) => name === "proof")?.event ?? "" });
    const direct = judged.hops.filter(({ explains }) => explains.length === 0);
    expect(direct.every(({ event, relation }) => relation === "wrote" && event.kind === "tool.returned")).toBe(true);
  });

  // Mutants: the origin of a failed check is "validation"; what was made of a retracted memory stays; results of tools are trusted.
  test("Q22: What evidence justified this memory write, from which kind of source, at what scope, can it be rolled back?", async () => {
    await using world = await learned();
    const { rath, taught, session } = world;
    const [human, tool, failure] = [
      eventOf(taught, "The parser is written without classes. Test it."),
      taught.calls[0]?.id,
      taught.checks[0]?.event,
    ];
    const written = await Promise.all(["style", "parser-dates", "lint", "decision", "way-proper"].map((key) => rath.memory.get(key)));
    const reply = eventOf(session, "Dates are read as local time.");
    expect(written.map((item) => [item?.because, item?.origin, item?.trust, item?.scope, item?.by])).toEqual([
      [[human], "human", "trusted", "project", "teach"],
      [[tool], "tool", "untrusted", "project", "teach"],
      [[failure], "failure", "untrusted", "project", "teach"],
      [[reply], "model", "untrusted", "project", "repair/coder"],
      [[eventOf(session, "It is tried.")], "model", "untrusted", "project", "repair"],
    ]);
    expect(written[3]?.from).toEqual(["parser-dates", "style", "lint"].map((key) => `${uriOf(key)}@1`));
    const chain = await rath.memory.why("lint");
    expect(chain.hops.map(({ relation, event }) => [relation, event.id])).toEqual([
      ["wrote", taught.memory.writes[2]?.event],
      ["justified", failure],
    ]);
    expect(String(chain)).toMatch(/check lint failed: "tabs in parser\.ts"/);
    // Taken back with what was made of it, brought back by a rollback, and every version is kept.
    const revision = await rath.memory.revision();
    const decision = { by: "human:ada", reason: "the tests were wrong" };
    const taken = await rath.memory.retract("parser-dates", decision);
    expect(taken.map((item) => [nameOf(item), item.state, item.by])).toEqual(
      ["parser-dates@2", "decision@2", "way-proper@2"].map((name) => [name, "retracted", "human:ada"]),
    );
    expect((await all(rath.memory.list({ state: "published" }))).map(nameOf)).toEqual(["style@1", "lint@1"]);
    const restored = await rath.memory.rollback(revision, { by: "human:bob", reason: "they were right" });
    expect(restored.map(nameOf)).toEqual(["parser-dates@3", "decision@3", "way-proper@3"]);
    expect(
      (await rath.memory.history("parser-dates")).map(({ version, state, content, reason }) => [version, state, content, reason]),
    ).toEqual([
      [1, "published", "The parser reads dates as UTC.", undefined],
      [2, "retracted", "The parser reads dates as UTC.", "the tests were wrong"],
      [3, "published", "The parser reads dates as UTC.", "they were right"],
    ]);
    expect((await rath.memory.get("parser-dates"))?.trust).toBe("untrusted");
    await expect(rath.memory.why("guess")).rejects.toSatisfy((error) => RathError.is(error, "memory.not-found"));
  });
});

function recallOf(session: Session, read: MemoryRead | undefined): MemoryRead["recall"] {
  expect(read?.recall.event).toBe(idsOf(session, "recall.called")[0]);
  return { event: read?.recall.event ?? "", by: "repair/coder", step: 7, revision: 1, injected: true };
}

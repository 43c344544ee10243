import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { syntheticLineage } from "../../../../test/inspector/synthetic-lineage.ts";
import { Lineage } from "../../lineage/lineage.ts";
import { GraphRows } from "./graph-rows.ts";
import { Path } from "./path.ts";
import { ShownRows } from "./shown-rows.ts";

type Told = Parameters<Lineage["add"]>[0];

function lineageOf(events: readonly Told[]): Lineage {
  const lineage = new Lineage({
    ...{ session: "", head: "", count: 0, cut: 0, sessions: [], kinds: [], writers: [], id: "", branch: [], kind: [], by: [], step: [] },
    ...{
      at: [],
      parents: [],
      marks: { row: [], mark: [] },
      outcomes: { row: [], outcome: [] },
      calls: { row: [], call: [] },
      retried: { row: [], attempts: [] },
    },
    spent: { row: [], ms: [], input: [], output: [], usd: [] },
    retried: { row: [], attempts: [] },
  });
  for (const event of events) lineage.add(event);
  return lineage;
}

/** Writes events as a store would: each follows the newest one of its branch unless told otherwise. */
class Story {
  readonly events: Told[] = [];
  readonly #tips = new Map<string, string>();

  tell(
    session: string,
    kind: string,
    more: { parents?: readonly string[]; data?: object; facts?: Told["facts"]; after?: number } = {},
  ): string {
    const id = (this.events.length + 1).toString(16).padStart(64, "0");
    const tip = this.#tips.get(session);
    const parents = [...(more.parents ?? (tip === undefined ? [] : [tip]))];
    const at = new Date(1_790_000_000_000 + (more.after ?? this.events.length) * 1000).toISOString();
    this.events.push({
      id,
      session,
      parents,
      step: this.events.length,
      kind,
      version: 1,
      at,
      by: "me",
      facts: more.facts ?? {},
      data: more.data ?? {},
    });
    this.#tips.set(session, id);
    return id;
  }

  tip(session: string): string {
    return this.#tips.get(session) ?? "";
  }

  get sessions(): readonly string[] {
    return [...this.#tips.keys()];
  }
}

const ordinary = [
  ...["message.added", "note.added", "workflow.entered", "workflow.left", "agent.stopped", "model.called", "model.returned"],
  ...["tool.called", "tool.started", "tool.returned", "check.called", "check.returned", "do.called", "do.returned", "context.compressed"],
];

/** Any lineage: each number decides what happens next and to which branch. */
const story = fc.array(fc.record({ what: fc.nat(99), where: fc.nat(), with: fc.nat() }), { minLength: 1, maxLength: 80 }).map((moves) => {
  const told = new Story();
  told.tell("s0", "session.created");
  for (const move of moves) {
    const session = told.sessions[move.where % told.sessions.length] as string;
    const other = told.sessions[move.with % told.sessions.length] as string;
    const past = told.events[move.with % told.events.length]?.id ?? "";
    if (move.what < 12) told.tell(`s${told.sessions.length}`, "session.forked", { parents: [past], data: { nested: move.what < 4 } });
    else if (move.what < 18 && other !== session) told.tell(session, "session.merged", { parents: [told.tip(session), told.tip(other)] });
    else if (move.what < 22 && other !== session)
      told.tell(session, "session.merged", { parents: [told.tip(other), told.tip(session)], data: { adopt: true } });
    else if (move.what < 27 && other !== session) told.tell(session, "tool.returned", { parents: [told.tip(session), told.tip(other)] });
    else if (move.what < 30) told.tell(session, "session.rejected");
    else told.tell(session, ordinary[move.with % ordinary.length] as string);
  }
  return told.events;
});

const eventsOf = (rows: GraphRows): readonly (readonly number[])[] =>
  Array.from({ length: rows.count }, (_, row) => rows.turns.events(row));
const lanesOf = (rows: GraphRows) => Array.from({ length: rows.count }, (_, row) => rows.lanes(row));

describe("rows of any lineage", () => {
  test("rows of the first events are the first rows: they only grow, and their lanes never change", () => {
    fc.assert(
      fc.property(story, fc.nat(), (events, cut) => {
        const k = cut % (events.length + 1);
        const [some, all] = [new GraphRows(lineageOf(events.slice(0, k))), new GraphRows(lineageOf(events))];
        expect(lanesOf(some)).toStrictEqual(lanesOf(all).slice(0, some.count));
        eventsOf(some).forEach((known, row) => {
          expect(known).toStrictEqual(all.turns.events(row).slice(0, known.length));
        });
      }),
    );
  });

  test("reading on gives what reading all at once gives", () => {
    fc.assert(
      fc.property(story, (events) => {
        const lineage = lineageOf([]);
        const rows = new GraphRows(lineage);
        for (const event of events) {
          lineage.add(event);
          rows.update();
        }
        const all = new GraphRows(lineageOf(events));
        expect(lanesOf(rows)).toStrictEqual(lanesOf(all));
        expect(eventsOf(rows)).toStrictEqual(eventsOf(all));
        expect(rows.branches).toStrictEqual(all.branches);
      }),
    );
  });

  test("every event is in one row, rows follow each other on a branch, and only first events have other parents", () => {
    fc.assert(
      fc.property(story, (events) => {
        const rows = new GraphRows(lineageOf(events));
        const { lineage, turns } = rows;
        const all = eventsOf(rows);
        expect(all.flat().sort((a, b) => a - b)).toStrictEqual(events.map((_, event) => event));
        all.forEach((inside, row) => {
          for (const event of inside) expect(turns.of(event)).toBe(row);
          for (const event of inside.slice(1)) expect(lineage.parents(event)).toStrictEqual([lineage.prior(event)]);
          expect(inside.length).toBe(turns.size(row));
        });
      }),
    );
  });

  test("a way to the first row goes over parents, and every lane that it passes in is drawn", () => {
    fc.assert(
      fc.property(story, fc.nat(), (events, from) => {
        const rows = new GraphRows(lineageOf(events));
        const start = from % rows.count;
        const way = new Path(rows, start);
        const chain = new Path(rows, start).all();
        for (const [index, row] of chain.slice(1).entries()) expect(row).toBe(rows.parent(chain[index] as number));
        for (let row = 0; row < rows.count; row++) {
          const piece = way.through(row);
          expect(piece?.startsWith("at")).toBe(chain.includes(row) ? true : piece === undefined ? undefined : false);
          expect(way.has(row)).toBe(chain.includes(row));
          const lane = /^pass (\d+)$/.exec(piece ?? "")?.[1];
          if (lane !== undefined) expect(rows.lanes(row).above).toContain(Number(lane));
        }
      }),
    );
  });

  test("whatever is unfolded, each place of the list has its row or event, and is found again", () => {
    fc.assert(
      fc.property(story, fc.array(fc.nat(), { maxLength: 6 }), (events, some) => {
        const { turns } = new GraphRows(lineageOf(events));
        const unfolded = new Set(some.map((row) => row % turns.count));
        const shown = new ShownRows(turns, unfolded);
        const expected = Array.from({ length: turns.count }, (_, row) => [
          { row },
          ...(unfolded.has(row) && turns.size(row) > 1 ? turns.events(row).map((event) => ({ row, event })) : []),
        ]).flat();
        expect(shown.count).toBe(expected.length);
        expected.forEach((one, index) => {
          expect(shown.at(index)).toStrictEqual(one);
          expect(shown.indexOf(one)).toBe(index);
        });
      }),
    );
  });
});

test("a turn is a model call, what it answered, and the tools it called; the agent's end belongs to it", () => {
  const told = new Story();
  told.tell("a", "session.created");
  told.tell("a", "message.added");
  told.tell("a", "workflow.entered");
  told.tell("a", "model.called");
  told.tell("a", "model.returned", { facts: { outcome: "ok", ms: 900, usage: { input: 10, output: 5, usd: 0.1 } } });
  told.tell("a", "tool.called");
  told.tell("a", "tool.returned", { facts: { outcome: "error", ms: 5 } });
  told.tell("a", "model.called");
  told.tell("a", "model.returned");
  told.tell("a", "agent.stopped");
  told.tell("a", "workflow.left");
  told.tell("a", "tool.called");
  told.tell("a", "tool.returned");
  told.tell("a", "check.called");
  told.tell("a", "check.returned");
  told.tell("a", "note.added");
  const { turns } = new GraphRows(lineageOf(told.events));
  expect(Array.from({ length: turns.count }, (_, row) => turns.events(row))).toStrictEqual([
    [0],
    [1],
    [2, 3, 4, 5, 6],
    [7, 8, 9, 10],
    [11, 12],
    [13, 14],
    [15],
  ]);
  expect([2, 3, 4].map((row) => [turns.isTurn(row), turns.said(row)])).toStrictEqual([
    [true, 4],
    [true, 8],
    [false, 12],
  ]);
  // A second each: the workflow was entered before, and the tool was called after the answer.
  expect(turns.figures(2)).toStrictEqual({ tokens: 15, usd: 0.1, ms: 2000 });
  expect([turns.trouble(2), turns.trouble(3)]).toStrictEqual(["error", undefined]);
});

test("what a rerun reused is as old as its source: the time since then is nobody's", () => {
  const told = new Story();
  const day = 86_400;
  told.tell("a", "model.called", { after: 0 });
  told.tell("a", "model.returned", { after: 2 });
  for (const after of [2, day]) told.tell("a", "tool.called", { after });
  const [reused, again] = told.events.slice(2).map(({ id }) => id);
  told.tell("a", "tool.returned", { after: 5, facts: { call: reused } as Told["facts"] });
  told.tell("a", "tool.returned", { after: day + 1, facts: { call: again } as Told["facts"] });
  const { turns } = new GraphRows(lineageOf(told.events));
  expect(turns.count).toBe(1);
  expect(turns.figures(0).ms).toBe(6000);
});

test("calls that follow each other are a row each; calls at once are one", () => {
  const told = new Story();
  for (const what of ["called", "started", "returned", "called", "returned"]) told.tell("a", `tool.${what}`);
  told.tell("a", "note.added");
  for (const what of ["called", "called", "returned", "returned"]) told.tell("a", `tool.${what}`);
  expect(eventsOf(new GraphRows(lineageOf(told.events)))).toStrictEqual([[0, 1, 2], [3, 4], [5], [6, 7, 8, 9]]);
});

test("a result that nested work came back with begins a row, and what follows it stays with it", () => {
  const told = new Story();
  told.tell("a", "model.called");
  told.tell("a", "model.returned");
  const call = told.tell("a", "tool.called");
  told.tell("a", "tool.called");
  told.tell("n", "session.forked", { parents: [call], data: { nested: true } });
  told.tell("n", "model.called");
  told.tell("n", "model.returned");
  told.tell("a", "tool.returned", { parents: [told.tip("a"), told.tip("n")] });
  told.tell("a", "tool.returned");
  const rows = new GraphRows(lineageOf(told.events));
  expect(eventsOf(rows)).toStrictEqual([[0, 1, 2, 3], [4], [5, 6], [7, 8]]);
  expect(lanesOf(rows).map(({ mark, lane, ends }) => [mark, lane, ends])).toStrictEqual([
    ["event", 0, false],
    ["nested", 1, false],
    ["event", 1, false],
    ["return", 0, false],
  ]);
  expect(rows.lanes(3).links.map(({ kind, ends }) => [kind, ends])).toStrictEqual([
    ["next", false],
    ["return", true],
  ]);
  expect([rows.turns.said(3), rows.next(2), rows.next(0)]).toStrictEqual([7, 3, 3]);
});

test("a branch that comes from one which was rejected says from which step", () => {
  const told = new Story();
  told.tell("a", "session.created");
  const fork = told.tell("b", "session.forked", { parents: [told.tip("a")] });
  told.tell("b", "session.rejected");
  told.tell("c", "session.forked", { parents: [fork] });
  told.tell("d", "session.forked", { parents: [told.tip("a")] });
  const rows = new GraphRows(lineageOf(told.events));
  expect([0, 1, 2, 3, 4].map((row) => rows.source(row))).toStrictEqual([undefined, undefined, undefined, 1, undefined]);
});

test("100 000 events on 1 000 branches are ready at once, and one more costs next to nothing", () => {
  const lineage = new Lineage(syntheticLineage({ events: 100_000, branches: 1000 }));
  const started = performance.now();
  const rows = new GraphRows(lineage);
  const ready = performance.now() - started;
  const way = performance.now();
  const length = new Path(rows, rows.count - 1).all().length;
  const walked = performance.now() - way;
  lineage.add({
    ...{
      id: "f".repeat(64),
      session: lineage.session,
      parents: [lineage.id(lineage.count - 1)],
      step: 9,
      kind: "message.added",
      version: 1,
    },
    ...{ at: new Date().toISOString(), by: "me", facts: {}, data: {} },
  });
  const adding = performance.now();
  rows.update();
  const added = performance.now() - adding;
  console.log(
    `graph: ${lineage.count} events, ${lineage.sessions.length} branches, ${rows.count} rows, ${rows.width} lanes: ${ready.toFixed(0)} ms; ` +
      `the way over ${length} rows ${walked.toFixed(1)} ms; one more event ${added.toFixed(2)} ms`,
  );
  expect(ready).toBeLessThan(5000);
  expect(added).toBeLessThan(200);
});

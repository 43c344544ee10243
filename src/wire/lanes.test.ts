import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EventKind } from "../session/event.ts";
import { type LaneEvent, type LaneRow, Lanes, lanes } from "./lanes.ts";

function event(id: string, session: string, kind: EventKind, parents: readonly string[], data: object = {}): LaneEvent {
  return { id, session, kind, parents, data: data as never };
}

/** Any lineage: each number decides what happens next and to which branch. */
const lineage = fc.array(fc.record({ what: fc.nat(99), where: fc.nat(), with: fc.nat() }), { minLength: 1, maxLength: 60 }).map((moves) => {
  const events: LaneEvent[] = [event("e0", "s0", "session.created", [])];
  const tips = new Map([["s0", "e0"]]);
  let branches = 1;
  for (const move of moves) {
    const sessions = [...tips.keys()];
    const session = sessions[move.where % sessions.length] as string;
    const other = sessions[move.with % sessions.length] as string;
    const past = (events[move.with % events.length] as LaneEvent).id;
    const id = `e${events.length}`;
    const [tip, tipOfOther] = [tips.get(session) as string, tips.get(other) as string];
    const open = (kind: EventKind, parents: readonly string[], data: object): LaneEvent => event(id, `s${branches++}`, kind, parents, data);
    const go = (): LaneEvent => event(id, session, "message.added", [tip]);
    const next = ((): LaneEvent => {
      if (move.what < 25) return open("session.forked", [past], { implicit: move.what < 8 ? true : undefined, nested: move.what > 18 });
      if (move.what < 30) return open("session.detached", [], { from: { session, head: past } });
      if (move.what < 33) return open("session.created", [], {});
      if (move.what < 45) return other === session ? go() : event(id, session, "session.merged", [tip, tipOfOther]);
      if (move.what < 52) return other === session ? go() : event(id, session, "session.merged", [tipOfOther, tip], { adopt: true });
      if (move.what < 58) return event(id, session, "session.rejected", [tip], { reason: "no" });
      if (move.what < 65) return other === session ? go() : event(id, session, "do.returned", [tip, tipOfOther]);
      return go();
    })();
    events.push(next);
    tips.set(next.session, id);
  }
  return events;
});

const linesInto = (row: LaneRow): readonly number[] => row.links.flatMap((link) => (link.lane === undefined ? [] : [link.lane]));

describe("lanes of any lineage", () => {
  test("appending never moves earlier rows", () => {
    fc.assert(
      fc.property(lineage, fc.nat(), (events, cut) => {
        const k = cut % (events.length + 1);
        expect(lanes(events.slice(0, k))).toStrictEqual(lanes(events).slice(0, k));
      }),
    );
  });

  test("one row at a time gives what all at once give, and again the same", () => {
    fc.assert(
      fc.property(lineage, (events) => {
        const drawing = new Lanes();
        expect(events.map((one) => drawing.add(one))).toStrictEqual(lanes(events));
      }),
    );
  });

  test("every line is connected: its lane is drawn in each row between the two events", () => {
    fc.assert(
      fc.property(lineage, (events) => {
        const rows = lanes(events);
        const rowOf = new Map(rows.map((row, index) => [row.event, index]));
        rows.forEach((row, index) => {
          for (const link of row.links) {
            if (link.lane === undefined) continue;
            const start = rowOf.get(link.from) as number;
            const from = rows[start] as LaneRow;
            expect(from.lane).toBe(link.lane);
            expect(from.ends).toBe(false);
            for (const between of rows.slice(start + 1, index)) expect(between.below).toContain(link.lane);
          }
        });
      }),
    );
  });

  test("what one row shows below is what the next shows above, and no lane is used twice in a row", () => {
    fc.assert(
      fc.property(lineage, (events) => {
        const rows = lanes(events);
        rows.forEach((row, index) => {
          expect(row.above).toBe(rows[index - 1]?.below ?? row.above);
          expect(row.above).toStrictEqual(index === 0 ? [] : [...new Set(row.above)].sort((x, y) => x - y));
          expect([row.above.includes(row.lane), row.below.includes(row.lane)]).toEqual([!row.begins, !row.ends]);
          for (const link of row.links) if (link.ends) expect(row.below).not.toContain(link.lane);
        });
      }),
    );
  });

  test("a line is missing only where its branch had ended", () => {
    fc.assert(
      fc.property(lineage, (events) => {
        const ended = new Set<string>();
        const sessionOf = new Map(events.map((one) => [one.id, one.session]));
        for (const row of lanes(events)) {
          for (const link of row.links) if (link.lane === undefined) expect(ended).toContain(sessionOf.get(link.from));
          for (const link of row.links) if (link.ends) ended.add(sessionOf.get(link.from) as string);
          if (row.ends) ended.add(row.session);
        }
      }),
    );
  });
});

describe("lanes", () => {
  test("a fork takes the lowest free lane and gives it back when it is merged", () => {
    const rows = lanes([
      event("a", "root", "session.created", []),
      event("b", "left", "session.forked", ["a"]),
      event("c", "right", "session.forked", ["a"]),
      event("d", "left", "session.merged", ["b", "c"]),
      event("e", "again", "session.forked", ["d"]),
    ]);
    expect(rows.map((row) => [row.mark, row.lane])).toEqual([
      ["root", 0],
      ["fork", 1],
      ["fork", 2],
      ["merge", 1],
      ["fork", 2],
    ]);
    expect(rows[3]?.links).toEqual([
      { from: "b", lane: 1, kind: "next", ends: false },
      { from: "c", lane: 2, kind: "merge", ends: true },
    ]);
  });

  test("a merge of an older place leaves the branch drawn", () => {
    const rows = lanes([
      event("a", "root", "session.created", []),
      event("b", "left", "session.forked", ["a"]),
      event("c", "left", "message.added", ["b"]),
      event("d", "root", "session.merged", ["a", "b"]),
    ]);
    expect(rows[3]?.links.map(linkEnd)).toEqual([false, false]);
    expect(rows[3]?.below).toEqual([0, 1]);
  });

  test("an adopted winner ends in the branch it won; a rejected one ends by itself", () => {
    const rows = lanes([
      event("a", "root", "session.created", []),
      event("b", "won", "session.forked", ["a"]),
      event("c", "lost", "session.forked", ["a"]),
      event("d", "lost", "session.rejected", ["c"], { reason: "slow" }),
      event("e", "root", "session.merged", ["b", "a"], { adopt: true }),
    ]);
    expect(rows[3]).toMatchObject({ mark: "reject", lane: 2, ends: true, below: [0, 1] });
    expect(rows[4]).toMatchObject({ mark: "adopt", lane: 0, below: [0] });
    expect(linesInto(rows[4] as LaneRow)).toEqual([1, 0]);
  });

  test("nested work leaves its call and comes back with the result", () => {
    const rows = lanes([
      event("a", "root", "do.called", []),
      event("b", "inner", "session.forked", ["a"], { nested: true }),
      event("c", "root", "do.returned", ["a", "b"]),
    ]);
    expect(rows.map((row) => row.mark)).toEqual(["event", "nested", "return"]);
    expect(rows[2]?.below).toEqual([0]);
  });

  test("an erased event is drawn as what its kind tells", () => {
    const gone: LaneEvent = { id: "b", session: "x", kind: "session.forked", parents: ["a"], data: undefined as never };
    expect(lanes([event("a", "root", "session.created", []), gone])[1]).toMatchObject({ mark: "fork", lane: 1 });
  });
});

function linkEnd(link: { readonly ends: boolean }): boolean {
  return link.ends;
}

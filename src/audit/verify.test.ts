import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dataOf, envelopeOf, Forgery, forgeable, sealed } from "../../test/support/forgery.ts";
import { composeRath } from "../openrath.ts";
import { Key, orderDigest } from "../runtime/key.ts";
import type { Rath } from "../runtime/rath.ts";
import type { Envelope } from "../session/codec.ts";
import type { DataOf } from "../session/event.ts";
import type { Session } from "../session/session.ts";
import type { RunRow, StoredEvent } from "../store/store.ts";
import { Workflow } from "../workflow/workflow.ts";
import { verify } from "./verify.ts";

class Report extends Workflow {
  async forward(session: Session): Promise<Session> {
    const draft = await session.do("draft", () => "a long text ".repeat(500), { input: { topic: "rain" } });
    draft.fork("short").reject("too short");
    const asked = await draft.ask("Publish it?");
    return asked.do("publish", () => "published");
  }
}

const store = forgeable();
let rath: Rath;
let session: Session;
let forgery: Forgery;
let openStatement = "";
let run = "";
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-verify-"));
  const key = new Key(undefined);
  rath = composeRath({ store, implicitForks: "allow" }, { openKey: async () => key });
  const begun = await rath.session("Write a report", { title: "report", tags: ["r"] }).do("prepare", () => 1);
  const started = await rath.run(new Report(), begun);
  run = started.id;
  const settled = await started.settle();
  if (settled.status !== "waiting") throw new Error(settled.status);
  openStatement = (await verify(settled.session)).statement as string;
  await rath.decide(settled.pending[0]?.id as string, { by: "p1", answer: "yes" });
  session = await started.result();
});

afterAll(async () => {
  await rath.close();
  await rm(folder, { recursive: true, force: true });
});

/** The problems after a change of everything stored. */
async function problemsAfter(...change: Parameters<typeof verifiedAfter>) {
  return (await verifiedAfter(...change)).problems;
}

async function verifiedAfter(change: (forgery: Forgery) => unknown, options: Parameters<typeof verify>[1] = {}, of = session) {
  store.forgery = await Forgery.of(store);
  forgery = store.forgery;
  try {
    await change(forgery);
    return await verify(of, options);
  } finally {
    store.forgery = undefined;
  }
}

const only = (events: readonly StoredEvent[]): StoredEvent => events[0] as StoredEvent;
const journal = (from: Forgery): StoredEvent[] => from.log(run).events;
function mark(all: Forgery, status: RunRow["status"]): void {
  all.runs = all.runs.map((row) => (row.id === run ? { ...row, status } : row));
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}

/** The same event with other content, under the id that it then has. */
function resealed(event: StoredEvent, change: Partial<Envelope>, data = dataOf(event)): StoredEvent {
  return sealed({ ...envelopeOf(event), ...change }, data, event);
}

function statementOf(event: StoredEvent): DataOf<"run.signed"> {
  return JSON.parse(dataOf(event)) as DataOf<"run.signed">;
}

describe("verify", () => {
  it("finds nothing wrong with what was written, and counts it", async () => {
    const verified = await verify(session);
    expect(verified).toMatchObject({ ok: true, problems: [], unsigned: 0 });
    expect(String(verified)).toMatch(/^intact: \d+ events checked, all signed$/);
    expect(verified.events).toBe((await Forgery.of(store)).events.length);
    expect(JSON.parse(verified.statement as string).statement).toMatchObject({ state: "final", number: 2 });
  });

  it("counts what no statement vouches for", async () => {
    const more = await session.fork("more").do("more", () => 1);
    expect(await verify(more)).toMatchObject({ ok: true, unsigned: 3 });
  });

  it("says that a head is not stored yet", async () => {
    const { ok, problems } = await verify(session.fork("unsaved"));
    expect(ok).toBe(false);
    expect(problems).toMatchObject([{ event: expect.any(String), problem: expect.stringContaining("is not stored yet") }]);
  });

  const changes: [string, (forgery: Forgery) => unknown, RegExp][] = [
    [
      "a changed byte in an envelope",
      (all) => all.replace(only(all.ofKind("do.called")), { envelope: flipped(only(all.ofKind("do.called")).envelope, 30) }),
      /its envelope was changed/,
    ],
    [
      "a changed byte in the data",
      (all) => all.replace(only(all.ofKind("do.called")), { data: flipped(only(all.ofKind("do.called")).data as Uint8Array, 30) }),
      /its data or salt was changed/,
    ],
    [
      "a changed salt",
      (all) => all.replace(only(all.ofKind("do.called")), { data: flipped(only(all.ofKind("do.called")).data as Uint8Array, 3) }),
      /its data or salt was changed/,
    ],
    [
      "an envelope that is no JSON",
      (all) => all.replace(only(all.ofKind("do.called")), { envelope: Buffer.from("{") }),
      /its envelope is not JSON/,
    ],
    [
      "an envelope that is not UTF-8",
      (all) => all.replace(only(all.ofKind("do.called")), { envelope: Buffer.from([0xff, 0xfe]) }),
      /its envelope is not UTF-8/,
    ],
    ["data without a salt", (all) => all.replace(only(all.ofKind("do.called")), { data: Buffer.from("short") }), /shorter than its salt/],
    [
      "a blob that was changed",
      (all) => {
        for (const [hash, bytes] of all.blobs) all.blobs.set(hash, flipped(bytes, 100));
      },
      /blob [0-9a-f]{64} was changed/,
    ],
    ["a blob that is missing", (all) => all.blobs.clear(), /blob [0-9a-f]{64} is missing/],
    [
      "a log listed under another parent",
      (all) => {
        const log = all.log(only(all.ofKind("session.forked")).session);
        log.row = { ...log.row, parent: "elsewhere" };
      },
      /listed as a continuation of elsewhere/,
    ],
    [
      "an event stored at another step",
      (all) => all.replace(only(all.ofKind("message.added")), { step: 7 }),
      /stored at step 7, but its envelope says 2/,
    ],
    ["a deleted first event", (all) => all.remove(only(all.ofKind("session.created"))), /its parent is missing/],
    ["a deleted answer", (all) => all.remove(only(all.ofKind("answer.given"))), /the answer it names is missing/],
    ["an event without a run", (all) => all.replace(only(all.ofKind("ask.called")), { run: undefined }), /no run wrote it/],
    [
      "a swapped order of delivery",
      (all) => {
        const [a, b] = [only(all.ofKind("ask.called")), only(all.ofKind("ask.returned"))];
        all.replace(a, { order: b.order });
        all.replace(b, { order: a.order });
      },
      /another order of them/,
    ],
    ["two events at one place of the order", (all) => all.replace(only(all.ofKind("ask.called")), { order: 3 }), /it has the same place 3/],
    ["a removed run.ended", (all) => all.remove(only(all.ofKind("run.ended"))), /run.ended is missing/],
    ["a removed first statement", (all) => all.remove(only(all.ofKind("run.signed"))), /statement 2 follows statement 0/],
    ["a removed final statement", (all) => all.remove(all.ofKind("run.signed")[1] as StoredEvent), /its final statement is missing/],
    ["a removed run.started", (all) => all.remove(only(all.ofKind("run.started"))), /does not begin with run.started/],
    ["a removed log of the run", (all) => (all.logs = all.logs.filter(({ row }) => row.id !== run)), /the own log of the run is missing/],
  ];
  for (const [name, change, problem] of changes) {
    it(`names the place of ${name}`, async () => {
      const problems = await problemsAfter(change);
      expect(problems.map((one) => one.problem).join("\n")).toMatch(problem);
      for (const { event } of problems) expect(event).toMatch(/^([0-9a-f]{64}|[0-9a-f-]{36})$/);
    });
  }

  it("names the event after one that was deleted from the middle", async () => {
    let after = "";
    const problems = await problemsAfter((all) => {
      const events = all.log(session.id).events;
      after = (events[3] as StoredEvent).id;
      events.splice(2, 1);
    });
    expect(problems.filter((one) => one.event === after).map((one) => one.problem)).toEqual([
      expect.stringContaining("its parent is missing"),
      expect.stringContaining("does not continue"),
      expect.stringContaining("a call that is not before it"),
    ]);
  });

  it("names the head when the last event was deleted", async () => {
    const problems = await problemsAfter((all) => all.log(session.id).events.pop());
    expect(problems[0]).toMatchObject({
      event: session.head,
      problem: expect.stringContaining(`the head of session ${session.id} is missing`),
    });
  });

  it("names both of two events that were swapped", async () => {
    let ids: string[] = [];
    const problems = await problemsAfter((all) => {
      const events = all.log(session.id).events;
      const [a, b] = [events[2] as StoredEvent, events[3] as StoredEvent];
      events[2] = b;
      events[3] = a;
      ids = [a.id, b.id];
    });
    for (const id of ids)
      expect(problems).toContainEqual(expect.objectContaining({ event: id, problem: expect.stringContaining("does not continue") }));
  });

  it("names a foreign event whose hash holds but whose parent is another", async () => {
    let added = "";
    const problems = await problemsAfter((all) => {
      const events = all.log(session.id).events;
      const model = events[1] as StoredEvent;
      const foreign = {
        ...resealed(model, { parents: [(events[0] as StoredEvent).id], step: 2, at: "2026-12-01T00:00:00.000Z" }),
        order: 900,
      };
      events.splice(3, 0, foreign);
      added = foreign.id;
    });
    expect(problems).toContainEqual(expect.objectContaining({ event: added, problem: expect.stringContaining("does not continue") }));
  });

  it("names an event that somebody added to a run which had ended", async () => {
    let added = "";
    const problems = await problemsAfter((all) => {
      const events = all.log(session.id).events;
      const last = events.at(-1) as StoredEvent;
      const order = Math.max(...all.ofRun(run).map((event) => event.order)) + 1;
      const note = {
        ...resealed(last, { kind: "note.added", parents: [last.id], step: last.step + 1 }, '{"text":"by the way"}'),
        order,
        run,
      };
      events.push(note);
      added = note.id;
    });
    expect(problems).toMatchObject([{ event: added, problem: expect.stringContaining("after the run's final statement") }]);
  });

  it("names a wrong step, time, kind, version and shape although the hashes hold", async () => {
    const head = async (fields: Partial<Envelope>, data?: string): Promise<string> => {
      const problems = await problemsAfter((all) => {
        const last = all.log(session.id).events.at(-1) as StoredEvent;
        all.replace(last, { ...resealed(last, fields, data), id: last.id });
      });
      return problems.map((one) => one.problem).join("\n");
    };
    expect(await head({ step: 99 })).toMatch(/its step is 99, after its parents it must be \d+/);
    expect(await head({ at: "2020-01-01T00:00:00.000Z" })).toMatch(/its time 2020-01-01T00:00:00.000Z is before/);
    expect(await head({ kind: "future.happened" as never })).toMatch(
      /event kind "future.happened" is not known to this version of openrath: update openrath/,
    );
    expect(await head({ version: 2 })).toMatch(/has version 2, this openrath reads up to 1: update openrath/);
    expect(await head({}, '{"entered":5}')).toMatch(/its data.entered does not have the shape/);
    expect(await head({}, '{ "entered":"x" }')).toMatch(/its data is not canonical JSON/);
    expect(await head({}, `${"[".repeat(20_000)}${"]".repeat(20_000)}`)).toMatch(/its data is not canonical JSON/);
    expect(await head({}, '{"$":"utf16"}')).toMatch(/its data cannot be decoded/);
  });

  it("names a changed statement, a changed signature and an unknown key", async () => {
    const resigned = (edit: (signed: DataOf<"run.signed">) => DataOf<"run.signed">) => (all: Forgery) => {
      const last = journal(all).at(-1) as StoredEvent;
      all.replace(last, resealed(last, {}, JSON.stringify(edit(statementOf(last)))));
    };
    const text = async (edit: (signed: DataOf<"run.signed">) => DataOf<"run.signed">, options = {}) =>
      (await problemsAfter(resigned(edit), options)).map((one) => one.problem);
    const canonical = ({ statement, signature }: DataOf<"run.signed">) =>
      ({
        signature,
        statement: Object.fromEntries(Object.entries(statement).sort(([a], [b]) => (a < b ? -1 : 1))),
      }) as DataOf<"run.signed">;
    expect(await text((signed) => canonical({ ...signed, statement: { ...signed.statement, time: "2026-01-01T00:00:00.000Z" } }))).toEqual([
      expect.stringContaining("signature does not hold"),
    ]);
    expect(
      await text((signed) => canonical({ ...signed, signature: signed.signature.replace(/^./, (first) => (first === "A" ? "B" : "A")) })),
    ).toEqual([expect.stringContaining("signature does not hold")]);
    const other = new Key(undefined);
    const forge = (signed: DataOf<"run.signed">) => {
      const statement = { ...signed.statement, key: other.id };
      return canonical({ statement, signature: other.sign(statement) });
    };
    const found = await verifiedAfter(resigned(forge));
    expect(found).toMatchObject({ ok: false, problems: [], unknownKeys: [other.id], unsigned: 7 });
    expect(String(found)).toContain(`not proven: nothing is wrong, but it is signed by 1 key not known here: ${other.id}`);
    // They are signed: it is not known by whom. Nothing came after the newest statement.
    expect((await verifiedAfter(resigned(forge))).unchecked).toEqual([
      { part: "keys", count: 1, why: "key that signed 7 events and is not known here: only you can say whether it is trusted" },
      { part: "anchor", count: 1, why: expect.stringContaining("no anchor was given") },
    ]);
    expect(await verifiedAfter(resigned(forge), { keys: [other.id] })).toMatchObject({ ok: true, unknownKeys: [], unsigned: 0 });
    // Base64 with other signs in it is the same key to a lenient reader, and would be shown to people in a command.
    const odd = `${other.id.slice(0, 20)};. ~/x;${other.id.slice(20)}`;
    const forgeOdd = (signed: DataOf<"run.signed">) => {
      const statement = { ...signed.statement, key: odd };
      return canonical({ statement, signature: other.sign(statement) });
    };
    expect((await verifiedAfter(resigned(forgeOdd))).problems).toMatchObject([{ problem: expect.stringContaining("not an ed25519") }]);
  });

  it("shows a record that was cut back to an older statement only against an anchor", async () => {
    const { statement } = await verify(session);
    const cut = (all: Forgery): void => {
      const last = (journal(all).find((event) => envelopeOf(event).kind === "run.signed") as StoredEvent).order;
      for (const event of all.ofRun(run)) if (event.order > last) all.remove(event);
      mark(all, "waiting");
    };
    const older = session.at((JSON.parse(openStatement) as DataOf<"run.signed">).statement.head);
    expect(await problemsAfter(cut, {}, older)).toEqual([]);
    expect(await problemsAfter(cut, { anchor: openStatement }, older)).toEqual([]);
    expect(await problemsAfter(cut, { anchor: statement }, older)).toMatchObject([
      { event: expect.any(String), problem: expect.stringContaining("was cut back or changed since the anchor was made") },
    ]);
    const file = join(folder, "anchors.jsonl");
    await writeFile(file, `${openStatement}\n${statement}\n`);
    expect((await verify(session, { anchor: file })).problems).toEqual([]);
    expect(await problemsAfter(cut, { anchor: file }, older)).toHaveLength(1);
  });

  it("names a run that is marked as ended although its end was cut off, and one that is marked otherwise than it ended", async () => {
    const cut = (status: string) => (all: Forgery) => {
      const last = (journal(all).find((event) => envelopeOf(event).kind === "run.signed") as StoredEvent).order;
      for (const event of all.ofRun(run)) if (event.order > last) all.remove(event);
      mark(all, status);
    };
    const older = session.at((JSON.parse(openStatement) as DataOf<"run.signed">).statement.head);
    for (const status of ["done", "failed", "cancelled"])
      expect(await problemsAfter(cut(status), {}, older)).toMatchObject([
        { event: run, problem: `the run is marked ${status} but its end is missing` },
      ]);
    expect(await problemsAfter(cut("running"), {}, older)).toEqual([]);
    const marked = (all: Forgery) => mark(all, "failed");
    expect(await problemsAfter(marked)).toMatchObject([{ event: run, problem: "the run is marked failed but it ended as done" }]);
  });

  it("judges anchors by what they cover even where the statement itself is gone", async () => {
    const statement = (await verify(session)).statement as string;
    const withoutLast = (all: Forgery): void => all.remove(journal(all).at(-1) as StoredEvent);
    const problems = await problemsAfter(withoutLast, { anchor: statement });
    expect(problems.map((one) => one.problem)).toEqual([expect.stringContaining("its final statement is missing")]);
    expect(orderDigest("", [])).toHaveLength(64);
  });

  it("refuses anchors that are no statements, are forged or cannot be read", async () => {
    const { statement } = await verify(session);
    const forged = (statement as string).replace('"step":', '"step":1');
    for (const anchor of ["{}", "{", "/nowhere/anchor", forged]) {
      const { ok, problems } = await verify(session, { anchor });
      expect(ok).toBe(false);
      expect(problems).toMatchObject([{ event: "anchor", problem: expect.any(String) }]);
    }
  });

  it("names titles, tags and principals that are listed otherwise than they were recorded", async () => {
    const problems = await problemsAfter((all) => {
      const log = all.log(session.id);
      log.row = { ...log.row, title: "other", tags: ["x"], principal: "p" };
    });
    expect(problems.map(({ kind, event, field }) => [kind, event, field])).toEqual(
      ["title", "tags", "principal"].map((field) => ["listed", session.id, field]),
    );
  });

  it("names the place of a problem, what it means and what to do", async () => {
    let place: unknown;
    const [problem] = await problemsAfter((all) => {
      const called = only(all.ofKind("do.called"));
      place = { event: called.id, session: called.session, step: called.step };
      all.replace(called, { data: flipped(called.data as Uint8Array, 30) });
    });
    expect(problem).toMatchObject({ ...(place as object), kind: "changed", field: "data" });
    expect(problem?.means).toMatch(/is not what was written/);
    expect(problem?.next).toMatch(/backup/);
  });

  it("says what it looked at and what it did not", async () => {
    const { checked, unchecked } = await verify(session);
    expect(checked).toMatchObject({ blobs: 1, trees: 0, files: 0, statements: 2, runs: 2, answers: 1, replayed: 0 });
    expect(unchecked.map(({ part, count }) => [part, count])).toEqual([["anchor", 1]]);
    const more = await session.fork("more").do("more", () => 1);
    expect((await verify(more, { anchor: openStatement })).unchecked).toMatchObject([{ part: "signatures", count: 3 }]);
  });

  it("tells how far it has come", async () => {
    let told = 0;
    let long: Session = session.fork("long");
    for (let index = 0; index < 1100; index++) long = long.note("n");
    const { events } = await verify(await long.do("end", () => 1), { onProgress: (more) => (told += more) });
    expect(told).toBe(Math.floor(events / 1000) * 1000);
  });

  it("misses data that no erasure on record names", async () => {
    expect(
      await problemsAfter((all) => {
        for (const event of all.ofKind("message.added").slice(0, 1)) all.replace(event, { data: undefined });
        for (const event of all.ofKind("do.returned").slice(0, 1)) all.replace(event, { data: undefined, erased: "e".repeat(64) });
      }),
    ).toMatchObject(Array(2).fill({ problem: "its data is missing and no erasure on record names it" }));
  });
});

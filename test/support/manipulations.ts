/** What somebody may do to a store: each changes all that it holds, somewhere that chance decides. */
import type { RunRow, StoredEvent } from "../../src/store/store.ts";
import type { Random } from "../simulation/random.ts";
import { dataOf, envelopeOf, type ForgedLog, type Forgery, sealed } from "./forgery.ts";

function below(chance: Random, limit: number): number {
  return chance.between(0, limit - 1);
}

function flipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[at] = (copy[at] as number) ^ (1 << bit);
  return copy;
}

/** What is done, and what must be named as its place: an event, a log or a run. Nothing is said where any place will do. */
export type Manipulate = (all: Forgery, chance: Random) => string | undefined;

const sessions = (all: Forgery): ForgedLog[] => all.logs.filter(({ row, events }) => row.log === "session" && events.length > 2);
const withData = (all: Forgery): StoredEvent[] => all.events.filter((event) => event.data !== undefined && dataOf(event) !== "{}");
const endedRun = (all: Forgery, chance: Random): RunRow => chance.pick(all.runs.filter(({ status }) => status === "done"));
/** Events that rest on nothing which names itself by them, so that a forger can rewrite them and all that follows. */
const rewritable = (all: Forgery): StoredEvent[] =>
  all.events.filter((event) => !/^run\.|^session\.(?:forked|created)/.test(envelopeOf(event).kind));

/** Each is found without anything kept elsewhere. */
export const manipulations: Readonly<Record<string, readonly [number, Manipulate]>> = {
  "a bit of an envelope": [
    12,
    (all, chance) => {
      const event = chance.pick(all.events);
      all.replace(event, { envelope: flipped(event.envelope, below(chance, event.envelope.length), below(chance, 8)) });
      return event.id;
    },
  ],
  "a bit of the data": [
    12,
    (all, chance) => {
      const event = chance.pick(withData(all));
      const data = event.data as Uint8Array;
      all.replace(event, { data: flipped(data, 16 + below(chance, data.length - 16), below(chance, 8)) });
      return event.id;
    },
  ],
  "a bit of a salt": [
    6,
    (all, chance) => {
      const event = chance.pick(all.events);
      all.replace(event, { data: flipped(event.data as Uint8Array, below(chance, 16), below(chance, 8)) });
      return event.id;
    },
  ],
  "a digit of an id": [
    4,
    (all, chance) => {
      const event = chance.pick(all.events);
      const at = below(chance, 64);
      const id = `${event.id.slice(0, at)}${event.id[at] === "0" ? "1" : "0"}${event.id.slice(at + 1)}`;
      all.replace(event, { id });
      return id;
    },
  ],
  "a bit of a blob": [
    5,
    (all, chance) => {
      const [name, bytes] = chance.pick([...all.blobs]);
      all.blobs.set(name, flipped(bytes, below(chance, bytes.length), below(chance, 8)));
      return undefined;
    },
  ],
  "a removed blob": [
    3,
    (all, chance) => {
      all.blobs.delete(chance.pick([...all.blobs.keys()]));
      return undefined;
    },
  ],
  "swapped blobs of equal length": [
    3,
    (all, chance) => {
      const [a] = chance.pick(
        [...all.blobs].filter(([name, { length }]) => [...all.blobs].some(([other, bytes]) => other !== name && bytes.length === length)),
      );
      const length = all.blobs.get(a)?.length;
      const b = chance.pick([...all.blobs.keys()].filter((name) => name !== a && all.blobs.get(name)?.length === length));
      const [left, right] = [all.blobs.get(a) as Uint8Array, all.blobs.get(b) as Uint8Array];
      all.blobs.set(a, right).set(b, left);
      return undefined;
    },
  ],
  "swapped neighbours in a log": [
    6,
    (all, chance) => {
      const { events } = chance.pick(sessions(all));
      const at = below(chance, events.length - 1);
      const [a, b] = [events[at] as StoredEvent, events[at + 1] as StoredEvent];
      [events[at], events[at + 1]] = [b, a];
      return b.id;
    },
  ],
  "a swapped order of delivery": [
    6,
    (all, chance) => {
      const events = all.ofRun(endedRun(all, chance).id);
      const at = below(chance, events.length - 2);
      const [a, b] = [events[at] as StoredEvent, events[at + 1] as StoredEvent];
      all.replace(a, { order: b.order });
      all.replace(b, { order: a.order });
      return undefined;
    },
  ],
  "an event dropped from the middle": [
    6,
    (all, chance) => {
      const { events } = chance.pick(sessions(all));
      const at = 1 + below(chance, events.length - 2);
      const after = events[at + 1] as StoredEvent;
      events.splice(at, 1);
      return after.id;
    },
  ],
  "an event stored twice": [
    4,
    (all, chance) => {
      const event = chance.pick(all.events);
      const other = chance.pick(sessions(all).filter(({ row }) => row.id !== event.session));
      other.events.push({ ...event, session: other.row.id, step: (other.events.at(-1)?.step ?? 0) + 1 });
      return undefined;
    },
  ],
  "an event moved to another log": [
    4,
    (all, chance) => {
      const { events, row } = chance.pick(sessions(all));
      const other = chance.pick(sessions(all).filter((log) => log.row.id !== row.id));
      const moved = events.pop() as StoredEvent;
      other.events.push({ ...moved, session: other.row.id });
      return moved.id;
    },
  ],
  "an event at another step": [
    3,
    (all, chance) => {
      const { events } = chance.pick(sessions(all));
      const last = events.at(-1) as StoredEvent;
      all.replace(last, { step: last.step + 1 + below(chance, 9) });
      return last.id;
    },
  ],
  "an event said to be of another run": [
    3,
    (all, chance) => {
      const [a, b] = all.runs as [RunRow, RunRow];
      const event = chance.pick(all.ofRun(a.id).filter(({ session }) => session !== a.id));
      all.replace(event, { run: b.id });
      return undefined;
    },
  ],
  "a message rewritten with all that rests on it": [
    4,
    (all, chance) => {
      all.rewrite(
        chance.pick(all.ofKind("message.added").filter(({ run }) => run !== undefined && all.runs.some(({ id }) => id === run))),
        {},
        '{"parts":[{"text":"Stop","type":"text"}],"role":"user"}',
      );
      return undefined;
    },
  ],
  "a result rewritten with all that rests on it": [
    5,
    (all, chance) => {
      all.rewrite(
        chance.pick(all.ofKind("do.returned").filter(({ run }) => all.runs.some(({ id }) => id === run))),
        {},
        '{"value":"forged"}',
      );
      return undefined;
    },
  ],
  "forged parents with all that rests on them": [
    5,
    (all, chance) => {
      const { events } = all.log(chance.pick(all.runs).session);
      const at = 2 + below(chance, events.length - 3);
      const event = events[at] as StoredEvent;
      all.rewrite(event, { parents: [...envelopeOf(event).parents, (events[at - 2] as StoredEvent).id] as never });
      return undefined;
    },
  ],
  "a time rewritten with all that rests on it": [
    3,
    (all, chance) => {
      all.rewrite(chance.pick(rewritable(all).filter(({ run }) => all.runs.some(({ id }) => id === run))), {
        at: "2031-01-01T00:00:00.000Z",
      });
      return undefined;
    },
  ],
  "a statement of another run in its place": [
    3,
    (all, chance) => {
      const [a, b] = [
        chance.pick(all.ofKind("run.signed").filter(({ run }) => run === all.runs[0]?.id)),
        chance.pick(all.ofKind("run.signed").filter(({ run }) => run === all.runs[1]?.id)),
      ];
      all.rewrite(a, {}, dataOf(b));
      return undefined;
    },
  ],
  "an older statement in place of a newer one": [
    3,
    (all, chance) => {
      const signed = all.ofKind("run.signed").filter(({ run }) => run === endedRun(all, chance).id);
      const at = 1 + below(chance, signed.length - 1);
      all.rewrite(signed[at] as StoredEvent, {}, dataOf(signed[below(chance, at)] as StoredEvent));
      return undefined;
    },
  ],
  "a removed statement": [
    3,
    (all, chance) => {
      all.remove(chance.pick(all.ofKind("run.signed")));
      return undefined;
    },
  ],
  "answers swapped between questions": [
    2,
    (all, chance) => {
      const logs = all.logs.filter(({ row }) => row.log === "answer");
      const a = chance.pick(logs);
      const b = chance.pick(logs.filter((log) => log !== a));
      [a.events, b.events] = [
        b.events.map((event) => ({ ...event, session: a.row.id })),
        a.events.map((event) => ({ ...event, session: b.row.id })),
      ];
      return undefined;
    },
  ],
  "an approval turned into a refusal, with all that rests on it": [
    3,
    (all, chance) => {
      const given = chance.pick(all.ofKind("answer.given").filter((event) => dataOf(event).includes('"approve":true')));
      all.rewrite(given, {}, dataOf(given).replace('"approve":true', '"approve":false'));
      return undefined;
    },
  ],
  "a removed answer": [
    3,
    (all, chance) => {
      all.remove(chance.pick(all.ofKind("answer.given")));
      return undefined;
    },
  ],
  "another title, tag or principal": [
    5,
    (all, chance) => {
      const log = all.log(chance.pick(all.runs).session);
      log.row = { ...log.row, ...chance.pick([{ title: "Other" }, { tags: ["t", "u"] }, { principal: "root" }, { title: undefined }]) };
      return log.row.id;
    },
  ],
  "another parent": [
    2,
    (all, chance) => {
      const log = chance.pick(all.logs.filter(({ row }) => row.parent !== undefined));
      log.row = { ...log.row, parent: chance.pick([undefined, "00000000-0000-7000-8000-000000000000"]) };
      return log.row.id;
    },
  ],
  "another row of a run": [
    5,
    (all, chance) => {
      const run = chance.pick(all.runs);
      const change = chance.pick<Partial<RunRow>>([
        { status: "failed" },
        { workflow: "other" },
        { session: all.runs.find(({ id }) => id !== run.id)?.session as string },
        { key: undefined },
      ]);
      all.runs[all.runs.indexOf(run)] = { ...run, ...change };
      return run.id;
    },
  ],
  "a tree of files with another entry, named anew": [
    3,
    (all, chance) => {
      const event = chance.pick(all.ofKind("tool.returned").filter((one) => dataOf(one).includes('"after"')));
      const [tree] = [...dataOf(event).matchAll(/\b[0-9a-f]{64}\b/g)]
        .map(([hash]) => hash)
        .filter((hash) => hash !== undefined && all.blobs.has(hash));
      const other = chance.pick([...all.blobs.keys()].filter((name) => name !== tree));
      all.rewrite(event, {}, dataOf(event).replaceAll(tree as string, other));
      return undefined;
    },
  ],
  "another memory": [
    3,
    (all, chance) => {
      const event = chance.pick(all.ofKind("remember.called"));
      const forged = Buffer.from(dataOf(event).replace("noon", "nine"));
      all.replace(event, { data: Buffer.concat([(event.data as Uint8Array).subarray(0, 16), forged]) });
      return event.id;
    },
  ],
  "a removed branch": [
    3,
    (all, chance) => {
      const gone = chance.pick(all.logs.filter(({ row }) => row.log === "session" && row.parent !== undefined));
      all.logs = all.logs.filter((log) => log !== gone);
      return undefined;
    },
  ],
  "a removed log of a run": [
    2,
    (all, chance) => {
      const gone = chance.pick(all.runs).id;
      all.logs = all.logs.filter(({ row }) => row.id !== gone);
      return gone;
    },
  ],
};

/** What holds by itself and is found only against what was kept elsewhere. */
export const cuts: Readonly<Record<string, readonly [number, Manipulate]>> = {
  "a run cut back to an older statement": [
    4,
    (all, chance) => {
      const run = endedRun(all, chance);
      const signed = all.ofRun(run.id).filter((event) => envelopeOf(event).kind === "run.signed");
      const last = signed[below(chance, signed.length - 1)] as StoredEvent;
      const gone = all.ofRun(run.id).filter((event) => event.order > last.order);
      const questions = new Set(gone.map(({ id }) => id));
      all.remove(...gone);
      // Answers that nobody has asked for any more go too, as a careful forger would have it.
      all.remove(
        ...all.ofKind("answer.given").filter((event) => questions.has((JSON.parse(dataOf(event)) as { question: string }).question)),
      );
      all.runs[all.runs.indexOf(run)] = { ...run, status: "waiting" };
      return undefined;
    },
  ],
  "a run that never was": [
    2,
    (all, chance) => {
      const run = endedRun(all, chance);
      const gone = all.ofRun(run.id);
      const questions = new Set(gone.map(({ id }) => id));
      all.remove(...gone);
      all.remove(
        ...all.ofKind("answer.given").filter((event) => questions.has((JSON.parse(dataOf(event)) as { question: string }).question)),
      );
      all.runs = all.runs.filter(({ id }) => id !== run.id);
      return undefined;
    },
  ],
};

const entries = (all: Forgery): StoredEvent[] => all.ofKind("data.erased").filter((event) => dataOf(event).includes('"events"'));
const listedIn = (entry: StoredEvent): readonly string[] => (JSON.parse(dataOf(entry)) as { events: string[] }).events;
const tombstones = (all: Forgery): StoredEvent[] => all.events.filter(({ erased }) => erased !== undefined);
const erasable = (all: Forgery): StoredEvent[] => withData(all).filter((event) => /^(?:message|do|tool)\./.test(envelopeOf(event).kind));

/** What somebody may do to a store of which parts were erased, so that it looks erased, or not erased. */
export const forgedErasures: Readonly<Record<string, readonly [number, Manipulate]>> = {
  "data removed without an entry": [
    3,
    (all, chance) => {
      const event = chance.pick(erasable(all));
      all.replace(event, { data: undefined });
      return event.id;
    },
  ],
  "data removed that names an entry of something else": [
    3,
    (all, chance) => {
      const event = chance.pick(erasable(all));
      all.replace(event, { data: undefined, erased: chance.pick(entries(all)).id });
      return event.id;
    },
  ],
  "data removed that names an event which is no entry": [
    2,
    (all, chance) => {
      const event = chance.pick(erasable(all));
      all.replace(event, { data: undefined, erased: chance.pick(all.events.filter(({ id }) => id !== event.id)).id });
      return event.id;
    },
  ],
  "an erased event that names no entry any more": [
    2,
    (all, chance) => {
      const event = chance.pick(tombstones(all));
      all.replace(event, { erased: undefined });
      return event.id;
    },
  ],
  "an erased event that names another entry": [
    2,
    (all, chance) => {
      const event = chance.pick(tombstones(all));
      all.replace(event, { erased: chance.pick(entries(all).filter((entry) => !listedIn(entry).includes(event.id))).id });
      return event.id;
    },
  ],
  "other data in the place of what was erased": [
    2,
    (all, chance) => {
      const event = chance.pick(tombstones(all));
      all.replace(event, { data: Buffer.concat([Buffer.alloc(16), Buffer.from('{"value":"never said"}')]), erased: undefined });
      return event.id;
    },
  ],
  "an entry removed": [
    2,
    (all, chance) => {
      const entry = chance.pick(entries(all));
      all.remove(entry);
      return chance.pick(listedIn(entry));
    },
  ],
  "the erasure log removed": [
    1,
    (all, chance) => {
      all.logs = all.logs.filter(({ row }) => row.log !== "erasure");
      return chance.pick(tombstones(all)).id;
    },
  ],
  "the erasure log cut back": [
    1,
    (all) => {
      const log = all.logs.find(({ row }) => row.log === "erasure") as ForgedLog;
      const last = entries(all).at(-1) as StoredEvent;
      log.events = log.events.slice(0, log.events.indexOf(last));
      return listedIn(last)[0];
    },
  ],
  "an entry that lists another event instead, with all that rests on it": [
    2,
    (all, chance) => {
      const entry = chance.pick(entries(all));
      const [gone] = listedIn(entry);
      const other = chance.pick(erasable(all)).id;
      const [before, lists] = [entry.id, tombstones(all).filter(({ erased }) => erased === entry.id)];
      all.rewrite(entry, {}, dataOf(entry).replace(gone as string, other));
      const renamed = entries(all).find((one) => listedIn(one).includes(other))?.id;
      for (const one of lists) all.replace(one, { erased: renamed });
      return before === renamed ? undefined : gone;
    },
  ],
  "a bit of an entry": [
    3,
    (all, chance) => {
      const entry = chance.pick(entries(all));
      const data = entry.data as Uint8Array;
      all.replace(entry, { data: flipped(data, below(chance, data.length), below(chance, 8)) });
      return entry.id;
    },
  ],
  "who erased it, in an entry": [
    2,
    (all, chance) => {
      const entry = chance.pick(entries(all));
      const envelope = Buffer.from(Buffer.from(entry.envelope).toString().replace("human:ada", "human:bob"));
      all.replace(entry, { envelope });
      return entry.id;
    },
  ],
  "a content removed of which no entry speaks": [
    2,
    (all, chance) => {
      all.blobs.delete(chance.pick([...all.blobs.keys()]));
      return undefined;
    },
  ],
};

/** Somebody who may write to the store erases as the runtime does: a place, an entry, and data that is gone. */
export function eraseByHand(all: Forgery): StoredEvent {
  const event = all.ofKind("do.returned").find(({ erased }) => erased === undefined) as StoredEvent;
  const log = all.logs.find(({ row }) => row.log === "erasure") as ForgedLog;
  const last = log.events.at(-1) as StoredEvent;
  const fields = { ...envelopeOf(last), by: "human:mallory", step: last.step + 1, parents: [last.id] as never };
  const entry = sealed(fields, `{"events":["${event.id}"],"reason":"nobody asked"}`, last);
  log.events.push(entry);
  all.replace(event, { data: undefined, erased: entry.id });
  return entry;
}

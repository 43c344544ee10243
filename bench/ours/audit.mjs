// Questions about a large session, each against reading the rows it needs through the store port. A session is open and was looked at
// when it is asked about, and it is asked for the first time; opening it and its newest view are rows of their own, and all of it
// together is shown beside each question.
import { hash } from "node:crypto";
import { join } from "node:path";
import { blame, grep } from "../../dist/audit/audit.js";
import { diff, openrath, verify, why } from "../../dist/index.js";
import { sqliteStore } from "../../dist/store/sqlite.js";
import { sqliteIndex } from "../../dist/store/sqlite-index.js";
import { inDirectory, median, now, progress, settleHeap } from "../measure.mjs";
import { row } from "../report.mjs";
import { asked, path, words, writeLargeSession } from "./audit-session.mjs";
import { openDurable } from "./rounds.mjs";

const SALT_BYTES = 16;

/** What is asked, what a right answer is, and which rows it takes; `about` names branches that are asked about instead. */
const QUESTIONS = {
  "diff of neighbours": {
    about: ({ branches }) => [branches.at(-3), branches.at(-2)],
    rows: ({ differing }, about) => differing(...about),
    judged: "parsed",
    ask: (a, b) => diff(a, b),
    right: ({ events }) => events.length > 0,
  },
  "diff of far branches": {
    about: ({ branches }) => [branches[1], branches.at(-2)],
    rows: ({ differing }, about) => differing(...about),
    judged: "parsed",
    ask: (a, b) => diff(a, b),
    right: ({ events }) => events.length > 0,
  },
  "why a line": {
    rows: ({ lineage }) => lineage,
    ask: (session) => why(session, "notes/answer.md:2"),
    right: ({ hops }) => hops[0]?.event.kind === "tool.returned" && hops.some(({ relation }) => relation === "was-in-context"),
  },
  "why a phrase": {
    rows: ({ lineage }) => lineage,
    ask: (session) => why(session, { answer: words }),
    right: ({ hops }) => hops[0]?.relation === "wrote" && hops.some(({ evidence }) => evidence.file?.path === path),
  },
  blame: {
    rows: ({ lineage }) => lineage,
    ask: (session) => blame(session, path),
    right: (lines) => lines[0]?.text === words,
  },
  verify: { rows: ({ all }) => all, judged: "hashed and parsed", ask: (session) => verify(session), right: ({ ok }) => ok },
  "grep, one hit": {
    rows: ({ once }) => [{ logs: true }, { index: asked.once }, ...once],
    ask: (session) => listed(grep(session, asked.once)),
    right: (hits) => hits.length === 1,
  },
  "grep, 100 hits": {
    rows: ({ often }) => [{ logs: true }, { index: asked.often }, ...often],
    ask: (session) => listed(grep(session, asked.often)),
    right: (hits) => hits.length === 100,
  },
};

export function measure({ quick }) {
  const shape = quick ? { events: 10_000, branches: 100 } : { events: 100_000, branches: 1000 };
  return inDirectory(async (directory) => {
    progress(`writing a session of ${shape.events} events on ${shape.branches} branches`);
    const begin = now();
    const id = await writeLargeSession(directory, shape);
    progress(`it took ${((now() - begin) / 1000).toFixed(1)} s; filling the index of grep`);
    const { known, filling } = await explore(directory, id);
    const times = { directory, id, known, passes: 3 };
    const rows = await opening(times);
    for (const [name, question] of Object.entries(QUESTIONS)) rows.push(...(await compare(times, name, question)));
    rows.push(row("grep, first search, which fills its index", filling, "ms"));
    return rows.map((r) => ({ ...r, name: `${r.name}, ${shape.events} events` }));
  });
}

/** Which rows are behind the session, and which are the answers of `grep`; the first search fills its index. */
async function explore(directory, id) {
  const rath = await openDurable(directory);
  const session = await rath.open(id);
  const logs = new Set();
  for (const event of session.events()) logs.add(event.session);
  const begin = now();
  const hits = async (text) => [{ ids: (await listed(grep(session, text))).map(({ event }) => event) }];
  const once = await hits(asked.once);
  const filling = now() - begin;
  const often = await hits(asked.often);
  const branches = [...logs].filter((log) => log !== id);
  const eventsOf = new Map();
  for (const branch of new Set(Object.values(QUESTIONS).flatMap(({ about }) => about?.({ branches }) ?? [])))
    eventsOf.set(branch, new Map([...(await rath.open(branch)).events()].map((event) => [event.id, event])));
  await rath.close();
  const store = sqliteStore(join(directory, "rath.db"));
  const all = (await listed(store.sessions({}))).map((log) => ({ session: log.id }));
  await store[Symbol.asyncDispose]();
  all.push(...(await blobsRead(directory, [id], (session) => verify(session))));
  const named = new Map();
  for (const { about, ask } of Object.values(QUESTIONS)) {
    const ids = about?.({ branches });
    if (ids !== undefined) named.set(ids.join(), await blobsRead(directory, ids, ask));
  }
  const differing = (a, b) => [
    ...rowsOf([...only(eventsOf.get(a), eventsOf.get(b)), ...only(eventsOf.get(b), eventsOf.get(a))]),
    ...named.get([a, b].join()),
  ];
  return { known: { branches, differing, once, often, all, lineage: [...logs].map((log) => ({ session: log })) }, filling };
}

/** The blobs that a question reads once what it is about was opened and looked at. */
async function blobsRead(directory, ids, ask) {
  const blobs = new Set();
  const store = sqliteStore(join(directory, "rath.db"));
  const noting = { ...store, blob: (name) => store.blob(blobs.add(name) && name) };
  const rath = openrath({ store: noting });
  const sessions = [];
  for (const id of ids) sessions.push(await rath.open(id));
  for (const { usage, status } of sessions) if (usage === undefined || status === undefined) throw new Error("there is nothing to see");
  blobs.clear();
  await ask(...sessions);
  await rath.close();
  return [...blobs].map((blob) => ({ blob }));
}

const only = (events, others) => [...events.values()].filter(({ id }) => !others.has(id));

/** Where events lie: of each log from the first to the last of them. */
function rowsOf(events) {
  const rows = new Map();
  for (const { session, step } of events) {
    const { from, to } = rows.get(session) ?? { from: step, to: step };
    rows.set(session, { session, from: Math.min(from, step), to: Math.max(to, step) });
  }
  return [...rows.values()];
}

async function opening({ directory, id, known, passes }) {
  const [raw, ours, viewed] = [[], [], []];
  for (let pass = 0; pass <= passes; pass++) {
    progress(`open, pass ${pass} of ${passes}`);
    const reading = await read(directory, known.lineage, { warm: false });
    const opened = await open(directory, [id]);
    await opened.rath.close();
    if (pass === 0) continue; // warm-up
    raw.push(reading.ms);
    ours.push(opened.ms);
    viewed.push(opened.viewed);
  }
  return [
    row("open / reading its rows", ratio(ours, raw), "ratio", "<= 2"),
    row("open to the newest view / reading its rows", ratio(viewed, raw), "ratio"),
    row("open", median(ours), "ms"),
    row("open to the newest view", median(viewed), "ms"),
    row("open: reading its rows", median(raw), "ms"),
  ];
}

async function compare({ directory, id, known, passes }, name, { about, rows: needed, ask, right, judged: how }) {
  const ids = about?.(known) ?? [id];
  const rows = needed(known, ids);
  const [raw, parsing, alone, both] = [[], [], [], []];
  for (let pass = 0; pass <= passes; pass++) {
    progress(`${name}, pass ${pass} of ${passes}`);
    const reading = await read(directory, rows, { warm: true });
    const judged = how === undefined ? reading : await read(directory, rows, { warm: true, how });
    const { rath, sessions, viewed } = await open(directory, ids);
    const begin = now();
    const answer = await ask(...sessions);
    const end = now();
    await rath.close();
    if (!right(answer)) throw new Error(`${name}: the answer is not right`);
    if (pass === 0) continue; // warm-up
    raw.push(reading.ms);
    parsing.push(judged.ms);
    alone.push(end - begin);
    both.push(viewed + end - begin);
  }
  return [
    row(`${name} / reading its rows`, ratio(alone, raw), "ratio", how === undefined ? "<= 2" : undefined),
    ...(how === undefined ? [] : [row(`${name} / reading its rows, ${how}`, ratio(alone, parsing), "ratio", "<= 2")]),
    row(`${name}`, median(alone), "ms"),
    row(`${name}: reading its rows`, median(raw), "ms"),
    row(`open, view and ${name}`, median(both), "ms"),
  ];
}

async function open(directory, ids) {
  settleHeap();
  const begin = now();
  const rath = await openDurable(directory);
  const sessions = [];
  for (const id of ids) sessions.push(await rath.open(id));
  const ms = now() - begin;
  for (const { usage, status } of sessions) if (usage.input === 0 || status === undefined) throw new Error("there is nothing to see");
  return { rath, sessions, ms, viewed: now() - begin };
}

/**
 * Reads rows through the store port; `warm` leaves out opening the file. Rows are bytes: whoever compares what they say must at least
 * parse them, and whoever verifies them must hash them too; `how` says that.
 */
async function read(directory, queries, { warm, how }) {
  const hashed = how === "hashed and parsed";
  settleHeap();
  const store = sqliteStore(join(directory, "rath.db"));
  if (warm) for await (const _ of store.sessions({ id: "none" }));
  const begin = now();
  let bytes = 0;
  for (const query of queries) {
    if (query.blob !== undefined) {
      const content = await store.blob(query.blob);
      bytes += content.length;
      if (hashed && hash("sha256", content) !== query.blob) throw new Error("changed");
      continue;
    }
    if (query.logs === true) {
      for await (const { head } of store.sessions({})) bytes += head.length;
      continue;
    }
    if (query.index !== undefined) {
      // Every search opens the index, so that opening it is part of reading it.
      const index = sqliteIndex(join(directory, "rath.index.db"));
      bytes += (await index.candidates([query.index])).pieces.length;
      await index[Symbol.asyncDispose]();
      continue;
    }
    for await (const { id, envelope, data } of store.events(query)) {
      bytes += envelope.length;
      if (how === undefined) continue;
      const said = JSON.parse(envelope.toString());
      if (hashed && (hash("sha256", envelope) !== id || hash("sha256", data) !== said.data)) throw new Error("changed");
      JSON.parse(data.toString("utf8", SALT_BYTES));
    }
  }
  const ms = now() - begin;
  await store[Symbol.asyncDispose]();
  if (bytes === 0) throw new Error("there are no rows");
  return { ms };
}

const ratio = (ours, raw) => median(ours.map((ms, i) => ms / raw[i]));

async function listed(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

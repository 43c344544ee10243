// Opening a long session to its newest view, against reading the same bytes as one row per event, raw; then finding things in it.
import { join } from "node:path";
import { sqliteStore } from "../../dist/store/sqlite.js";
import { inDirectory, median, now, progress } from "../measure.mjs";
import { startProcess } from "../process.mjs";
import { writeRows } from "../raw.mjs";
import { row } from "../report.mjs";
import { EVENTS_PER_ROUND, finish, openDurable, Repeated } from "./rounds.mjs";

const PASSES = 5;
const LOOK_UPS = 500;

export function measure({ quick }) {
  const events = quick ? 20_000 : 100_000;
  return inDirectory(async (directory) => {
    progress(`writing a session of ${events} events`);
    const rath = await openDurable(directory);
    const { id } = await finish(rath, new Repeated(events / EVENTS_PER_ROUND));
    await rath.close();

    const ids = await copyRaw(directory, id);
    const rows = [...(await opening(directory, id, ids.length)), ...(await lookingUp(directory, id, ids))];
    return rows.map((r) => ({ ...r, name: `${r.name}, ${ids.length} events` }));
  });
}

/** Copies the session's events into the raw layout; returns their ids. */
async function copyRaw(directory, session) {
  const store = sqliteStore(join(directory, "rath.db"));
  const events = [];
  for await (const event of store.events({ session })) events.push(event);
  await store[Symbol.asyncDispose]();
  writeRows(join(directory, "raw.db"), events);
  return events.map((event) => event.id);
}

/** In turns, in a process that has done nothing else: whoever opens a session mostly did not write it just before. */
async function opening(directory, id, count) {
  const raw = [];
  const ours = [];
  const opener = startProcess(new URL("open-process.mjs", import.meta.url));
  for (let pass = 0; pass <= PASSES; pass++) {
    progress(`opening, pass ${pass} of ${PASSES}`);
    const rows = await opener.ask("raw", { directory });
    const opened = await opener.ask("ours", { directory, id });
    if (opened.step < count - 1) throw new Error(`the session opened at step ${opened.step} of ${count}`);
    if (pass === 0) continue; // warm-up
    raw.push(rows.ms);
    ours.push(opened.ms);
  }
  await opener.stop();
  const ratio = median(ours.map((ms, i) => ms / raw[i]));
  return [row("open / raw rows", ratio, "ratio", "<= 2"), row("open", median(ours), "ms"), row("raw rows", median(raw), "ms")];
}

async function lookingUp(directory, id, ids) {
  const rath = await openDurable(directory);
  const session = await rath.open(id);
  const step = (i) => 1 + ((i * 7919) % (session.step - 1));
  const place = await each((i) => session.at(step(i)).head);
  const view = await each((i) => session.at(step(i)).messages.length);
  await rath.close();

  const store = sqliteStore(join(directory, "rath.db"));
  const byId = await each(async (i) => {
    const wanted = ids[(i * 7919) % ids.length];
    for await (const event of store.events({ ids: [wanted] })) if (event.id === wanted) return;
    throw new Error(`event ${wanted} was not found by its id`);
  });
  await store[Symbol.asyncDispose]();
  return [row("at(step)", place, "ms", "<= 1"), row("at(step) and its messages", view, "ms"), row("event by id", byId, "ms", "<= 1")];
}

/** The median time of one look-up, after a tenth as warm-up. */
async function each(look) {
  const times = [];
  for (let i = -LOOK_UPS / 10; i < LOOK_UPS; i++) {
    const begin = now();
    await look(Math.abs(i));
    if (i >= 0) times.push(now() - begin);
  }
  return median(times);
}

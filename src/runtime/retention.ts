/**
 * Retention: sessions that nobody has touched for long enough are let go, with the logs of their runs, answers and signals. What a kept
 * session needs to be read and verified stays, however old: the logs its events come from, and everything that the runs wrote which
 * made them. An open run keeps what it works on.
 *
 * Logs go whole or not at all: a log is kept when a kept session stands on any event of it. Nothing is removed while an event that was
 * not looked at could need it: the store refuses when something was appended since, and it is decided anew.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import type { Duration } from "../session/span.ts";
import { addErasure } from "./erasure-log.ts";
import { scrub } from "./finish-erasures.ts";
import { RetentionLogs, type Unneeded } from "./retention-logs.ts";
import type { Runtime } from "./runtime.ts";

export interface RetentionOptions {
  readonly sessionsOlderThan?: Duration | undefined;
  readonly tag?: string | undefined;
  readonly keepTag?: string | undefined;
  readonly by?: string | undefined;
  readonly dryRun: boolean;
}

export interface LetGo extends Unneeded {
  readonly entry: string | undefined;
}

/** How often it is decided anew when others append meanwhile. */
const tries = 30;
/** How often it is looked for what they appended: a feed may tell of it a little later, or much later if something holds it back. */
const looks = 10;
const patientLooks = 100;
const lookMs = 20;

export async function letGo(runtime: Runtime, options: RetentionOptions): Promise<LetGo> {
  const { sessionsOlderThan, tag, keepTag, dryRun, by = "user" } = options;
  if (sessionsOlderThan === undefined) return { sessions: [], held: [], removed: new Set(), entry: undefined };
  const store = await runtime.store();
  if (store.remove === undefined) throw new RathError("erase.unsupported", "This store cannot remove sessions: it has no remove.");
  const before = new Date(Date.parse(runtime.platform.time()) - durationMs(sessionsOlderThan)).toISOString();
  const read = (): Promise<RetentionLogs> => new RetentionLogs(runtime.platform, store).read();
  let logs = await read();
  /** What was to go when everything was read again because nothing had come. */
  let readAgain: string | undefined;
  let entry: { readonly id: string; readonly listed: string } | undefined;
  const close = async (): Promise<void> => void (entry && (await addErasure(runtime, "runtime", { done: [entry.id] })));
  for (let i = 0; i < tries; i++) {
    const found = logs.unneeded({ before, tag, keepTag });
    if (dryRun || found.removed.size === 0) {
      await close();
      return { ...found, entry: undefined };
    }
    const places = logs.placesOf(found.removed);
    const listed = JSON.stringify(places);
    if (entry?.listed !== listed) {
      // What is to go is on record first. Meanwhile others may have come to need it: that is read, and decided again.
      await close();
      entry = { id: await addErasure(runtime, by, { reason: reasonOf(options), logs: places }), listed };
      await logs.readOn();
    } else if (await store.remove(places, { after: logs.place })) {
      // Otherwise whoever collects garbage next finds the entry open, and cleans up.
      if (await scrub(store)) await close();
      return { ...found, entry: entry.id };
    } else if (!(await hasNews(logs, readAgain === listed ? patientLooks : looks))) {
      if (readAgain === listed) {
        // It is as it was known: something came that the feed does not tell of yet.
        await close();
        throw heldBack();
      }
      // Nothing came, so what was to go is not as it was known: somebody else lets sessions go too.
      readAgain = listed;
      logs = await read();
    }
  }
  await close();
  throw new RathError(
    "store.conflict",
    "The store is too busy now: others appended again and again while it was decided which sessions may go. None was removed. Try again later.",
    { retryable: true },
  );
}

function heldBack(): RathError {
  return new RathError(
    "store.conflict",
    "Something was appended to the store that cannot be read in its order yet, most likely because a transaction on the database server that writes was open before and still is (PostgreSQL lists it in pg_stat_activity, with its backend_xid). None of the sessions was removed. End it, or try again when it has ended.",
    { retryable: true },
  );
}

async function hasNews(logs: RetentionLogs, times: number): Promise<boolean> {
  for (let i = 0; i < times; i++) {
    if (await logs.readOn()) return true;
    await sleep(lookMs);
  }
  return false;
}

function reasonOf({ sessionsOlderThan, tag, keepTag }: RetentionOptions): string {
  return `retention: older than ${sessionsOlderThan}${tag === undefined ? "" : `, tag ${tag}`}${keepTag === undefined ? "" : `, not tag ${keepTag}`}`;
}

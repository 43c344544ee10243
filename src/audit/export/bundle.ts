/**
 * Taking a bundle into a store. Everything is verified before anything is written; nothing is added to it, and logs keep their
 * ids, runs and order. What is there already is left alone; a log that goes on differently here is refused.
 */
import { createReadStream } from "node:fs";
import { lstat, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { erasures, importedTag, ownLog } from "../../runtime/erasure-log.ts";
import { refusalsOf } from "../../runtime/imported-places.ts";
import { piecesOf } from "../../runtime/parents-first.ts";
import { Reachable } from "../../runtime/reachable.ts";
import { findEvent } from "../../runtime/run-record.ts";
import { hasEnded } from "../../runtime/run-row.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { dataText, parseEnvelope } from "../../session/codec.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import type { BranchWrite, RunRow, Store, StoredEvent } from "../../store/store.ts";
import { plural } from "../../wire/format.ts";
import { isHash } from "../blob-references.ts";
import { checkRecord } from "../check-record.ts";
import type { Gathered } from "../gather.ts";
import { checkAbout } from "../log-about.ts";
import { type Beside, type BundleSource, invalid, readBundle } from "./bundle-read.ts";
import { refuseAscribed, runsAddedTo } from "./bundle-runs.ts";
import { type Said, saidIn } from "./bundle-said.ts";
import { readLines } from "./lines.ts";

/** How sessions are taken in. */
export interface ImportOptions {
  /** Asked for everybody whose session is among them, before anything is stored; it throws where they may not be. */
  readonly checkPrincipal?: ((principal: string) => void) | undefined;
  /** Asked for everything that somebody said to a run and that is not in the store yet, before anything is stored; it throws where they may not have said it. */
  readonly checkSaid?: ((said: Said) => void) | undefined;
  /**
   * Asked for every run that is not in the store yet and has not ended, since whoever works here would take it up, or that has a key, since
   * whoever starts one under it would get its result, and for every run that the store knows and to which something is added: what it
   * recorded would be what the bundle says. It throws where that may not be.
   */
  readonly checkRun?: ((run: string) => void) | undefined;
  /** Asked when the bundle brings entries of an erasure log, before anything is stored; it throws where that may not be. */
  readonly checkErasures?: (() => void) | undefined;
  /** Tools may act where the bundle says. Else its placements are refused here until somebody says `to(…)` again. */
  readonly placed?: boolean | undefined;
}

/**
 * Imports a bundle from a file, a folder or a stream of bytes, and gives the session at its head.
 *
 * @example
 * await write(session, "session.jsonl");
 * const same = await elsewhere.import("session.jsonl"); // the same id, head and events
 */
export async function importBundle(
  runtime: Runtime,
  source: string | AsyncIterable<Uint8Array>,
  { checkPrincipal, checkSaid, checkRun, checkErasures, placed = false }: ImportOptions = {},
): Promise<Session> {
  const { bytes, beside } = typeof source === "string" ? await opened(source) : { bytes: source, beside: undefined };
  const bundle = await readBundle(readLines(bytes), beside);
  const gathered = await check(runtime, bundle);
  for (const { principal } of bundle.rows) if (principal !== undefined) checkPrincipal?.(principal);
  const store = await runtime.store();
  await runtime.effects.writer.flush();
  const here = await erasedHere(runtime, store);
  const branches = await newBranches(store, bundle, here);
  if (branches.some(({ about }) => about?.log === "erasure")) checkErasures?.();
  await refuseAscribed(runtime.platform, store, { bundle, gathered, branches });
  if (checkSaid !== undefined) {
    const added = new Set(branches.flatMap(({ events }) => events.map(({ id }) => id)));
    for (const said of await saidIn(runtime.platform, bundle, added)) checkSaid(said);
  }
  const rows = await newRows(store, bundle, new Set(branches.map((branch) => branch.session)));
  if (checkRun !== undefined) {
    const open = rows.filter(({ status }) => !hasEnded(status)).map(({ id }) => id);
    // A run takes up only what it wrote itself: what another one added to its sessions is a place that it does not go on from.
    for (const run of new Set([...open, ...(await runsAddedTo(runtime.platform, store, branches))])) checkRun(run);
  }
  // Refused in the commit that stores them: nobody sees them without.
  const refusals = placed
    ? []
    : refusalsOf(
        runtime,
        branches.flatMap(({ events }) => events),
      );
  await append(runtime, store, bundle, { branches: [...branches, ...refusals], rows }, here);
  const { session, head } = bundle.header;
  const log = (await runtime.load([session])).get(session);
  const node = log === undefined ? undefined : findEvent(log, head);
  if (node === undefined)
    throw new RathError(
      "store.conflict",
      `The bundle was imported, but session ${session} has unsaved changes in this process: save them, then open ${session}@${head.slice(0, 12)}.`,
      { details: { session } },
    );
  const imported = runtime.outside(node);
  const { placement } = imported;
  if (refusals.length > 0 && placement !== undefined)
    runtime.warn(
      `Session ${session} was placed on another machine ("${placement.sandbox}"): nothing acts there. Say session.to(…) before tools act on it here.`,
    );
  return imported;
}

async function opened(path: string): Promise<{ readonly bytes: AsyncIterable<Uint8Array>; readonly beside: Beside | undefined }> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new RathError("bundle.invalid", `There is no bundle at ${path}: give the file or folder that write made.`, {
      cause,
      details: { path },
    });
  });
  if (!found.isDirectory()) return { bytes: createReadStream(path), beside: undefined };
  const file = join(path, "session.jsonl");
  await stat(file).catch((cause: unknown) => {
    throw new RathError("bundle.invalid", `${path} is not a bundle: it has no session.jsonl.`, { cause, details: { path } });
  });
  return { bytes: createReadStream(file), beside: (hash, bytes) => blobBeside(join(path, "blobs", hash), bytes) };
}

/** The name was checked to be a hash, so that it cannot lead out of the folder. */
async function blobBeside(file: string, bytes: number): Promise<Uint8Array | undefined> {
  const found = await lstat(file).catch(() => undefined);
  return found?.isFile() === true && found.size === bytes ? readFile(file) : undefined;
}

/** The record must hold, be complete, and be all there is in the bundle. Which keys signed it is for `verify` to judge. Gives the record. */
async function check(runtime: Runtime, bundle: BundleSource): Promise<Gathered> {
  const { session, head } = bundle.header;
  const { gathered, findings, ofTrees } = await checkRecord(bundle, runtime.platform, [{ session, head }], undefined);
  // What is wrong with an event says more than what is therefore wrong with its log.
  const [first] = [...findings, ...checkAbout(gathered)]
    .map((finding) => ({ finding, line: bundle.lineOf(finding.event) ?? 1, rank: isHash(finding.event) ? 0 : 1 }))
    .sort((a, b) => a.rank - b.rank || a.line - b.line);
  if (first !== undefined)
    throw invalid(first.line, first.finding.field, `${first.finding.event}: ${first.finding.problem}`, first.finding.code);
  if (gathered.entries.get(head)?.session !== session) throw invalid(1, "head", `the head ${head} is not an event of session ${session}`);
  for (const id of bundle.ids)
    if (!gathered.entries.has(id)) throw invalid(bundle.lineOf(id), "id", `event ${id} does not belong to the record of the session`);
  const named = new Set([...ofTrees, ...[...gathered.entries.values()].flatMap((entry) => entry.blobs.map((blob) => blob.hash))]);
  for (const hash of bundle.hashes) if (!named.has(hash)) throw invalid(bundle.lineOf(hash), "blob", `no event names blob ${hash}`);
  // Only contents of files are erased while something names them. What is missing otherwise would be read from what others have here.
  for (const hash of named) if (!bundle.has(hash)) throw invalid(1, "blob", `blob ${hash} is named and not in the bundle`);
  for (const { id, session: works } of bundle.runRows) {
    if (gathered.runs.get(id)?.shared !== false) throw invalid(bundle.lineOf(id), "run", `run ${id} wrote nothing in this bundle`);
    if (!gathered.logs.has(works)) throw invalid(bundle.lineOf(id), "session", `there is no log ${works} for run ${id}`);
  }
  return gathered;
}

/** What this store erased or let go itself, and the entries that say so. */
interface ErasedHere {
  /** The erasure log of this store, where it has one. */
  readonly log: string | undefined;
  readonly events: ReadonlyMap<string, string>;
  readonly blobs: ReadonlySet<string>;
  readonly logs: ReadonlySet<string>;
}

async function erasedHere({ platform }: Runtime, store: Store): Promise<ErasedHere> {
  const [events, blobs, logs] = [new Map<string, string>(), new Set<string>(), new Set<string>()];
  for await (const { id, data, imported } of erasures(platform, store)) {
    if (imported) continue;
    for (const event of data.events ?? []) events.set(event, id);
    for (const blob of data.blobs ?? []) blobs.add(blob);
    for (const { session } of data.logs ?? []) logs.add(session);
  }
  return { log: (await ownLog(store))?.id, events, blobs, logs };
}

/** What the store does not have yet. Data that was erased here stays erased, also where its log has gone since. */
async function newBranches(store: Store, bundle: BundleSource, here: ErasedHere): Promise<BranchWrite[]> {
  const branches: BranchWrite[] = [];
  for (const { id, log, parent, title, tags, principal } of bundle.rows) {
    const events = bundle.eventsOf(id).map((event) => withoutErased(event, here));
    let known = 0;
    let head: string | undefined;
    for await (const event of store.events({ session: id })) {
      if (known < events.length && events[known]?.id !== event.id) throw differs(id, event);
      head = event.id;
      known++;
    }
    if (known >= events.length) continue;
    // Whoever could add to it would erase here, in anybody's name.
    if (log === "erasure" && id === here.log)
      throw invalid(bundle.lineOf(id), "log", `log ${id} says what is erased in this store, and goes on only here`);
    // What was said of a log with its first event went with it.
    const said = here.events.has(events[0]?.id ?? "") ? {} : { title, tags };
    const about = {
      log,
      ...(parent === undefined ? {} : { parent }),
      ...(said.title === undefined ? {} : { title: said.title }),
      // What was erased elsewhere is not continued by what is erased here.
      ...(log === "erasure" ? { tags: [importedTag] } : said.tags === undefined ? {} : { tags: said.tags }),
      ...(principal === undefined ? {} : { principal }),
    };
    branches.push({ session: id, expectedHead: head, events: events.slice(known), about });
  }
  return branches;
}

function withoutErased(event: StoredEvent, { events }: ErasedHere): StoredEvent {
  const erased = event.data === undefined ? undefined : events.get(event.id);
  return erased === undefined ? event : { ...event, data: undefined, erased };
}

function differs(session: string, event: StoredEvent): RathError {
  return new RathError(
    "store.conflict",
    `Log ${session} goes on differently in this store from step ${event.step} on (event ${event.id}). Nothing was imported: import the bundle into another store.`,
    { details: { session, event: event.id } },
  );
}

/** Logs and blobs in one commit, then the rows of runs: a run without its row is completed by importing again. */
async function append(
  runtime: Runtime,
  store: Store,
  bundle: BundleSource,
  { branches, rows }: { readonly branches: readonly BranchWrite[]; readonly rows: readonly RunRow[] },
  here: ErasedHere,
): Promise<void> {
  // Only what new events need: other contents may have been erased here.
  const needed = new Reachable(bundle, true);
  for (const { events } of branches)
    for (const { id, data } of events) if (data !== undefined) await needed.addText(dataText(runtime.platform, data), id);
  const wanted = [...bundle.hashes].filter((hash) => needed.blobs.has(hash));
  const withheld = wanted.filter((hash) => here.blobs.has(hash) && !needed.direct.has(hash));
  const erased = new Set(withheld);
  const hashes = wanted.filter((hash) => !erased.has(hash));
  const blobs = await Promise.all(hashes.map(async (hash) => ({ hash, bytes: (await bundle.blob(hash)) as Uint8Array })));
  const [first, ...others] = rows;
  if (branches.length > 0 || first !== undefined)
    await put(store, { branches: parentsFirst(runtime, branches), blobs, ...(first === undefined ? {} : { run: first }) });
  for (const run of others) await put(store, { branches: [], run });
  warn(runtime, bundle, branches, withheld.length, here);
}

/** As whoever follows the feed is given them. Parents have smaller steps than what stands on them. */
function parentsFirst({ platform }: Runtime, branches: readonly BranchWrite[]): BranchWrite[] {
  const events = branches.flatMap((branch) => branch.events.map((event) => ({ branch, event })));
  events.sort((a, b) => a.event.step - b.event.step);
  const placed = ({ branch, event: { id, envelope } }: (typeof events)[number]) => ({
    ...{ log: branch, id, parents: parseEnvelope(platform.text(envelope)).parents },
  });
  const heads = new Map(branches.map((branch) => [branch, branch.expectedHead]));
  return piecesOf(events, placed).map(({ log, events: piece }) => {
    const expectedHead = heads.get(log);
    heads.set(log, piece.at(-1)?.event.id);
    return { ...log, expectedHead, events: piece.map(({ event }) => event) };
  });
}

/** Whoever imports expects all that is in the bundle. */
function warn(runtime: Runtime, bundle: BundleSource, branches: readonly BranchWrite[], withheld: number, here: ErasedHere): void {
  let events = 0;
  for (const { id } of bundle.rows)
    for (const event of bundle.eventsOf(id)) if (event.data !== undefined && here.events.has(event.id)) events++;
  const parts = [events === 0 ? "" : plural(events, "event"), withheld === 0 ? "" : plural(withheld, "content")].filter(
    (part) => part !== "",
  );
  if (parts.length > 0)
    runtime.warn(`The bundle has ${parts.join(" and ")} that were erased in this store: they stay erased, and were not imported.`);
  const back = branches.filter(({ session }) => here.logs.has(session)).length;
  if (back > 0)
    runtime.warn(
      `${plural(back, "log")} of the bundle had been let go by retention in this store, and came back with it: gc removes them again when they are old enough.`,
    );
}

async function put(store: Store, write: Parameters<Store["append"]>[0]): Promise<void> {
  const written = await store.append(write);
  if (!written.ok)
    throw new RathError(
      "store.conflict",
      `The bundle was not imported: ${written.reason === "head" ? `log ${written.session}` : "a run"} was continued meanwhile. Import it again.`,
      { retryable: true },
    );
}

/** A row that is here is newer, unless the bundle brings more of its run. */
async function newRows(store: Store, bundle: BundleSource, extended: ReadonlySet<string>): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  for (const row of bundle.runRows) {
    let known = false;
    for await (const _ of store.runs({ id: row.id })) known = true;
    if (!known && row.key !== undefined) {
      for await (const other of store.runs({ key: row.key })) {
        if (other.id !== row.id)
          throw new RathError(
            "store.conflict",
            `Run ${row.id} cannot be imported: its key "${row.key}" belongs to run ${other.id} here. Nothing was imported.`,
            { details: { run: row.id, key: row.key } },
          );
      }
    }
    if (!known || extended.has(row.id)) rows.push(row);
  }
  return rows;
}

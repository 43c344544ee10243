/**
 * Erasing for good. What goes is found and counted first, and all that stands on it; then an entry of the erasure log says by whom and
 * why; then it is removed: contents, memories, and the data of events, in this order, so that whatever is interrupted can be found
 * again by its entry and finished. Envelopes stay, and so does every hash: the record still verifies.
 */
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import { givenName, givenOptions, givenText, unsupported } from "../session/given.ts";
import { isMemoryUri } from "../session/memory-uri.ts";
import { versionName } from "../session/remembered.ts";
import type { Session } from "../session/session.ts";
import type { RunRow, Store } from "../store/store.ts";
import { Finding, kindOf, type Left, lasting, type Wanted } from "./erase-find.ts";
import { type EraseReport, reportOf } from "./erase-report.ts";
import { Survey, sweepSurveyed } from "./erase-survey.ts";
import { addErasure } from "./erasure-log.ts";
import { finishErasures, type Listed, removeAll } from "./finish-erasures.ts";
import { hasEnded } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";

/**
 * What is to be erased. Exactly one of the first five, or none of them with `matching`, which then means everything in the project.
 *
 * @example
 * await rath.erase({ session: session.id }, { by: "human:ada", reason: "asked by the customer" });
 * await rath.erase({ session, matching: "4711" }, { by: "human:ada", reason: "a PIN was pasted" });
 */
export interface EraseTarget {
  /** A session, with what belongs to it alone: nested work, answers, and the logs of runs that worked on nothing else. */
  readonly session?: string | Session | undefined;
  /** Events by id. */
  readonly events?: readonly string[] | undefined;
  /** All sessions of a person. */
  readonly principal?: string | undefined;
  /** All sessions with a tag. */
  readonly tag?: string | undefined;
  /** Memories as "uri" (every version) or "uri@version". */
  readonly memories?: readonly string[] | undefined;
  /** Only what holds this text, of the session or of the whole project: at least two characters, compared exactly. */
  readonly matching?: string | undefined;
}

/** Who erases, and why. */
export interface EraseOptions {
  readonly by: string;
  /** For the record: without what is erased. */
  readonly reason: string;
  /** Only say what would go. */
  readonly dryRun?: boolean | undefined;
}

const targets = ["session", "events", "principal", "tag", "memories", "matching"] as const;
const shortestWords = 2;
const longestReason = 1000;
/** Ids that one entry lists: a page of a log stays small. */
const listed = 4096;

/** Erases what `wanted` names. */
export async function erase(
  runtime: Runtime,
  target: Omit<EraseTarget, "session"> & { readonly session?: string | undefined },
  options: EraseOptions,
): Promise<EraseReport> {
  const { by, reason, dryRun = false } = givenErase(runtime, target, options);
  const { session, ...rest } = target;
  const wanted: Wanted = { ...rest, ...(session === undefined ? {} : { sessions: [session] }) };
  await runtime.effects.writer.flush();
  const store = await runtime.store();
  if (store.erase === undefined) throw new RathError("erase.unsupported", "This store cannot erase anything: it has no erase.");
  if (!dryRun) await finishErasures(runtime);
  await refuseUnknown(runtime, store, wanted);
  const found = await new Finding(runtime.platform, store, wanted).find(() => runtime.memories.store());
  const survey = new Survey(runtime.platform, store, found);
  const memories = found.memories.map(versionName);
  const entries: Listed[] = [];
  const named = new Set<string>();
  const decided = async (): Promise<void> => {
    if (found.events.size + memories.length + survey.gone.size === 0) return;
    const more = survey.named.filter((blob) => !named.has(blob));
    for (const blob of more) named.add(blob);
    if (entries.length === 0) {
      await refuseOpenRuns(runtime, store, new Set([...survey.logs, ...(await survey.shared())]), survey.runs);
      entries.push(...(await addEntries(runtime, by, { reason, events: [...found.events], blobs: more, memories })));
    } else if (more.length > 0) entries.push(...(await addEntries(runtime, by, { reason, events: [], blobs: more, memories: [] })));
  };
  const removed = await sweepSurveyed(store, survey, dryRun ? "dry run" : decided);
  const shared = await survey.shared();
  if (dryRun) await refuseOpenRuns(runtime, store, new Set([...survey.logs, ...shared]), survey.runs);
  const { scrubbed, tables } = entries.length === 0 ? { scrubbed: true, tables: [] } : await removeAll(runtime, entries, removed);
  const gone = [...survey.gone];
  const blobs = dryRun ? gone : gone.filter((blob) => removed.has(blob));
  return reportOf({
    dryRun,
    entries: entries.map(({ id }) => id),
    events: [...found.events],
    blobs,
    files: found.files,
    memories,
    sessions: [...survey.logs],
    shared,
    left: [
      ...found.left,
      ...survey.left,
      ...(entries.length === 0 ? [] : await begunMeanwhile(store, survey, shared)),
      ...(entries.length === 0 ? [] : await found.rememberedMeanwhile(await runtime.memories.store())),
      ...(await recalledElsewhere(runtime, memories, found.events)),
      ...guessable(found, survey),
      ...(tables.length === 0 ? [] : [unused(tables)]),
      ...(store.sweep === undefined || blobs.length === gone.length ? [] : gone.filter((blob) => !removed.has(blob)).map(putAgain)),
    ],
    scrubbed,
  });
}

/** Trees that stay name contents by their hashes, and a short content is found by trying. */
function guessable({ guessable: sizes, files }: Finding, { named }: Survey): readonly Left[] {
  return named
    .filter((id) => sizes.has(id))
    .map((id) => ({
      what: "blob",
      id,
      why: `a tree that stays names it, and ${JSON.stringify(files.get(id))} has only ${counted(sizes.get(id) ?? 0, "byte")}, which can be guessed from the hash: erase the session to be rid of that too`,
    }));
}

function unused(tables: readonly string[]): Left {
  const why =
    "bytes of it may lie in unused space of their files until that is used again: VACUUM FULL ends that, and locks each meanwhile";
  return { what: "table", id: tables.join(", "), why };
}

function putAgain(id: string): Left {
  return { what: "blob", id, why: "it was put again meanwhile" };
}

function givenErase(runtime: Runtime, target: EraseTarget, options: EraseOptions): EraseOptions {
  givenOptions(target, targets, "erase");
  const { by, reason, dryRun } = givenOptions(options, ["by", "reason", "dryRun"], "erase");
  const { matching, session, ...others } = target;
  const count = [session, ...Object.values(others)].filter((one) => one !== undefined).length;
  if (count > 1 || (count === 0 && matching === undefined))
    throw unsupported("erase", `names ${count === 0 ? "nothing" : "several things"}`, `give one of ${targets.join(", ")}`);
  if (matching !== undefined && Object.values(others).some((one) => one !== undefined))
    throw unsupported("erase.matching", "is given with something else than a session", "give it alone or with a session");
  for (const field of ["principal", "tag"] as const) if (target[field] !== undefined) givenName(target[field], `erase.${field}`);
  for (const field of ["events", "memories"] as const) givenList(target[field], `erase.${field}`);
  for (const name of target.memories ?? [])
    if (!isMemoryUri(name))
      throw unsupported("erase.memories", `has ${JSON.stringify(name)}`, 'name memories as "memory://…" or "memory://…@version"');
  if (matching !== undefined && [...givenText(matching, "erase.matching").trim()].length < shortestWords)
    throw unsupported("erase.matching", `has less than ${shortestWords} characters`, "give a text that is found only where it should go");
  if (dryRun !== undefined && typeof dryRun !== "boolean")
    throw unsupported("erase.dryRun", "is neither true nor false", "give one of them");
  const why = runtime.clean(givenText(reason, "erase.reason")).trim();
  if (why === "" || why.length > longestReason)
    throw unsupported("erase.reason", why === "" ? "is empty" : "is too long", `say in up to ${longestReason} characters why`);
  const who = givenName(runtime.clean(givenText(by, "erase.by")), "erase.by");
  if (matching !== undefined && (why.includes(matching) || who.includes(matching)))
    throw unsupported("erase.reason", "holds the text that is to be erased", "it stays on record: say it without");
  return { by: who, reason: why, dryRun };
}

function givenList(list: readonly string[] | undefined, field: string): void {
  if (list === undefined) return;
  if (!Array.isArray(list) || list.length === 0 || list.some((one) => typeof one !== "string"))
    throw unsupported(field, "is no list of names", "give at least one");
}

/** A misspelt id must not look like something that was erased. */
async function refuseUnknown(runtime: Runtime, store: Store, { events = [], memories = [] }: Wanted): Promise<void> {
  const unknown = new Set(events);
  for await (const event of store.events({ ids: events })) {
    unknown.delete(event.id);
    const kind = kindOf(runtime.platform, event);
    if (lasting.has(kind))
      throw refused(`Event ${event.id} is a ${kind}: it says how sessions and runs hang together, and stays. Nothing was erased.`, {
        event: event.id,
      });
  }
  for (const id of unknown)
    throw new RathError("event.invalid", `There is no event ${id} in this store: give its whole id. Nothing was erased.`, {
      details: { event: id },
    });
  for (const name of memories) {
    let known = false;
    for await (const record of (await runtime.memories.store()).list({ uri: name.replace(/@\d+$/, ""), asOf: "all" }))
      known ||= record.uri === name || versionName(record) === name;
    if (!known) throw new RathError("memory.not-found", `There is no memory ${name}. Nothing was erased.`, { details: { name } });
  }
}

/** A run that goes on reads what it wrote, and writes what it read again. */
async function refuseOpenRuns(runtime: Runtime, store: Store, logs: ReadonlySet<string>, runs: ReadonlySet<string>): Promise<void> {
  for await (const { id, status, session } of openRuns(store, logs, runs)) {
    throw refused(
      `Run ${id} on session ${session} has not ended (${status}): end it with run.cancel() or "openrath cancel ${id}", then erase. Nothing was erased.`,
      { run: id, session, status },
    );
  }
  const open = runtime.opened().find(({ log }) => logs.has(log.id));
  if (open === undefined) return;
  throw refused(
    `An effect of session ${open.log.id} is still going on in this process (event ${open.id}): wait for it, then erase. Nothing was erased.`,
    { session: open.log.id, event: open.id },
  );
}

async function* openRuns(store: Store, logs: ReadonlySet<string>, runs: ReadonlySet<string>): AsyncGenerator<RunRow, void> {
  for await (const row of store.runs({})) if (!hasEnded(row.status) && (logs.has(row.session) || runs.has(row.id))) yield row;
}

/** Whoever began between the last look and the removal may have read what is gone now. */
async function begunMeanwhile(store: Store, { logs, runs }: Survey, shared: readonly string[]): Promise<readonly Left[]> {
  const left: Left[] = [];
  for await (const { id } of openRuns(store, new Set([...logs, ...shared]), runs))
    left.push({ what: "run", id, why: "it was begun meanwhile: what it had read by then it may say again" });
  return left;
}

function refused(problem: string, details: Readonly<Record<string, unknown>>): RathError {
  return new RathError("erase.refused", problem, { details });
}

/** Recalls keep copies of what they found, wherever they were made. */
async function recalledElsewhere(runtime: Runtime, names: readonly string[], events: ReadonlySet<string>): Promise<readonly Left[]> {
  const left: Left[] = [];
  if (names.length === 0) return left;
  const memory = await runtime.memories.store();
  const erased = new Set(names);
  for (const uri of new Set(names.map((name) => name.replace(/@\d+$/, ""))))
    for await (const use of memory.uses(uri))
      if (erased.has(versionName(use)) && !events.has(use.event))
        left.push({ what: "event", id: use.event, why: `it recalled ${versionName(use)} in session ${use.session}` });
  return left;
}

async function addEntries(
  runtime: Runtime,
  by: string,
  {
    reason,
    ...lists
  }: {
    readonly reason: string;
    readonly events: readonly string[];
    readonly blobs: readonly string[];
    readonly memories: readonly string[];
  },
): Promise<readonly Listed[]> {
  const added: Listed[] = [];
  const most = Math.max(lists.events.length, lists.blobs.length, lists.memories.length, 1);
  for (let start = 0; start < most; start += listed) {
    const part = (list: readonly string[]): string[] => list.slice(start, start + listed);
    const [events, blobs, memories] = [part(lists.events), part(lists.blobs), part(lists.memories)];
    const data = {
      reason,
      ...(events.length === 0 ? {} : { events }),
      ...(blobs.length === 0 ? {} : { blobs }),
      ...(memories.length === 0 ? {} : { memories }),
    };
    added.push({ id: await addErasure(runtime, by, data), events, memories });
  }
  return added;
}

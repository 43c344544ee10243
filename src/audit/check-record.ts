/** The checks of a record: its chain, its blobs, its statements, and what was kept of it elsewhere. */
import { isKeyId } from "../runtime/key.ts";
import { flushBehind, type ReplayReport, runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { shown, unsupported } from "../session/given.ts";
import type { Platform } from "../session/platform.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import type { LogRow } from "../store/store.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { checkAnchor } from "./anchor.ts";
import { type CheckedBlobs, checkBlobs } from "./blobs.ts";
import { checkChain } from "./chain.ts";
import { type CheckedParts, partsOf, type Unchecked, uncheckedIn } from "./coverage.ts";
import { checkErased, erasuresOf, type RecordedErasure } from "./erased.ts";
import { type Gathered, type GatherOptions, gather, type Source } from "./gather.ts";
import { type Entry, inspector, type Place } from "./inspect.ts";
import { checkAbout } from "./log-about.ts";
import { type Finding, type Locate, type Problem, problemOf } from "./problem.ts";
import { replayRecord } from "./replay-record.ts";
import { checkStatements, type RunStatements, type Signed, statementLine, type TrustedKeys } from "./statements.ts";
import { verdictOf } from "./verdict.ts";

/** What a record is checked against besides itself. */
export interface VerifyOptions {
  /** A file of statements that `verify` returned earlier, kept outside the store; or such a statement itself. */
  readonly anchor?: string | undefined;
  /** Keys of other homes whose statements count, for example of the one a bundle comes from. */
  readonly keys?: readonly string[] | undefined;
  /**
   * Also executes the runs behind the session again, against their record: `true` with the workflows of `openrath({ workflows })`,
   * or the newest run with this one. Calls nothing and writes nothing.
   */
  readonly replay?: Workflow | true | undefined;
  /** Hears now and then how many more events were read. */
  readonly onProgress?: ((events: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What `verify` found. */
export interface Verification {
  /** True when there are no problems and no unknown keys. Unsigned events are none: see `unsigned`. */
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /**
   * Keys that signed parts of the record and are neither this home's nor in `keys`: of another machine that works on the same
   * database, of where a bundle comes from, or of a forger. Whether they are to be trusted only you can say.
   */
  readonly unknownKeys: readonly string[];
  /** How many events were checked. */
  readonly events: number;
  /** How many of them no signed statement vouches for, themselves or through what came after them. */
  readonly unsigned: number;
  /** How many of them say nothing any more. */
  readonly erased: number;
  /** Who erased what, and why: data of events, and contents of files. */
  readonly erasures: readonly RecordedErasure[];
  readonly checked: CheckedParts;
  /** What a clean result says nothing about. */
  readonly unchecked: readonly Unchecked[];
  /** With `replay`, what became of each run. */
  readonly replays: readonly ReplayReport[];
  /** The newest statement as one line of text. Kept elsewhere, it shows later whether the record was cut back: see `anchor`. */
  readonly statement: string | undefined;
  /** The verdict in a sentence. */
  toString(): string;
}

/** Checks the record of a session: see `verify`. */
export async function verifySession(session: Session, options: VerifyOptions = {}): Promise<Verification> {
  await flushBehind(session);
  return verifyPlaces(runtimeOf(session), storedPlaces(session), options, session);
}

async function verifyPlaces(
  runtime: Runtime,
  { places, unwritten }: ReturnType<typeof storedPlaces>,
  options: VerifyOptions,
  session?: Session,
): Promise<Verification> {
  const keys = await trustedKeys(runtime, options);
  const checked = await checkPlaces(runtime, places, keys, options);
  const findings = [...unwritten, ...checked.findings];
  let others: number | undefined;
  if (options.anchor !== undefined) {
    const concerns = (id: string): boolean => checked.gathered.logs.has(id);
    const anchored = await checkAnchor({ source: await runtime.store(), runs: checked.runs, keys, concerns }, options.anchor);
    findings.push(...anchored.findings);
    others = anchored.others;
  }
  const unchecked = uncheckedIn(checked, unknownIn(checked), others);
  if (session === undefined) return verificationOf(checked, { findings, reports: [], unchecked });
  const replayed = await replayRecord(session, options, checked.gathered, findings.length === 0);
  return verificationOf(checked, {
    findings: [...findings, ...replayed.findings],
    reports: replayed.reports,
    unchecked: [...unchecked, ...replayed.unchecked],
  });
}

/** Checks the newest record of a log by what its row says, without opening it: what is damaged may not open any more. */
export async function verifyLog(
  runtime: Runtime,
  { id, head }: LogRow,
  options: Omit<VerifyOptions, "replay"> = {},
): Promise<Verification> {
  return verifyPlaces(runtime, { places: [{ session: id, head }], unwritten: [] }, options);
}

/** Whose statements count: this home's, and those of the keys given. */
export async function trustedKeys(runtime: Runtime, { keys = [] }: VerifyOptions): Promise<ReadonlySet<string>> {
  // One that was cut or misspelt would count for nothing, in silence.
  for (const key of keys)
    if (!isKeyId(key)) throw unsupported(shown(key), "is no key", "give all 43 characters that openrath doctor shows");
  return new Set([(await runtime.key()).id, ...keys]);
}

/** The record of places in the store, with what their rows say. */
export async function checkPlaces(
  runtime: Runtime,
  places: readonly Place[],
  keys: ReadonlySet<string>,
  { onProgress, signal }: VerifyOptions,
): Promise<Checked> {
  const store = await runtime.store();
  const source = signal === undefined ? store : heeding(store, signal);
  const checked = await checkRecord(source, runtime.platform, places, keys, { sharedLogs: true, onEvents: onProgress });
  return { ...checked, findings: [...checked.findings, ...checkAbout(checked.gathered)] };
}

/** The same, which is not read on when nobody waits for it any more. */
function heeding(source: Source, signal: AbortSignal): Source {
  const items = async function* <T>(read: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const item of read) {
      signal.throwIfAborted();
      yield item;
    }
  };
  return {
    events: (query) => items(source.events(query)),
    sessions: (query) => items(source.sessions(query)),
    runs: (query) => items(source.runs(query)),
    blob: async (hash) => {
      signal.throwIfAborted();
      return source.blob(hash);
    },
  };
}

/** What was found, for whoever asked. */
export function verificationOf(
  checked: Checked,
  found: { readonly findings: readonly Finding[]; readonly reports: readonly ReplayReport[]; readonly unchecked: readonly Unchecked[] },
): Verification {
  const unknownKeys = unknownIn(checked);
  const locate = locator(checked.gathered);
  const erasures = erasuresOf(checked.gathered, checked.erasedContents);
  const verification = {
    ok: found.findings.length === 0 && unknownKeys.length === 0,
    problems: found.findings.map((finding) => problemOf(finding, locate)),
    unknownKeys,
    events: checked.gathered.entries.size,
    unsigned: checked.unsigned,
    erased: erasures.reduce((sum, { events }) => sum + events, 0),
    erasures,
    checked: partsOf(checked, found.reports),
    unchecked: found.unchecked,
    replays: found.reports,
    statement: newestOf(checked.runs),
  };
  const { word, because } = verdictOf(verification);
  return { ...verification, toString: () => `${word}: ${because}` };
}

/** Keys that signed and are not trusted. */
export function unknownIn({ runs }: Checked): readonly string[] {
  return [...new Set(runs.flatMap((run) => [...run.unknownKeys]))].sort();
}

/** A checked record, with what is wrong and what is signed. */
export interface Checked {
  readonly gathered: Gathered;
  readonly runs: readonly RunStatements[];
  readonly findings: readonly Finding[];
  /** Blobs that belong to trees of files. */
  readonly ofTrees: ReadonlySet<string>;
  readonly counts: CheckedBlobs["counts"];
  /** Hashes of contents that it names and that were erased. */
  readonly erasedContents: ReadonlySet<string>;
  /** Events that no trusted statement vouches for. */
  readonly unsigned: number;
  /** Those of them that nobody's statement vouches for. */
  readonly tail: number;
}

/** All checks of a record, wherever it lies. */
export async function checkRecord(
  source: Source,
  platform: Platform,
  places: readonly Place[],
  keys: TrustedKeys,
  options: GatherOptions = {},
): Promise<Checked> {
  const gathered = await gather(source, platform, await inspector(platform), places, options);
  const chain = checkChain(platform, gathered);
  const blobs = await checkBlobs(source, gathered);
  const runs = await checkStatements(source, gathered, keys);
  const findings = [...gathered.findings, ...checkErased(gathered), ...chain, ...blobs.findings, ...runs.flatMap((run) => run.findings)];
  const unsigned = countUnsigned(gathered, runs, "covered");
  const tail = runs.some((run) => run.unknownKeys.size > 0) ? countUnsigned(gathered, runs, "claimed") : unsigned;
  return { gathered, runs, findings, ofTrees: blobs.ofTrees, counts: blobs.counts, erasedContents: blobs.erased, unsigned, tail };
}

/** The newest places behind a value that are on disk; what is not cannot be verified. */
function storedPlaces(session: Session): { readonly places: readonly Place[]; readonly unwritten: readonly Finding[] } {
  const { node } = placeOf(session);
  if (node.stored) return { places: [{ session: node.log.id, head: node.id }], unwritten: [] };
  const places: Place[] = [];
  const waiting = new Set([node]); // grows while it is walked
  for (const next of waiting) {
    if (next.stored) places.push({ session: next.log.id, head: next.id });
    else for (const parent of next.parents) waiting.add(parent);
  }
  return {
    places,
    unwritten: [
      {
        event: node.id,
        problem: `the head of session ${session.id} is not stored yet: save it with rath.save(session) to verify it`,
        kind: "unwritten",
      },
    ],
  };
}

/** A statement vouches for what it covers and, through their hashes, for everything that stands behind it. */
function countUnsigned({ entries }: Gathered, runs: readonly RunStatements[], by: "covered" | "claimed"): number {
  // What a statement covers comes first in the order of its run.
  const covered = new Map(runs.map(({ run, events, [by]: count }) => [run, events?.[count - 1]?.order ?? -1]));
  const isCovered = (entry: Entry): boolean => entry.run !== undefined && entry.order <= (covered.get(entry.run) ?? -1);
  const uncovered = new Set<string>();
  for (const entry of entries.values())
    if (entry.kind !== "run.signed" && entry.kind !== "data.erased" && !isCovered(entry)) uncovered.add(entry.id);
  if (uncovered.size === 0) return 0;
  const waiting = [...entries.values()].filter(isCovered);
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    const { origin, answer } = entry.names;
    for (const id of [...entry.parents, origin?.head, answer]) {
      if (id === undefined || !uncovered.delete(id)) continue;
      const behind = entries.get(id);
      if (behind !== undefined) waiting.push(behind);
    }
  }
  return uncovered.size;
}

/** Where an event, a log or a run lies. */
function locator({ entries, logs }: Gathered): Locate {
  let strays: Map<string, Entry> | undefined;
  return (event) => {
    if (logs.has(event)) return { session: event };
    // What was read and does not belong to the record has a place too.
    strays ??= new Map([...logs.values()].flatMap((log) => log.entries.slice(log.length).map((entry) => [entry.id, entry])));
    return entries.get(event) ?? strays.get(event);
  };
}

function newestOf(runs: readonly RunStatements[]): string | undefined {
  let newest: Signed | undefined;
  for (const { statements } of runs)
    for (const signed of statements) if (newest === undefined || signed.statement.time >= newest.statement.time) newest = signed;
  return newest === undefined ? undefined : statementLine(newest);
}

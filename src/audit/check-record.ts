/** The checks of a record: its chain, its blobs, its statements, and what was kept of it elsewhere. */
import { flushBehind, runtimeOf } from "../runtime/replay.ts";
import type { Platform } from "../session/platform.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { checkAnchor } from "./anchor.ts";
import { checkBlobs } from "./blobs.ts";
import { checkChain } from "./chain.ts";
import { checkErased, erasuresOf, type RecordedErasure } from "./erased.ts";
import { type Gathered, gather, type Source } from "./gather.ts";
import { type Finding, inspector, type Place } from "./inspect.ts";
import { checkStatements, type RunStatements, type Signed, statementLine, type TrustedKeys } from "./statements.ts";

/** What a record is checked against besides itself. */
export interface VerifyOptions {
  /** A file of statements that `verify` returned earlier, kept outside the store; or such a statement itself. */
  readonly anchor?: string | undefined;
  /** Keys of other homes whose statements count, for example of the one a bundle comes from. */
  readonly keys?: readonly string[] | undefined;
}

/** One thing that is wrong with a record. */
export interface Problem {
  /** The event it is about, or the log or run. */
  readonly event: string;
  /** What is wrong, in words. */
  readonly problem: string;
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
  /** How many of them say nothing any more, and who erased it and why. */
  readonly erased: number;
  readonly erasures: readonly RecordedErasure[];
  /** The newest statement as one line of text. Kept elsewhere, it shows later whether the record was cut back: see `anchor`. */
  readonly statement: string | undefined;
}

/** Checks the record of a session: see `verify`. */
export async function verifySession(session: Session, options: VerifyOptions = {}): Promise<Verification> {
  const runtime = runtimeOf(session);
  await flushBehind(session);
  const source = await runtime.store();
  const { places, unwritten } = storedPlaces(session);
  const keys = new Set([(await runtime.key()).id, ...(options.keys ?? [])]);
  const checked = await checkRecord(source, runtime.platform, places, keys, true);
  const findings = [...unwritten, ...checked.findings];
  if (options.anchor !== undefined) findings.push(...(await checkAnchor(source, options.anchor, checked.runs, keys)));
  const unknownKeys = [...new Set(checked.runs.flatMap((run) => [...run.unknownKeys]))].sort();
  const erasures = erasuresOf(checked.gathered);
  return {
    ok: findings.length === 0 && unknownKeys.length === 0,
    problems: findings.map(({ event, problem }) => ({ event, problem })),
    unknownKeys,
    events: checked.gathered.entries.size,
    unsigned: checked.unsigned,
    erased: erasures.reduce((sum, { events }) => sum + events, 0),
    erasures,
    statement: newestOf(checked.runs),
  };
}

/** A checked record, with what is wrong and what is signed. */
export interface Checked {
  readonly gathered: Gathered;
  readonly runs: readonly RunStatements[];
  readonly findings: readonly Finding[];
  /** Blobs that belong to trees of files. */
  readonly ofTrees: ReadonlySet<string>;
  readonly unsigned: number;
}

/** All checks of a record, wherever it lies. */
export async function checkRecord(
  source: Source,
  platform: Platform,
  places: readonly Place[],
  keys: TrustedKeys,
  sharedLogs: boolean,
): Promise<Checked> {
  const gathered = await gather(source, platform, await inspector(platform), places, { sharedLogs });
  const chain = checkChain(platform, gathered);
  const blobs = await checkBlobs(source, gathered);
  const runs = await checkStatements(source, gathered, keys);
  const findings = [...gathered.findings, ...checkErased(gathered), ...chain, ...blobs.findings, ...runs.flatMap((run) => run.findings)];
  return { gathered, runs, findings, ofTrees: blobs.ofTrees, unsigned: countUnsigned(gathered, runs) };
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
      { event: node.id, problem: `the head of session ${session.id} is not stored yet: save it with rath.save(session) to verify it` },
    ],
  };
}

/** A statement vouches for what it covers and, through their hashes, for everything that stands behind it. */
function countUnsigned({ entries }: Gathered, runs: readonly RunStatements[]): number {
  const vouched = new Set<string>();
  const waiting = runs.flatMap(({ events, covered }) => (events ?? []).slice(0, covered).map((event) => event.id));
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const entry = entries.get(id);
    if (entry === undefined || vouched.has(id)) continue;
    vouched.add(id);
    const { origin, answer } = entry.names;
    waiting.push(...entry.parents);
    if (origin !== undefined) waiting.push(origin.head);
    if (answer !== undefined) waiting.push(answer);
  }
  let unsigned = 0;
  for (const entry of entries.values())
    if (!vouched.has(entry.id) && entry.kind !== "run.signed" && entry.kind !== "data.erased") unsigned++;
  return unsigned;
}

function newestOf(runs: readonly RunStatements[]): string | undefined {
  let newest: Signed | undefined;
  for (const { statements } of runs)
    for (const signed of statements) if (newest === undefined || signed.statement.time >= newest.statement.time) newest = signed;
  return newest === undefined ? undefined : statementLine(newest);
}

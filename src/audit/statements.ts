/**
 * Signed statements: is each signed by a key we trust, does it follow the one before it, and does it cover exactly the events
 * of its run that precede it, in their order. Whoever holds the key can forge; whoever does not cannot change what is covered.
 */
import { createPublicKey, verify } from "node:crypto";
import canonicalize from "canonicalize";
import { orderDigest, statementBytes } from "../runtime/key.ts";
import { hasEnded } from "../runtime/run-row.ts";
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import type { DataOf } from "../session/event.ts";
import type { Gathered, GatheredRun, Source } from "./gather.ts";
import type { Entry, Finding } from "./inspect.ts";

/** A statement with its signature. */
export type Signed = DataOf<"run.signed">;

/** Undefined: any key is accepted that fits the signature. */
export type TrustedKeys = ReadonlySet<string> | undefined;

/** One event of a run in its order. */
export interface Ordered {
  readonly id: string;
  readonly session: string;
  readonly step: number;
  readonly order: number;
}

/** What the statements of one run vouch for. */
export interface RunStatements {
  readonly run: string;
  /** All events of the run in order; undefined when they are not all here, so that nothing can be said. */
  readonly events: readonly Ordered[] | undefined;
  /** Those that hold, oldest first. */
  readonly statements: readonly Signed[];
  /** How many events of the run, from the first on, a statement vouches for. */
  readonly covered: number;
  /** The same, whoever signed: of keys that are not trusted here too. */
  readonly claimed: number;
  /** Keys that are not trusted here, of statements that hold otherwise: they vouch for nothing, and say nothing against the record. */
  readonly unknownKeys: ReadonlySet<string>;
  readonly findings: readonly Finding[];
}

const none: ReadonlySet<string> = new Set();

/** Checks the statements of every run in a record. */
export async function checkStatements(source: Source, gathered: Gathered, keys: TrustedKeys): Promise<readonly RunStatements[]> {
  const byRun = new Map<string, Entry[]>();
  for (const entry of gathered.entries.values()) {
    if (entry.run === undefined) continue;
    const entries = byRun.get(entry.run);
    if (entries === undefined) byRun.set(entry.run, [entry]);
    else entries.push(entry);
  }
  const results: RunStatements[] = [];
  for (const run of gathered.runs.values()) {
    const mine = (byRun.get(run.id) ?? []).sort((a, b) => a.order - b.order);
    const result = run.shared ? await checkShared(source, run, keys) : checkRun(gathered, run, mine, keys);
    results.push({ ...result, findings: [...result.findings, ...checkRowOf(run)] });
  }
  return [...results, ...lostRuns(gathered)];
}

/** A row is written in one commit with what it says of the log: where it says more, the log was cut. */
function checkRowOf({ id, row, log }: GatheredRun): Finding[] {
  if (row === undefined || log?.whole === false) return [];
  const findings: Finding[] = [];
  const say = (problem: string, field: string): unknown => findings.push({ event: id, problem, field, kind: "listed" });
  const started = log?.entries.find((entry) => entry.kind === "run.started")?.names.started;
  if (started !== undefined) {
    const { workflow, key, input } = started;
    if (row.workflow !== workflow) say(`the run is listed as one of "${row.workflow}", but was started as "${workflow}"`, "workflow");
    if (row.key !== key) say(`the run is listed with the key ${row.key ?? "(none)"}, but was started with ${key ?? "none"}`, "key");
    if (row.session !== input.session)
      say(`the run is listed as working on session ${row.session}, but was started on ${input.session}`, "session");
  }
  const end = log?.entries.find((entry) => entry.kind === "run.ended");
  if (hasEnded(row.status)) {
    const { ended = row.status } = end?.names ?? {};
    if (end === undefined) say(`the run is marked ${row.status} but its end is missing`, "status");
    else if (ended !== row.status) say(`the run is marked ${row.status} but it ended as ${ended}`, "status");
  }
  return findings;
}

/** Work of a workflow whose run says nothing of itself. */
function lostRuns(gathered: Gathered): RunStatements[] {
  const lost: RunStatements[] = [];
  for (const { id, names } of gathered.entries.values()) {
    if (names.run === undefined || gathered.runs.get(names.run)?.shared === false) continue;
    lost.push({
      run: names.run,
      events: undefined,
      statements: [],
      covered: 0,
      claimed: 0,
      unknownKeys: none,
      findings: [
        { event: names.run, problem: `the own log of the run is missing, although ${id} begins its work`, field: "run", kind: "missing" },
      ],
    });
  }
  return lost;
}

/** Its events lie in sessions that are not ours to carry: where some are missing, its statements cannot be checked. */
async function checkShared(source: Source, run: GatheredRun, keys: TrustedKeys): Promise<RunStatements> {
  const nothing = { run: run.id, events: undefined, statements: [], covered: 0, claimed: 0, unknownKeys: none };
  if (run.log === undefined) return { ...nothing, findings: [] };
  const events: Ordered[] = [];
  try {
    for await (const { id, session, step, order } of source.events({ run: run.id })) events.push({ id, session, step, order });
  } catch (error) {
    if (!RathError.is(error, "store.corrupt")) throw error;
    return { ...nothing, findings: [{ event: run.id, problem: `its events cannot be read: ${error.message}`, kind: "unreadable" }] };
  }
  if (!events.every((event, index) => event.order === index)) return { ...nothing, findings: [] };
  return checkCoverage(run, events, undefined, keys);
}

function checkRun(gathered: Gathered, run: GatheredRun, events: readonly Entry[], keys: TrustedKeys): RunStatements {
  const journal = run.log?.entries ?? [];
  const input = journal.find((entry) => entry.kind === "run.started")?.names.origin;
  const checked = checkCoverage(run, events, input && gathered.entries.get(input.head), keys);
  const findings = [...checked.findings];
  const begins = journal[0];
  if (begins?.kind !== undefined && begins.kind !== "run.started")
    findings.push({
      event: begins.id,
      problem: `the log of run ${run.id} does not begin with run.started: events before it are missing`,
      kind: "missing",
    });
  for (const [index, event] of events.entries()) {
    const before = events[index - 1];
    if (before?.order === event.order)
      findings.push({
        event: event.id,
        problem: `it has the same place ${event.order} in the order of run ${run.id} as ${before.id}`,
        field: "order",
        kind: "order",
      });
    else if (index >= checked.covered && event.order !== (before?.order ?? -1) + 1) {
      findings.push({
        event: event.id,
        problem: `it has place ${event.order} in the order of run ${run.id}, after place ${before?.order ?? "(none)"}: events between them are missing or the order was changed`,
        field: "order",
        kind: "order",
      });
    }
  }
  return { ...checked, findings: [...findings, ...checkEnd(run, journal, events)] };
}

/** A run that ended has said so with a final statement, and wrote nothing afterwards. */
function checkEnd(run: GatheredRun, journal: readonly Entry[], events: readonly Entry[]): Finding[] {
  const findings: Finding[] = [];
  const ended = journal.findIndex((entry) => entry.kind === "run.ended");
  const final = journal.findLast((entry) => entry.names.signed?.statement.state === "final");
  if (ended >= 0 && (final === undefined || journal.indexOf(final) < ended))
    findings.push({
      event: (journal[ended] as Entry).id,
      problem: `run ${run.id} ended, but its final statement is missing`,
      kind: "missing",
    });
  if (final === undefined) return findings;
  if (ended < 0)
    findings.push({ event: final.id, problem: `run ${run.id} has a final statement, but its run.ended is missing`, kind: "missing" });
  for (const event of events)
    if (event.order > final.order)
      findings.push({
        event: event.id,
        problem: `it was added to run ${run.id} after the run's final statement`,
        field: "order",
        kind: "moved",
      });
  return findings;
}

function checkCoverage(run: GatheredRun, events: readonly Ordered[], input: Ordered | undefined, keys: TrustedKeys): RunStatements {
  const findings: Finding[] = [];
  const statements: Signed[] = [];
  const unknownKeys = new Set<string>();
  const entries = run.log?.entries ?? [];
  const heads = headsIn(entries, events);
  let covered = 0;
  let claimed = 0;
  let before: { readonly number: number; readonly events: number; readonly order: string } = { number: 0, events: 0, order: "" };
  for (const entry of entries) {
    const { signed } = entry.names;
    if (signed === undefined) continue; // what is wrong with it, or that it was erased, is said elsewhere
    const { statement } = signed;
    const say = (problem: string, field: string): unknown =>
      findings.push({ event: entry.id, problem, field: `data.statement.${field}`, kind: "signature" });
    const count = findings.length;
    const signature = signatureProblem(signed, undefined);
    if (signature !== undefined) say(signature, "key");
    if (statement.number !== before.number + 1)
      say(`statement ${statement.number} follows statement ${before.number}: one was removed or changed`, "number");
    const preceding = countBefore(events, entry.order);
    if (statement.events !== preceding)
      say(
        `the statement covers ${counted(statement.events, "event")}, but run ${run.id} has ${counted(preceding, "event")} before it: events were removed or added`,
        "events",
      );
    const ids = events.slice(before.events, preceding).map((event) => event.id);
    if (statement.order !== orderDigest(before.order, ids))
      say(
        `the statement covers other events, or another order of them, than run ${run.id} has: events were changed, removed, added or moved`,
        "order",
      );
    const written = heads.get(statement.head);
    const head = written !== undefined && written.order < entry.order ? written : input;
    if (head?.id !== statement.head || head.session !== statement.session || head.step !== statement.step) {
      say(
        `the statement names head ${statement.head} of session ${statement.session} at step ${statement.step}, which run ${run.id} had not come to`,
        "head",
      );
    }
    if (findings.length === count) claimed = preceding;
    if (findings.length === count && isTrusted(statement.key, keys)) {
      statements.push(signed);
      covered = preceding;
    } else if (findings.length === count) unknownKeys.add(statement.key);
    before = statement;
  }
  return { run: run.id, events, statements, covered, claimed, unknownKeys, findings };
}

/** The events that statements name as what the run had come to. */
function headsIn(entries: readonly Entry[], events: readonly Ordered[]): ReadonlyMap<string, Ordered> {
  const named = new Set(entries.flatMap(({ names }) => names.signed?.statement.head ?? []));
  return new Map(events.filter(({ id }) => named.has(id)).map((event) => [event.id, event]));
}

/** How many of events in their order come before a place in it. */
function countBefore(events: readonly Ordered[], order: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle] as Ordered).order < order) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What is wrong with a signature; undefined when it holds. */
export function signatureProblem({ statement, signature }: Signed, keys: TrustedKeys): string | undefined {
  let holds = false;
  try {
    // Base64 is read leniently, and keys are shown to people in commands.
    if (!/^[\w-]{43}$/.test(statement.key)) throw new Error("not 32 bytes in base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: statement.key }, format: "jwk" });
    holds = verify(null, statementBytes(statement), key, Buffer.from(signature, "base64url"));
  } catch {
    return `the statement's key ${statement.key} is not an ed25519 public key`;
  }
  if (!holds) return "the statement's signature does not hold: the statement or its signature was changed";
  if (!isTrusted(statement.key, keys))
    return `the statement is signed by an unknown key ${statement.key}: pass it in \`keys\` if you trust it`;
  return undefined;
}

function isTrusted(key: string, keys: TrustedKeys): boolean {
  return keys === undefined || keys.has(key);
}

/** One line that can be kept elsewhere and given to `verify` later. */
export function statementLine(signed: Signed): string {
  return canonicalize({ statement: signed.statement, signature: signed.signature }) as string;
}

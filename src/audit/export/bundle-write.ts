/** A session with all that proves it, as a file or folder that any store can take in. Exporting what was imported gives the same bytes. */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Execution } from "../../runtime/execution.ts";
import { runtimeOf } from "../../runtime/replay.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import type { RunRow, Store } from "../../store/store.ts";
import { checkBlobs } from "../blobs.ts";
import { checkChain } from "../chain.ts";
import { checkErased } from "../erased.ts";
import { type Gathered, type GatheredLog, gather } from "../gather.ts";
import { type Entry, inspector, type Place } from "../inspect.ts";
import { aboutOf } from "../log-about.ts";
import { blobLineOf, eventLineOf, formatName, formatVersion, lineOf, runLineOf } from "./bundle-format.ts";
import { longestLine, writeLines } from "./lines.ts";

/** Into one JSONL file when the name says so, else into a folder with its blobs beside it. */
export async function writeBundle(session: Session, file: string, onProgress: (events: number) => void = () => {}): Promise<void> {
  const runtime = runtimeOf(session);
  if (!runtime.closed) {
    await runtime.save(session);
    await signOpenRun(session);
  }
  // A session outlives its Rath: what was stored of it is still there.
  await runtime.reading((store) => writeFrom(store, session, file, onProgress));
}

async function writeFrom(store: Store, session: Session, file: string, onProgress: (events: number) => void): Promise<void> {
  const runtime = runtimeOf(session);
  const { node } = placeOf(session);
  const place = { session: node.log.id, head: node.id };
  const gathered = await gather(store, runtime.platform, await inspector(runtime.platform), [place], { onEvents: onProgress });
  const blobs = await checkBlobs(store, gathered);
  const [finding] = [...gathered.findings, ...checkErased(gathered), ...checkChain(runtime.platform, gathered), ...blobs.findings];
  if (finding !== undefined) {
    throw new RathError(
      "store.corrupt",
      `Session ${place.session} cannot be exported: ${finding.event}: ${finding.problem}. Run verify to see everything that is wrong.`,
      { session, details: { event: finding.event } },
    );
  }
  const bundle: Bundle = {
    store,
    gathered,
    place,
    logs: logsOf(gathered),
    runs: runsOf(gathered),
    blobs: blobsOf(gathered, blobs.ofTrees),
    events: gathered.entries.size,
    onProgress,
  };
  if (file.endsWith(".jsonl"))
    return writeLines(
      file,
      linesOf(bundle, (hash) => inline(store, hash)),
    );
  const folder = join(resolve(file), "blobs");
  await mkdir(folder, { recursive: true });
  await writeLines(
    join(file, "session.jsonl"),
    linesOf(bundle, (hash) => beside(store, folder, hash)),
  );
}

const progressEvery = 256;

interface Bundle {
  readonly store: Store;
  readonly gathered: Gathered;
  readonly place: Place;
  readonly logs: readonly GatheredLog[];
  readonly runs: readonly RunRow[];
  readonly blobs: readonly string[];
  readonly events: number;
  readonly onProgress: (events: number) => void;
}

/** A run that is going on here says how far it has come, so that what is exported can be proved. Ended and parked ones have said so. */
async function signOpenRun(session: Session): Promise<void> {
  const runtime = runtimeOf(session);
  const execution = placeOf(session).context.execution as Execution;
  const { closed, ending, mode, newest, writer } = execution;
  const news = writer.unsigned.some((node) => node.kind !== "run.signed");
  if (closed || ending || newest === undefined || !news || (mode !== "run" && mode !== "bare")) return;
  execution.signer.state(await runtime.key(), newest.moved ?? newest, "open");
  await writer.flush();
}

async function* linesOf(bundle: Bundle, blobLine: (hash: string) => Promise<string>): AsyncGenerator<string, void> {
  const { place, logs, runs, blobs, events } = bundle;
  yield lineOf({ format: formatName, version: formatVersion, ...place, logs: logs.length, runs: runs.length, events, blobs: blobs.length });
  for (const log of logs) yield logLineOf(log, bundle.gathered);
  for (const run of runs) yield runLineOf(run);
  for (const log of logs) yield* eventLines(bundle, log);
  for (const hash of blobs) {
    const line = await blobLine(hash);
    if (line.length > longestLine)
      throw new RathError(
        "value.too-large",
        `Blob ${hash} is too large for one line: export to a folder, with a name that does not end in ".jsonl".`,
        { details: { hash } },
      );
    yield line;
  }
}

function logLineOf(gatheredLog: GatheredLog, gathered: Gathered): string {
  const { id, row, entries, length } = gatheredLog;
  const { log = "session", parent } = row ?? {};
  const { principal, tags, title } = aboutOf(gathered, gatheredLog) ?? row ?? {};
  const last = entries[length - 1] as Entry;
  const named = tags === undefined || tags.length === 0 ? undefined : tags;
  return lineOf({ log: id, kind: log, head: last.id, events: length, parent, principal, run: entries[0]?.run, tags: named, title });
}

/** Reads a log again, so that no more than a page of it is in memory. */
async function* eventLines({ store, onProgress }: Bundle, { id, entries, length }: GatheredLog): AsyncGenerator<string, void> {
  const last = entries[length - 1] as Entry;
  let count = 0;
  for await (const event of store.events({ session: id, to: last.step })) {
    if (event.id !== entries[count]?.id) break;
    count++;
    if (count % progressEvery === 0) onProgress(progressEvery);
    yield eventLineOf(event);
  }
  if (count !== length)
    throw new RathError("store.corrupt", `Log ${id} changed while it was exported: it has ${count} of ${length} events now.`, {
      details: { session: id },
    });
}

async function inline(store: Store, hash: string): Promise<string> {
  return blobLineOf(hash, await blobOf(store, hash));
}

async function beside(store: Store, folder: string, hash: string): Promise<string> {
  const content = await blobOf(store, hash);
  const file = join(folder, hash);
  await writeFile(`${file}.partial`, content);
  await rename(`${file}.partial`, file);
  return lineOf({ blob: hash, bytes: content.length });
}

async function blobOf(store: Store, hash: string): Promise<Uint8Array> {
  const content = await store.blob(hash);
  if (content === undefined)
    throw new RathError("store.corrupt", `Blob ${hash} is not in the store: run verify to see what else is missing.`, {
      details: { hash },
    });
  return content;
}

const sorts = ["session", "run", "answer", "erasure"];

/** Sessions first, then runs and answers; older ones first, and so parents before their forks. */
function logsOf(gathered: Gathered): GatheredLog[] {
  const key = ({ id, row, entries }: GatheredLog): string =>
    `${sorts.indexOf(row?.log ?? "session")} ${entries[0]?.at} ${String(entries[0]?.step).padStart(16, "0")} ${id}`;
  return [...gathered.logs.values()].filter((log) => log.length > 0).sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** The rows of the runs in it; a workflow called without `rath.run` has none. */
function runsOf(gathered: Gathered): RunRow[] {
  return [...gathered.runs.values()]
    .flatMap(({ shared, row }) => (shared || row === undefined ? [] : [row]))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

function blobsOf(gathered: Gathered, ofTrees: ReadonlySet<string>): string[] {
  const hashes = new Set(ofTrees);
  for (const entry of gathered.entries.values()) for (const { hash } of entry.blobs) hashes.add(hash);
  return [...hashes].sort();
}

/** Taking sessions into a store from files: what they are is seen from their first line. */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Runtime } from "../../runtime/runtime.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import { type ImportOptions, importBundle } from "../export/bundle.ts";
import type { ImportedSession } from "./v1-import.ts";
import { isV1Header, readV1, type V1File, v1, wrong } from "./v1-read.ts";

/** What was found, and what it became. */
export interface Imported {
  readonly format: "bundle" | typeof v1;
  /** The session to go on with: that of the bundle, or of the newest file. */
  readonly session: Session;
  /** Of a foreign format: every session, parents first. */
  readonly sessions: readonly ImportedSession[];
}

type Source = string | AsyncIterable<Uint8Array>;

/** A first line is not looked for any further. */
const longestFirst = 1024 * 1024;

/** Imports a bundle, a session file of OpenRath 1, or a folder of such files. */
export async function importSessions(runtime: Runtime, source: Source, options: ImportOptions = {}): Promise<Imported> {
  const folder = typeof source === "string" && (await v1FilesIn(source));
  if (folder) return imported(runtime, await readFolder(folder));
  if (typeof source === "string" && !(await isFile(source))) return bundle(runtime, source, options);
  const name = typeof source === "string" ? source : "The stream";
  const { first, bytes, close } = await peeked(typeof source === "string" ? createReadStream(source) : source);
  if (isV1Header(first)) return imported(runtime, [await readV1(name, bytes)]);
  if (typeof source !== "string") return bundle(runtime, bytes, options);
  await close();
  return bundle(runtime, source, options);
}

async function bundle(runtime: Runtime, source: Source, options: ImportOptions): Promise<Imported> {
  return { format: "bundle", session: await importBundle(runtime, source, options), sessions: [] };
}

async function imported(runtime: Runtime, files: readonly V1File[]): Promise<Imported> {
  const { importV1 } = await import("./v1-import.ts");
  const sessions = await importV1(runtime, files);
  const newest = newestOf(files);
  const { session } = sessions.find(({ source }) => source === newest) as ImportedSession;
  return { format: v1, session, sessions };
}

/** By the time it says it was made; of equal ones the last. */
function newestOf(files: readonly V1File[]): string {
  let newest = files[0] as V1File;
  const made = ({ header }: V1File): string => String(header.created_at ?? "");
  for (const file of files) if (made(file) >= made(newest)) newest = file;
  return newest.header.id;
}

const partial = ".jsonl.__partial__";

/** The session files in a folder that is no bundle; undefined where there is no such folder. */
async function v1FilesIn(path: string): Promise<readonly string[] | undefined> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  if (entries.some((entry) => entry.name === "session.jsonl")) return undefined;
  const files = entries.filter((entry) => entry.isFile() && (entry.name.endsWith(".jsonl") || entry.name.endsWith(partial)));
  return files.length === 0 ? undefined : files.map((entry) => join(path, entry.name)).sort();
}

/** One after the other, so that a folder is not held open all at once. A file that is still written is left out where there is a finished one. */
async function readFolder(paths: readonly string[]): Promise<readonly V1File[]> {
  const files = new Map<string, V1File>();
  for (const path of paths) {
    const { first, bytes, close } = await peeked(createReadStream(path));
    if (!isV1Header(first)) {
      await close();
      throw wrong(path, { line: 1 }, "it is no session file of OpenRath 1; import bundles one by one");
    }
    const file = await readV1(path, bytes);
    const other = files.get(file.header.id);
    if (other === undefined || (path.endsWith(partial) === other.name.endsWith(partial) && other.digest === file.digest))
      files.set(file.header.id, file);
    else if (path.endsWith(partial) === other.name.endsWith(partial))
      throw wrong(path, { line: 1, field: "id" }, `${basename(other.name)} has the same id and says something else`);
    else files.set(file.header.id, path.endsWith(partial) ? beside(other, file) : beside(file, other));
  }
  return [...files.values()];
}

function beside(finished: V1File, unfinished: V1File): V1File {
  return { ...finished, warnings: [...finished.warnings, `${basename(unfinished.name)} beside it is unfinished and left out`] };
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

/** The first line, and all bytes again. Who does not read them closes. */
interface Peeked {
  readonly first: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

async function peeked(source: AsyncIterable<Uint8Array>): Promise<Peeked> {
  const iterator = source[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let [length, ended, found] = [0, false, false];
  while (!found && !ended && length < longestFirst) {
    const next = await iterator.next();
    ended = next.done === true;
    if (next.done === true) break;
    if (!(next.value instanceof Uint8Array))
      throw new RathError(
        "bundle.invalid",
        `Files are imported as bytes, but the source gave a ${typeof next.value}: give chunks of Uint8Array.`,
      );
    seen.push(next.value);
    length += next.value.length;
    found = next.value.includes(10);
  }
  const [first = ""] = Buffer.concat(seen).toString().split("\n", 1);
  const bytes = (async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* seen;
      while (!ended) {
        const next = await iterator.next();
        if (next.done === true) ended = true;
        else yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  })();
  return { first, bytes, close: async () => void (await iterator.return?.()) };
}

/** The blobs of a record: those that events name, and the directories and contents of the trees of files they name. */
import { hash } from "node:crypto";
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import { textOfThrown } from "../session/thrown.ts";
import { decodeDirectory, emptyTree, type KnownLines } from "../workspace/tree.ts";
import { erasedBlobs } from "./erased.ts";
import type { Gathered, Source } from "./gather.ts";
import type { Entry } from "./inspect.ts";
import type { Finding, Flaw } from "./problem.ts";

/** What was found wrong with blobs, and which of them trees hold. */
export interface CheckedBlobs {
  readonly findings: readonly Finding[];
  /** Hashes of directories and contents. */
  readonly ofTrees: ReadonlySet<string>;
  /** Hashes of contents that are named and were erased. */
  readonly erased: ReadonlySet<string>;
  /** How many were looked at: contents that events name, trees, and contents of files in them. */
  readonly counts: { readonly blobs: number; readonly trees: number; readonly files: number };
}

/** Reads every blob once: is it there, is it what its name says. */
export async function checkBlobs(source: Source, gathered: Gathered): Promise<CheckedBlobs> {
  const checking = new Checking(source, erasedBlobs(gathered));
  for (const entry of gathered.entries.values()) {
    for (const { hash: name, bytes } of entry.blobs) {
      if (!checking.has(name)) checking.counts.blobs++;
      await checking.blob(entry, name, bytes, "its data says");
    }
    for (const tree of entry.trees) await checking.tree(entry, tree);
  }
  return checking;
}

class Checking implements CheckedBlobs {
  readonly findings: Finding[] = [];
  readonly ofTrees = new Set<string>();
  readonly erased = new Set<string>();
  readonly counts = { blobs: 0, trees: 0, files: 0 };
  readonly #source: Source;
  /** What may be missing. */
  readonly #listed: ReadonlySet<string>;
  readonly #lengths = new Map<string, number | undefined>();
  readonly #lines: KnownLines = new Map();

  constructor(source: Source, listed: ReadonlySet<string>) {
    this.#source = source;
    this.#listed = listed;
  }

  has(name: string): boolean {
    return this.#lengths.has(name);
  }

  /** The content of a blob that is met for the first time and is as it should be. */
  async blob(entry: Entry, name: string, bytes: number | undefined, who: string): Promise<Uint8Array | undefined> {
    const met = this.#lengths.has(name);
    const read = met ? {} : await readBlob(this.#source, name);
    // Other bytes under its name are no erasure.
    const isErased = read.kind === "missing" && this.#listed.has(name);
    if (isErased) this.erased.add(name);
    const { content, problem, kind } = isErased ? {} : read;
    if (!met) this.#lengths.set(name, content?.length);
    const length = this.#lengths.get(name);
    if (problem !== undefined) this.findings.push({ event: entry.id, problem, field: "data", kind });
    else if (length !== undefined && bytes !== undefined && length !== bytes)
      this.findings.push({ event: entry.id, problem: `blob ${name} has ${counted(length, "byte")}, ${who} ${bytes}`, field: "data" });
    return content;
  }

  /** Directories that several trees share are looked at once. */
  async tree(entry: Entry, root: string): Promise<void> {
    const waiting = [root];
    if (root !== emptyTree && !this.ofTrees.has(root)) this.counts.trees++;
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (name === emptyTree || this.ofTrees.has(name)) continue;
      this.ofTrees.add(name);
      const content = await this.blob(entry, name, undefined, "");
      if (content === undefined) continue;
      try {
        for (const inner of decodeDirectory(content, this.#lines).values()) {
          if (inner.type === "directory") waiting.push(inner.hash);
          else if (inner.type === "file" && !this.ofTrees.has(inner.hash)) {
            this.ofTrees.add(inner.hash);
            this.counts.files++;
            await this.blob(entry, inner.hash, inner.size, "its directory says");
            // What was erased belongs to no tree any more.
            if (this.#lengths.get(inner.hash) === undefined) this.ofTrees.delete(inner.hash);
          }
        }
      } catch (error) {
        this.findings.push({ event: entry.id, problem: `blob ${name} is no directory: ${textOfThrown(error)}`, field: "data" });
      }
    }
  }
}

async function readBlob(source: Source, name: string): Promise<{ readonly content?: Uint8Array } & Partial<Flaw>> {
  try {
    const content = await source.blob(name);
    if (content === undefined) return { problem: `blob ${name} is missing`, kind: "missing" };
    return hash("sha256", content) === name ? { content } : { problem: `blob ${name} was changed: its SHA-256 is not its name` };
  } catch (error) {
    if (!RathError.is(error, "store.corrupt")) throw error;
    return { problem: `blob ${name} cannot be read: ${error.message}`, kind: "unreadable" };
  }
}

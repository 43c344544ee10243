/**
 * The SQLite memory, put together from its parts. Apart from `sqlite.ts` so that tests can give it another driver.
 *
 * It owns one database file, which any number of processes may use at once. The file is made by the first write; before, reading
 * finds nothing.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { EmbedderLike } from "../session/embedding.ts";
import { givenOptions, givenText } from "../session/given.ts";
import { givenEmbedder } from "../session/given-memory.ts";
import { Connection } from "../sqlite/connection.ts";
import type { OpenDatabase } from "../sqlite/driver.ts";
import { keptIn } from "../sqlite/kept.ts";
import { scrub } from "../sqlite/scrub.ts";
import type { MemoryStore } from "./memory.ts";
import { emptyIndex, search } from "./search.ts";
import { eraseItems } from "./sqlite-erase.ts";
import { memoryFormat } from "./sqlite-format.ts";
import { SqliteIndex } from "./sqlite-index.ts";
import { listPages, usePages } from "./sqlite-list.ts";
import { newestRevision } from "./sqlite-rows.ts";
import { type LoadVectors, Vectors } from "./sqlite-vectors.ts";
import { noteUses, writeItems } from "./sqlite-write.ts";

/** How a SQLite memory is opened. */
export interface SqliteMemoryOptions {
  /** Makes vectors of texts; without one, words alone are compared. */
  readonly embedder?: EmbedderLike | undefined;
  /** Whose memory it is; "default" when left out. */
  readonly tenant?: string | undefined;
  readonly project?: string | undefined;
  /** Milliseconds since 1970, for what expires. */
  readonly clock?: (() => number) | undefined;
}

/** What the machine gives. */
export interface SqliteParts {
  readonly open: OpenDatabase;
  readonly loadVectors: LoadVectors;
  readonly patienceMs?: number | undefined;
}

/** The memory in the file at `path`. */
export function memoryOn(path: string, options: SqliteMemoryOptions, parts: SqliteParts): MemoryStore {
  const known = ["embedder", "tenant", "project", "clock"] as const;
  const { embedder, tenant = "default", project = "default", clock = Date.now } = givenOptions(options, known, "sqliteMemory");
  givenText(path, "the path of sqliteMemory");
  givenEmbedder(embedder, "sqliteMemory.embedder");
  const { open, loadVectors, patienceMs = 10_000 } = parts;
  const connection = new Connection({ path: resolve(path), format: memoryFormat, tenant, project, clock, open, patienceMs });
  const index = new SqliteIndex(connection, new Vectors(connection, loadVectors));

  /** Nothing was ever written. A log without its file is damage, which opening it reports. */
  const isAbsent = (): boolean =>
    !connection.closed && !connection.opened && !existsSync(connection.path) && !existsSync(`${connection.path}-wal`);
  const revision = async (): Promise<number> => (isAbsent() ? 0 : connection.patiently(() => newestRevision(connection)));

  const memory: MemoryStore = {
    embedder,
    revision,
    write: async (writes, { whole = false } = {}) =>
      writes.length === 0 ? { revision: await revision(), written: [], refused: [] } : writeItems(connection, writes, whole),
    search: async (query) => {
      if (isAbsent()) return search(emptyIndex, query, 0, clock());
      return connection.patiently(() => {
        const newest = newestRevision(connection);
        return search(index, query, Math.min(query.asOf ?? newest, newest), clock());
      });
    },
    list: (query) => items(isAbsent, () => listPages(connection, query, clock())),
    used: (uses) => noteUses(connection, uses),
    uses: (uri) => items(isAbsent, () => usePages(connection, uri)),
    erase: async (versions, entry) => {
      if (isAbsent()) return;
      await eraseItems(connection, versions, entry);
      index.forget();
    },
    scrub: () => scrub(connection),
    [Symbol.asyncDispose]: async () => connection.close(),
  };
  keptIn(memory, connection.path);
  return memory;
}

async function* items<T>(isAbsent: () => boolean, pages: () => AsyncIterable<readonly T[]>): AsyncGenerator<T, void> {
  if (isAbsent()) return;
  for await (const page of pages()) yield* page;
}

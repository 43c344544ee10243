/**
 * Memory in a PostgreSQL database: for several machines. Any number of processes may use it at once, and other memories and sessions may be
 * in the same database.
 */
import { Connection, type PostgresOptions } from "../postgres/connection.ts";
import type { PostgresPool } from "../postgres/driver.ts";
import { keptAt } from "../postgres/upkeep.ts";
import { vacuum } from "../postgres/vacuum.ts";
import type { EmbedderLike } from "../session/embedding.ts";
import { givenOptions } from "../session/given.ts";
import { givenEmbedder } from "../session/given-memory.ts";
import type { MemoryStore } from "./memory.ts";
import { eraseItems } from "./postgres-erase.ts";
import { memoryFormat } from "./postgres-format.ts";
import { listPages, usePages } from "./postgres-list.ts";
import { type Place, projectAt } from "./postgres-rows.ts";
import { searchItems } from "./postgres-search.ts";
import { Vectors } from "./postgres-vectors.ts";
import { noteUses, writeItems } from "./postgres-write.ts";

export type { PostgresOptions } from "../postgres/connection.ts";
export type { PostgresPool } from "../postgres/driver.ts";

/** How a PostgreSQL memory is opened. */
export interface PostgresMemoryOptions extends PostgresOptions {
  /** Makes vectors of texts; without one, words alone are compared. */
  readonly embedder?: EmbedderLike | undefined;
  /** Milliseconds since 1970, for what expires. */
  readonly clock?: (() => number) | undefined;
}

const known = ["embedder", "clock", "tenant", "project", "schema", "migrate", "max", "patienceMs"] as const;

/**
 * Memory in the database at a URL, or behind a pool of your own, which stays open. The tables are made by the first call. Vectors are
 * compared by the extension pgvector where the server has it.
 *
 * @example
 * await using memory = postgresMemory("postgres://localhost:5432/openrath");
 * const hits = await memory.search({ text: "how are tests run?", within: ["memory://project/"], limit: 5 });
 */
export function postgresMemory(database: string | PostgresPool, options: PostgresMemoryOptions = {}): MemoryStore {
  const { embedder, clock = Date.now, ...rest } = givenOptions(options, known, "postgresMemory");
  givenEmbedder(embedder, "postgresMemory.embedder");
  const connection = new Connection(database, rest, memoryFormat);
  const place: Place = {
    ...{ tenant: connection.tenant, project: connection.project, name: connection.place },
    ask: (sql, values) => connection.read(sql, [...values]),
    tell: (sql, values) => connection.write(sql, [...values]),
  };
  const vectors = new Vectors(place);
  const revision = async (): Promise<number> => (await projectAt(place))?.newest ?? 0;
  const memory: MemoryStore = {
    embedder,
    revision,
    write: async (writes, { whole = false } = {}) =>
      writes.length === 0 ? { revision: await revision(), written: [], refused: [] } : writeItems(place, writes, whole),
    search: (query) => searchItems(place, vectors, query, clock()),
    list: (query) => items(listPages(place, query, clock())),
    used: (uses) => noteUses(place, uses),
    uses: (uri) => items(usePages(place, uri)),
    erase: (versions, entry) => eraseItems(place, versions, entry),
    scrub: () => vacuum(connection, ["memory_bodies", "memory_words", "memory_vectors"]),
    [Symbol.asyncDispose]: () => connection.close(),
  };
  keptAt(memory, database, rest, memoryFormat);
  return memory;
}

async function* items<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T, void> {
  for await (const page of pages) yield* page;
}

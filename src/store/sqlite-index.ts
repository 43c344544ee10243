/**
 * The text index in a SQLite file of its own, by FTS5 with trigrams. Contentless: of a text only its trigrams are kept, and of those
 * only in which document they are. A file that is damaged or of another format is removed and made again.
 */
import { existsSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { RathError } from "../session/errors.ts";
import { Connection } from "../sqlite/connection.ts";
import { openDatabase } from "../sqlite/driver.ts";
import type { Format } from "../sqlite/format.ts";
import type { Candidates, IndexedLog, IndexedThing, IndexedTo, TextIndex } from "./text-index.ts";

/**
 * `documents` are pieces of a log, or things that logs name. `naming` has the first event of each log that names a thing. FTS5 counts
 * a text once for each document; its own table of lengths is what lets it delete.
 */
const tables = `
CREATE TABLE logs (no INTEGER PRIMARY KEY, project TEXT NOT NULL, id TEXT NOT NULL, step INTEGER NOT NULL, head TEXT NOT NULL,
  UNIQUE (project, id)) STRICT;
CREATE TABLE documents (no INTEGER PRIMARY KEY, log INTEGER, first INTEGER, last INTEGER, erased INTEGER, key TEXT UNIQUE) STRICT;
CREATE INDEX documents_log ON documents (log) WHERE log IS NOT NULL;
CREATE TABLE naming (log INTEGER NOT NULL, document INTEGER NOT NULL, step INTEGER NOT NULL, path TEXT, PRIMARY KEY (log, document))
  STRICT, WITHOUT ROWID;
CREATE INDEX naming_document ON naming (document);
CREATE VIRTUAL TABLE texts USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1');
INSERT INTO texts (texts, rank) VALUES ('hashsize', 33554432);
`;

/** The mark is "RIx" and the number of the format: a file of another one is not ours, and goes. */
const format: Format = { applicationId: 0x52_49_78_01, steps: [tables], opener: "sqliteIndex", cache: true };
const patienceMs = 10_000;
/** More of a long text do not make it rarer. */
const mostTrigrams = 48;

/** Makes texts comparable whatever their case. Upper case last: lower case knows a Greek letter that depends on what follows. */
export function foldCase(text: string): string {
  // FTS5 takes a zero for the end of a text.
  return text.replaceAll("\0", " ").toLowerCase().toUpperCase();
}

/** The index in the file at `path`, which is made (0600) when it is first used. Any number of processes may have it open. */
export function sqliteIndex(path: string, options: { readonly project?: string | undefined } = {}): TextIndex {
  return new SqliteIndex(resolve(path), options.project ?? "default");
}

class SqliteIndex implements TextIndex {
  readonly #path: string;
  readonly #project: string;
  #connection: Connection | undefined;

  constructor(path: string, project: string) {
    this.#path = path;
    this.#project = project;
  }

  async known(): Promise<ReadonlyMap<string, IndexedTo>> {
    const read = (): Promise<ReadonlyMap<string, IndexedTo>> => this.#use((connection) => this.#known(connection));
    // What could not be read is gone by then.
    return read().catch((error: unknown) => (isDamage(error) ? read() : Promise.reject(error)));
  }

  async unmet(log: string, keys: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    return this.#use((connection) => {
      const no = this.#logNumber(connection, log) ?? -1;
      const find = connection.statement<{ met: number | null }>(
        "SELECT (SELECT 1 FROM naming WHERE log = ? AND document = no) AS met FROM documents WHERE key = ?",
      );
      const unmet = new Map<string, boolean>();
      for (const key of keys) {
        const found = find.get(no, key);
        if (found?.met !== 1) unmet.set(key, found !== undefined);
      }
      return unmet;
    });
  }

  async add(logs: readonly IndexedLog[]): Promise<void> {
    await this.#use((connection) =>
      connection.transaction(false, () => {
        for (const log of logs) this.#add(connection, log);
      }),
    );
  }

  async candidates(texts: readonly string[]): Promise<Candidates> {
    return this.#use((connection) => {
      // One moment for all that is read.
      connection.statement("BEGIN").run();
      try {
        const query = matching(texts);
        // In this order, which is what CROSS says: what matches is few, and logs may be many.
        const found = "texts CROSS JOIN documents ON documents.no = texts.rowid";
        const pieces = connection
          .statement<Candidates["pieces"][number]>(
            `SELECT logs.id AS log, first, last, erased FROM ${found} CROSS JOIN logs ON logs.no = documents.log
             WHERE texts MATCH ? AND project = ? ORDER BY logs.no, first`,
          )
          .all(query, this.#project);
        const things = connection
          .statement<{ key: string; log: string; step: number; path: string | null }>(
            `SELECT key, logs.id AS log, naming.step AS step, path FROM ${found}
             CROSS JOIN naming ON naming.document = documents.no CROSS JOIN logs ON logs.no = naming.log
             WHERE texts MATCH ? AND project = ? ORDER BY naming.step`,
          )
          .all(query, this.#project)
          .map(({ path, ...thing }) => ({ ...thing, path: path ?? undefined }));
        return { pieces, things, known: this.#known(connection) };
      } finally {
        connection.statement("COMMIT").run();
      }
    });
  }

  async forget(logs: readonly string[], keys: readonly string[] = []): Promise<void> {
    if (logs.length === 0 && keys.length === 0) return;
    await this.#use((connection) => {
      connection.transaction(true, () => {
        for (const log of logs) this.#forget(connection, log);
        for (const key of keys)
          connection.statement("DELETE FROM naming WHERE document IN (SELECT no FROM documents WHERE key = ?)").run(key);
        const nobodys = "SELECT no FROM documents WHERE key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM naming WHERE document = no)";
        connection.statement(`DELETE FROM texts WHERE rowid IN (${nobodys})`).run();
        connection.statement(`DELETE FROM documents WHERE no IN (${nobodys})`).run();
        // Until it is merged, the index only notes that they are deleted.
        connection.statement("INSERT INTO texts (texts) VALUES ('optimize')").run();
      });
      connection.emptyLog();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #known(connection: Connection): ReadonlyMap<string, IndexedTo> {
    const rows = connection.statement<IndexedTo & { id: string }>("SELECT id, step, head FROM logs WHERE project = ?").all(this.#project);
    return new Map(rows.map(({ id, step, head }) => [id, { step, head }]));
  }

  #logNumber(connection: Connection, log: string): number | undefined {
    return connection.statement<{ no: number }>("SELECT no FROM logs WHERE project = ? AND id = ?").get(this.#project, log)?.no;
  }

  #add(connection: Connection, { log, after, step, head, pieces, things }: IndexedLog): void {
    const known = connection
      .statement<{ no: number; step: number }>("SELECT no, step FROM logs WHERE project = ? AND id = ?")
      .get(this.#project, log);
    // Somebody else was here meanwhile, or took out what this relies on: whoever asks next fills it in.
    if ((known?.step ?? 0) !== after || things.some((thing) => thing.text === undefined && !hasDocument(connection, thing.key))) return;
    connection
      .statement(
        "INSERT INTO logs (project, id, step, head) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET step = excluded.step, head = excluded.head",
      )
      .run(this.#project, log, step, head);
    const no = known?.no ?? (this.#logNumber(connection, log) as number);
    for (const { first, last, erased, text } of pieces) {
      const document = connection
        .statement<{ no: number }>("INSERT INTO documents (log, first, last, erased) VALUES (?, ?, ?, ?) RETURNING no")
        .get(no, first, last, erased);
      addText(connection, document?.no as number, text);
    }
    for (const thing of things) addThing(connection, no, thing);
  }

  #forget(connection: Connection, log: string): void {
    const no = this.#logNumber(connection, log);
    if (no === undefined) return;
    connection.statement("DELETE FROM texts WHERE rowid IN (SELECT no FROM documents WHERE log = ?)").run(no);
    connection.statement("DELETE FROM documents WHERE log = ?").run(no);
    connection.statement("DELETE FROM naming WHERE log = ?").run(no);
    connection.statement("DELETE FROM logs WHERE no = ?").run(no);
  }

  async #use<T>(work: (connection: Connection) => T): Promise<T> {
    this.#connection ??= new Connection({
      ...{ path: this.#path, format, tenant: "default", project: this.#project },
      ...{ clock: Date.now, open: openDatabase, patienceMs },
    });
    const connection = this.#connection;
    try {
      return await connection.patiently(() => work(connection));
    } catch (error) {
      if (isDamage(error)) this.#discard();
      throw error;
    }
  }

  /** Whoever has it open goes on with what they have; who opens it next makes another. */
  #discard(): void {
    this.#connection?.close();
    this.#connection = undefined;
    for (const end of ["", "-wal", "-shm", "-journal"]) if (existsSync(this.#path + end)) rmSync(this.#path + end, { force: true });
  }
}

/** Also what a constraint refuses: the tables are ours alone, and nothing we write is refused by a sound file. */
function isDamage(error: unknown): boolean {
  return RathError.is(error, "store.corrupt") || RathError.is(error, "store.newer-format") || RathError.is(error, "store.conflict");
}

function hasDocument(connection: Connection, key: string): boolean {
  return connection.statement("SELECT 1 FROM documents WHERE key = ?").get(key) !== undefined;
}

function addThing(connection: Connection, log: number, { key, step, path, text }: IndexedThing): void {
  const made = connection.statement<{ no: number }>("INSERT INTO documents (key) VALUES (?) ON CONFLICT DO NOTHING RETURNING no").get(key);
  const no = made?.no ?? connection.statement<{ no: number }>("SELECT no FROM documents WHERE key = ?").get(key)?.no;
  if (made !== undefined) addText(connection, made.no, text ?? "");
  connection
    .statement("INSERT INTO naming (log, document, step, path) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING")
    .run(log, no as number, step, path ?? null);
}

function addText(connection: Connection, no: number, text: string): void {
  if (text.length >= 3) connection.statement("INSERT INTO texts (rowid, text) VALUES (?, ?)").run(no, foldCase(text));
}

/** Documents that have every trigram of every text. That they stand in order is for whoever reads them to see. */
function matching(texts: readonly string[]): string {
  const trigrams = new Set<string>();
  for (const text of texts) {
    const characters = [...foldCase(text)];
    for (let at = 0; at + 3 <= characters.length && trigrams.size < mostTrigrams; at++)
      trigrams.add(
        `"${characters
          .slice(at, at + 3)
          .join("")
          .replaceAll('"', '""')}"`,
      );
  }
  return [...trigrams].join(" ");
}

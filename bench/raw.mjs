// The baseline: SQLite with nothing around it. WAL, synchronous=FULL, one row per commit.
// The WAL is extended beforehand: while its file grows, each fdatasync also commits a change of size and costs twice as much.
import Database from "better-sqlite3";

/** A file in which `commit(body)` is one durable commit of one row. */
export function rawCommits(file) {
  const db = openDatabase(file);
  db.exec("create table row (id integer primary key, body blob not null); create table pad (id integer primary key, n integer)");
  extendWal(db);
  const insert = db.prepare("insert into row (body) values (?)");
  return { commit: (/** @type {Uint8Array} */ body) => insert.run(body), close: () => db.close() };
}

/** Writes events as one row each: the fixed layout against which opening a session is compared. */
export function writeRows(file, events) {
  const db = openDatabase(file);
  db.exec("create table event (seq integer primary key, id text not null, envelope blob not null, data blob)");
  const insert = db.prepare("insert into event (id, envelope, data) values (?, ?, ?)");
  db.transaction(() => {
    for (const event of events) insert.run(event.id, event.envelope, event.data);
  })();
  db.close();
}

/** Opens the file and reads every row in order; returns the bytes read. */
export function readRows(file) {
  const db = openDatabase(file);
  let bytes = 0;
  for (const row of db.prepare("select id, envelope, data from event order by seq").iterate()) {
    bytes += row.id.length + row.envelope.length + (row.data?.length ?? 0);
  }
  db.close();
  return bytes;
}

/** A file that every commit reaches before it returns. */
export function openDatabase(file) {
  const db = new Database(file);
  db.pragma("journal_mode = wal");
  db.pragma("synchronous = full");
  return db;
}

/** Needs a table `pad (id, n)`. */
export function extendWal(db) {
  db.pragma("synchronous = off");
  db.exec("insert into pad values (1, 0)");
  const touch = db.prepare("update pad set n = n + 1 where id = 1");
  for (let i = 0; i < 1100; i++) touch.run();
  db.pragma("wal_checkpoint(passive)");
  db.pragma("synchronous = full");
}

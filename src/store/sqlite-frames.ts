/** Frames as rows: where they lie, how they are read back, and what is said when one is damaged. */
import { RathError } from "../session/errors.ts";
import type { Connection } from "../sqlite/connection.ts";
import { decodeFrame, type FrameNumbers, type FramePlace, frameEnd, frameIdPrefixes, frameNumbers } from "./frame.ts";
import type { StoredEvent } from "./store.ts";

/** Positions a log has. The number of a log times this, plus a position, is a place; all places stay below 2^53. */
export const perLog = 2 ** 24;

export interface FrameRow {
  readonly place: number;
  readonly writer: number;
  readonly body: Uint8Array;
}

/** How far a reader has come: the place after the last event it has, and that event's id. */
export interface ReadTo {
  readonly place: number;
  readonly head: string | undefined;
}

const rememberedNames = 10_000;

export class Frames {
  readonly #connection: Connection;
  /** Names by number; they never change. */
  readonly #sessions = new Map<number, string>();
  readonly #runs = new Map<number, string>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The last frame that begins at or before a place and belongs to its log. */
  at(place: number): FrameRow | undefined {
    const first = place - (place % perLog);
    return this.#connection
      .statement<FrameRow>("SELECT place, writer, body FROM frames WHERE place <= ? AND place >= ? ORDER BY place DESC LIMIT 1")
      .get(place, first);
  }

  lastOf(log: number): FrameRow | undefined {
    return this.at((log + 1) * perLog - 1);
  }

  /** Where the last frame of a log begins. */
  lastPlace(log: number): number | undefined {
    const sql = "SELECT max(place) AS place FROM frames WHERE place >= ? AND place < ?";
    return this.#connection.statement<{ place: number | null }>(sql).get(log * perLog, (log + 1) * perLog)?.place ?? undefined;
  }

  /** The last frame of a run that begins at or before a place in its log. */
  byWriter(writer: number, place: number): FrameRow | undefined {
    const first = place - (place % perLog);
    return this.#connection
      .statement<FrameRow>(
        "SELECT place, writer, body FROM frames WHERE place <= ? AND place >= ? AND writer = ? ORDER BY place DESC LIMIT 1",
      )
      .get(place, first, writer);
  }

  /** Up to `limit` frames from one place to another, of one writer if it is given. */
  between(from: number, to: number, limit: number, writer?: number): FrameRow[] {
    const sql = "SELECT place, writer, body FROM frames WHERE place >= ? AND place <= ?";
    if (writer === undefined) return this.#connection.statement<FrameRow>(`${sql} ORDER BY place LIMIT ?`).all(from, to, limit);
    return this.#connection.statement<FrameRow>(`${sql} AND writer = ? ORDER BY place LIMIT ?`).all(from, to, writer, limit);
  }

  /** The events of frames in the order of their places. Where a log has a gap, the frame after it counts as damaged. */
  events(rows: readonly FrameRow[], before?: ReadTo): StoredEvent[] {
    const events: StoredEvent[] = [];
    let read = before;
    for (const row of rows) {
      const head = read?.place === row.place ? read.head : undefined;
      const found = this.#read(row, (place) => decodeFrame(row.body, place, head ?? this.idBefore(row)));
      for (const event of found) events.push(event);
      read = { place: row.place + found.length, head: events.at(-1)?.id };
    }
    return events;
  }

  /** How many events a frame has and the head it makes. */
  end(row: FrameRow): { readonly count: number; readonly head: string } {
    return this.#read(row, (place) => frameEnd(row.body, place));
  }

  numbers(row: FrameRow): FrameNumbers {
    return this.#read(row, (place) => frameNumbers(row.body, place));
  }

  idPrefixes(row: FrameRow): number[] {
    return this.#read(row, (place) => frameIdPrefixes(row.body, place));
  }

  /** True if the log of a place belongs to this tenant and project. */
  owns(place: number): boolean {
    const { tenant, project } = this.#connection;
    const row = this.#connection
      .statement<{ tenant: string; project: string }>("SELECT tenant, project FROM logs WHERE no = ?")
      .get(Math.floor(place / perLog));
    return row?.tenant === tenant && row.project === project;
  }

  /** Drops the names it knows, after a transaction that was undone. */
  forget(): void {
    this.#sessions.clear();
    this.#runs.clear();
  }

  placeOf(row: FrameRow): FramePlace {
    const session = this.#name(this.#sessions, Math.floor(row.place / perLog), "SELECT id AS name FROM logs WHERE no = ?");
    const run = row.writer === 0 ? undefined : this.#name(this.#runs, row.writer, "SELECT run AS name FROM writers WHERE no = ?");
    return { session, run, seq: row.place % perLog };
  }

  /** The event before a frame in its log. */
  idBefore(row: FrameRow): string | undefined {
    if (row.place % perLog === 0) return undefined;
    const before = this.at(row.place - 1);
    if (before === undefined) throw new Error("the frame before it is missing");
    const { count, head } = this.end(before);
    if (before.place + count !== row.place) throw new Error("events before it are missing");
    return head;
  }

  #read<T>(row: FrameRow, work: (place: FramePlace) => T): T {
    try {
      return work(this.placeOf(row));
    } catch (cause) {
      if (RathError.is(cause) || !(cause instanceof Error)) throw cause;
      const log = this.#sessions.get(Math.floor(row.place / perLog)) ?? `number ${Math.floor(row.place / perLog)}`;
      const message = `${this.#connection.path} is damaged: the events of log ${log} at position ${row.place % perLog} cannot be read (${cause.message}). Nothing was changed. Restore the file from a backup; other logs may still be readable.`;
      throw new RathError("store.corrupt", message, { cause, details: { path: this.#connection.path, log, position: row.place % perLog } });
    }
  }

  #name(names: Map<number, string>, no: number, sql: string): string {
    const known = names.get(no);
    if (known !== undefined) return known;
    const name = this.#connection.statement<{ name: string }>(sql).get(no)?.name;
    if (name === undefined) throw new Error("its log or the run that wrote it is not listed");
    if (names.size >= rememberedNames) names.clear();
    names.set(no, name);
    return name;
  }
}

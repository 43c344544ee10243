/**
 * Events by id, and erasing them. The index of ids is kept out of appends (random keys would dirty a page each); it is
 * filled in bulk when an id is not found in it, and at close. An entry is 48 bits of the id and a place; what is found
 * there is compared with the whole id, so a damaged index can hide an event but never give a wrong one.
 */

import type { Connection } from "../sqlite/connection.ts";
import { pragma } from "../sqlite/format.ts";
import { encodeFrame, idPrefix, sealFrame } from "./frame.ts";
import { breathe } from "./pages.ts";
import { type FrameRow, type Frames, perLog } from "./sqlite-frames.ts";
import { forgetAbout } from "./sqlite-logs.ts";
import type { StoredEvent } from "./store.ts";

const idsAPage = 256;
const framesAStep = 1024;

export class Ids {
  readonly #connection: Connection;
  readonly #frames: Frames;
  /** Logs this process has appended to since they were indexed. */
  readonly #unindexed: Set<number>;
  /** SQLite's count of changes by other processes when all logs were last looked at. */
  #seen: number | undefined;

  constructor(connection: Connection, frames: Frames, unindexed: Set<number>) {
    this.#connection = connection;
    this.#frames = frames;
    this.#unindexed = unindexed;
  }

  /** Events in the order asked, without those that are not there. Each has bytes of its own. */
  async *pages(ids: readonly string[]): AsyncGenerator<readonly StoredEvent[], void> {
    for (let start = 0; start < ids.length; start += idsAPage) {
      if (start > 0) await breathe();
      const wanted = ids.slice(start, start + idsAPage);
      const found = await this.#find(wanted);
      yield wanted.flatMap((id) => {
        const event = found.get(id)?.event;
        return event === undefined
          ? []
          : [{ ...event, envelope: new Uint8Array(event.envelope), data: event.data && new Uint8Array(event.data) }];
      });
    }
  }

  /** Removes data, some frames in one transaction. SQLite's log still has it, until the file is scrubbed. */
  async erase(ids: readonly string[], entry: string): Promise<void> {
    for (let start = 0; start < ids.length || start === 0; start += idsAPage) {
      const found = await this.#find(ids.slice(start, start + idsAPage));
      const places = new Set([...found.values()].map(({ row }) => row.place));
      if (places.size === 0) continue;
      await this.#connection.patiently(() =>
        this.#connection.transaction(true, () => {
          for (const place of places) this.#rewrite(place, (id) => found.has(id), entry);
        }),
      );
      await breathe();
    }
  }

  /** Brings the index up to date with what this process wrote, or with everything. */
  async catchUp(all: boolean): Promise<void> {
    const seen = await this.#connection.patiently(() => pragma(this.#connection.database, "data_version"));
    const logs = all && seen !== this.#seen ? await this.#connection.patiently(() => this.#behind()) : [...this.#unindexed];
    for (const log of logs) {
      while (await this.#connection.patiently(() => this.#indexSome(log))) await breathe();
    }
    if (all) this.#seen = seen;
  }

  async #find(ids: readonly string[]): Promise<Map<string, { readonly row: FrameRow; readonly event: StoredEvent }>> {
    const found = await this.#connection.patiently(() => this.#lookUp(ids));
    if (found.size === new Set(ids).size) return found;
    await this.catchUp(true);
    return this.#connection.patiently(() => this.#lookUp(ids));
  }

  #lookUp(ids: readonly string[]): Map<string, { readonly row: FrameRow; readonly event: StoredEvent }> {
    const found = new Map<string, { readonly row: FrameRow; readonly event: StoredEvent }>();
    const decoded = new Map<number, readonly StoredEvent[]>();
    for (const id of ids) {
      const entries = this.#connection.statement<{ place: number }>("SELECT place FROM event_ids WHERE prefix = ?").all(idPrefix(id));
      for (const { place } of entries) {
        const row = this.#frames.owns(place) ? this.#frames.at(place) : undefined;
        if (row === undefined) continue;
        const events = decoded.get(row.place) ?? this.#frames.events([row]);
        decoded.set(row.place, events);
        const event = events[place - row.place];
        if (event?.id === id) found.set(id, { row, event });
      }
    }
    return found;
  }

  /** Logs of all tenants whose newest frame is not in the index. */
  #behind(): number[] {
    const sql = `SELECT logs.no AS no FROM logs LEFT JOIN indexed ON indexed.log = logs.no
      WHERE (SELECT max(place) FROM frames WHERE place >= logs.no * ${perLog} AND place < (logs.no + 1) * ${perLog}) > ifnull(indexed.place, -1)`;
    return this.#connection
      .statement<{ no: number }>(sql)
      .all()
      .map(({ no }) => no);
  }

  #indexSome(log: number): boolean {
    const more = this.#connection.transaction(false, () => this.#index(log));
    // In the same piece of work, so that no append comes between.
    if (!more) this.#unindexed.delete(log);
    return more;
  }

  /** Indexes some frames of a log; true if there may be more. */
  #index(log: number): boolean {
    const done = this.#connection.statement<{ place: number }>("SELECT place FROM indexed WHERE log = ?").get(log)?.place;
    const rows = this.#frames.between(done === undefined ? log * perLog : done + 1, (log + 1) * perLog - 1, framesAStep);
    const last = rows.at(-1);
    if (last === undefined) return false;
    const entries = rows.flatMap((row) => this.#frames.idPrefixes(row).map((prefix, i) => ({ prefix, place: row.place + i })));
    // In the order of the index: neighbours share a page, which is then written once.
    entries.sort((a, b) => a.prefix - b.prefix);
    const insert = this.#connection.statement("INSERT OR IGNORE INTO event_ids (prefix, place) VALUES (?, ?)");
    for (const { prefix, place } of entries) insert.run(prefix, place);
    this.#connection
      .statement("INSERT INTO indexed (log, place) VALUES (?, ?) ON CONFLICT (log) DO UPDATE SET place = excluded.place")
      .run(log, last.place);
    return rows.length === framesAStep;
  }

  #rewrite(place: number, erased: (id: string) => boolean, entry: string): void {
    const row = this.#frames.at(place);
    if (row === undefined) return;
    const before = this.#frames.events([row]);
    const events = before.map((event) =>
      erased(event.id) && event.data !== undefined ? { ...event, data: undefined, erased: entry } : event,
    );
    const [first] = before;
    if (row.place % perLog === 0 && first !== undefined && erased(first.id)) forgetAbout(this.#connection, row.place / perLog);
    // The first parent of the first event is left out of a frame when it is the event before it.
    const body = sealFrame(encodeFrame(events, this.#frames.idBefore(row)), this.#frames.placeOf(row));
    this.#connection.statement("UPDATE frames SET body = ? WHERE place = ?").run(body, row.place);
  }
}

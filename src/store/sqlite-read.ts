/**
 * Reading logs, page by page. Between two pages no transaction is open, so a slow reader holds up nobody; what is read
 * ends where the logs ended when the reading began. A page is read in one piece of work that changes nothing until it
 * has succeeded, since it is done again when another process is in the way.
 */

import type { Connection } from "../sqlite/connection.ts";
import { breathe } from "./pages.ts";
import { type FrameRow, type Frames, perLog } from "./sqlite-frames.ts";
import { findLog } from "./sqlite-logs.ts";
import type { StoredEvent } from "./store.ts";

type Page = readonly StoredEvent[];

const firstFrames = 8;
const pageBytes = 256 * 1024;

/** One log by step, both ends included. */
export async function* sessionPages(
  connection: Connection,
  frames: Frames,
  session: string,
  from = 0,
  to = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page, void> {
  const stream = await connection.patiently(() => {
    const log = findLog(connection, session);
    const last = log === undefined ? undefined : frames.lastPlace(log);
    if (log === undefined || last === undefined) return undefined;
    return new FrameStream(frames, from <= 0 ? log * perLog : frameWithStep(frames, log * perLog, last, from), last);
  });
  // Where few events are wanted, they mostly lie in one frame.
  const first = to === Number.POSITIVE_INFINITY ? firstFrames : 1;
  for (let most = Math.max(1, to - from + 1); stream !== undefined && !stream.done; ) {
    await connection.patiently(() => stream.fill(first, most));
    const page = stream.takeAll();
    yield from <= 0 && to === Number.POSITIVE_INFINITY ? page : page.filter(({ step }) => step >= from && step <= to);
    // A frame has one event at least.
    most = to - (page.at(-1)?.step ?? 0);
    if (most <= 0) return;
    await breathe();
  }
}

interface Writer {
  readonly no: number;
  readonly log: number;
  readonly ordered: number;
  readonly last: number;
}

/** All that a run wrote, by order. Its events in one log are a stream in order nearly always; the streams are merged. */
export async function* writtenPages(
  connection: Connection,
  frames: Frames,
  run: string,
  after = Number.NEGATIVE_INFINITY,
): AsyncGenerator<Page, void> {
  let streams = await connection.patiently(() => writersOf(connection, run).map((writer) => streamOf(frames, writer, after)));
  while (streams.length > 0) {
    const share = Math.max(1, Math.floor((8 * firstFrames) / streams.length));
    // One piece of work each: what is filled stays filled.
    for (const stream of streams) if (stream.empty) await connection.patiently(() => stream.fill(share));
    const known = Math.min(...streams.map((stream) => stream.knownTo));
    const page = streams.flatMap((stream) => stream.takeTo(known)).filter(({ order }) => order > after);
    yield page.sort((a, b) => a.order - b.order);
    streams = streams.filter((stream) => !stream.done || !stream.empty);
    await breathe();
  }
}

/** One statement, so one moment: a later event of one log must not be seen without an earlier one of another. */
function writersOf(connection: Connection, run: string): Writer[] {
  const { tenant, project } = connection;
  const last = `(SELECT max(place) FROM frames WHERE place >= log * ${perLog} AND place < (log + 1) * ${perLog})`;
  return connection
    .statement<Writer>(`SELECT no, log, ordered, ${last} AS last FROM writers WHERE tenant = ? AND project = ? AND run = ? ORDER BY no`)
    .all(tenant, project, run);
}

function streamOf(frames: Frames, { no, log, ordered, last }: Writer, after: number): FrameStream {
  const base = log * perLog;
  const start =
    ordered === 1
      ? search(
          base,
          last,
          (place) => frames.byWriter(no, place),
          frames,
          ({ order }) => order,
          after + 1,
        )
      : base;
  return new FrameStream(frames, start, last, no, ordered === 1);
}

/** The place of the frame that holds a step, or of the first one after it. */
function frameWithStep(frames: Frames, base: number, last: number, step: number): number {
  const root = frames.at(base);
  if (root === undefined) return base;
  const { first, last: end } = frames.numbers(root);
  if (end.step >= step) return base;
  // Steps grow by one or more a position. Mostly by one, so that the first look is where the step can be at the latest.
  const latest = base + step - first.step;
  return search(
    base,
    Math.min(last, latest),
    (place) => frames.at(place),
    frames,
    (event) => event.step,
    step,
  );
}

/** The place of the first frame whose last event reaches `target` in a number that grows along the log. */
function search(
  base: number,
  last: number,
  at: (place: number) => FrameRow | undefined,
  frames: Frames,
  number: (event: { readonly step: number; readonly order: number }) => number,
  target: number,
): number {
  let low = base;
  let high = last;
  for (let probe = high; low <= high; probe = Math.floor((low + high) / 2)) {
    const row = at(probe);
    if (row === undefined || row.place < low) {
      low = probe + 1;
      continue;
    }
    const { count, first, last: end } = frames.numbers(row);
    if (number(first) >= target) high = row.place - 1;
    else if (number(end) < target) low = row.place + count;
    else return row.place;
  }
  return low;
}

/** Frames between two places, read as far as they are asked for. */
class FrameStream {
  readonly #frames: Frames;
  readonly #last: number;
  readonly #writer: number | undefined;
  readonly #ordered: boolean;
  #next: number;
  #head: string | undefined;
  #limit: number | undefined;
  #events: StoredEvent[] = [];
  #taken = 0;

  constructor(frames: Frames, next: number, last: number, writer?: number, ordered = true) {
    this.#frames = frames;
    this.#next = next;
    this.#last = last;
    this.#writer = writer;
    this.#ordered = ordered;
  }

  get done(): boolean {
    return this.#next > this.#last;
  }

  get empty(): boolean {
    return this.#taken >= this.#events.length;
  }

  /** No event that is still to be read has a lower order than this. */
  get knownTo(): number {
    return this.done ? Number.POSITIVE_INFINITY : (this.#events.at(-1)?.order ?? Number.NEGATIVE_INFINITY);
  }

  /** Reads `first` frames, then as many as make a page, and never more than `most`. */
  fill(first: number, most = Number.MAX_SAFE_INTEGER): void {
    if (this.done) return;
    const limit = this.#ordered ? Math.min(this.#limit ?? first, most) : Number.MAX_SAFE_INTEGER;
    const rows = this.#frames.between(this.#next, this.#last, limit, this.#writer);
    const events = this.#frames.events(rows, { place: this.#next, head: this.#head });
    const bytes = rows.reduce((sum, row) => sum + row.body.length, 1);
    const last = rows.at(-1);
    this.#limit = Math.max(1, Math.min(256, Math.floor((pageBytes * rows.length) / bytes)));
    this.#next = last === undefined || rows.length < limit ? this.#last + 1 : last.place + this.#frames.end(last).count;
    this.#head = events.at(-1)?.id;
    this.#events = this.#ordered ? events : events.sort((a, b) => a.order - b.order);
    this.#taken = 0;
  }

  takeAll(): StoredEvent[] {
    return this.takeTo(Number.POSITIVE_INFINITY);
  }

  takeTo(order: number): StoredEvent[] {
    const start = this.#taken;
    while (this.#taken < this.#events.length && (this.#events[this.#taken] as StoredEvent).order <= order) this.#taken++;
    return start === 0 && this.empty ? this.#events : this.#events.slice(start, this.#taken);
  }
}

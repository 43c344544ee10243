/** Events as rows: what one append adds to one log is packed into frames, and read back from them. */

import type { Connection } from "../postgres/connection.ts";
import { RathError } from "../session/errors.ts";
import { decodeFrame, encodeFrame, type FramePlace, idPrefix, sealFrame } from "./frame.ts";
import type { StoredEvent } from "./store.ts";

/** Larger writes are split, so that reading one event of an import does not mean reading all of it. */
const frameBytes = 64 * 1024;
const frameEvents = 256;
/** Orders in one frame grow, and span less than this: who looks for an order need not look further back. */
export const orderSpan = 4096;

export interface PackedFrame {
  readonly count: number;
  readonly steps: readonly [number, number];
  readonly orders: readonly [number, number];
  readonly run: string | undefined;
  readonly head: string;
  readonly ids: readonly number[];
  readonly body: Buffer;
}

/** A frame as it is selected: `columns` of `frames`, and the head before it where that is not known. */
export interface FrameRow {
  readonly log: number;
  readonly seq: number;
  readonly count: number;
  readonly first_step: number;
  readonly first_order: number;
  readonly run: string | null;
  readonly body: Buffer;
}

export const columns =
  "f.log::float8 AS log, f.seq, f.count, f.first_step::float8 AS first_step, f.first_order::float8 AS first_order, f.run, f.body";
/** The id of the event before a frame; null for the first. */
export const before = "(SELECT b.head FROM openrath.frames b WHERE b.log = f.log AND b.seq < f.seq ORDER BY b.seq DESC LIMIT 1) AS before";

/** The frames of events that follow `after` in one log. Their bytes are free afterwards. */
export function packFrames(session: string, events: readonly StoredEvent[], after: string | undefined): PackedFrame[] {
  const frames: PackedFrame[] = [];
  let previous = after;
  for (let start = 0; start < events.length; ) {
    const end = frameEnd(events, start, session);
    const chunk = events.slice(start, end);
    const [first, last] = [chunk[0] as StoredEvent, chunk.at(-1) as StoredEvent];
    frames.push({
      count: chunk.length,
      steps: [first.step, last.step],
      orders: [first.order, last.order],
      run: first.run,
      head: last.id,
      ids: chunk.map(({ id }) => idPrefix(id)),
      body: sealFrame(encodeFrame(chunk, previous), placeOf(session, first.run, first.step)),
    });
    previous = last.id;
    start = end;
  }
  return frames;
}

/** Where a frame ends: at another run, where orders jump or fall, or when it is large enough. */
function frameEnd(events: readonly StoredEvent[], start: number, session: string): number {
  const first = events[start] as StoredEvent;
  let bytes = 0;
  let order = first.order;
  let end = start;
  for (; end < events.length && end - start < frameEvents && bytes < frameBytes; end++) {
    const event = events[end] as StoredEvent;
    if (event.session !== session)
      throw new RathError("event.invalid", `Event ${event.id} belongs to session ${event.session} and cannot be appended to ${session}.`);
    if (event.run !== first.run || event.order < order || event.order - first.order >= orderSpan) break;
    order = event.order;
    bytes += event.envelope.length + (event.data?.length ?? 0);
  }
  return end;
}

/** The events of a frame that follows the event `after`. */
export function unpackFrame(connection: Connection, session: string, row: FrameRow, after: string | undefined): StoredEvent[] {
  try {
    return decodeFrame(row.body, placeOf(session, row.run ?? undefined, row.first_step), after);
  } catch (cause) {
    const message = `${connection.place} is damaged: the events of log ${session} at position ${row.seq} cannot be read (${(cause as Error).message}). Nothing was changed. Restore the database from a backup; other logs may still be readable.`;
    throw new RathError("store.corrupt", message, { cause, details: { place: connection.place, log: session, position: row.seq } });
  }
}

/** The same frame without the data of some events. */
export function withoutData(session: string, row: FrameRow, events: readonly StoredEvent[], after: string | undefined): Buffer {
  return sealFrame(encodeFrame(events, after), placeOf(session, row.run ?? undefined, row.first_step));
}

/** Steps grow along a log, so the first of a frame says where in it the frame belongs; its number is known only when it is stored. */
function placeOf(session: string, run: string | undefined, step: number): FramePlace {
  return { session, run, seq: step };
}

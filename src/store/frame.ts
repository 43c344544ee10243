/**
 * A frame: the events that one commit adds to one log, packed into one row.
 *
 * Envelopes are canonical JSON of one fixed template, so only what varies in them is kept; an envelope that differs from
 * the template in a single byte is kept verbatim. What comes out is byte for byte what went in, or an exception.
 * All text is handled as latin1, in which every byte is one character: lossless for any bytes, valid UTF-8 or not.
 *
 * Layout: crc32 (4) · format (1) · varints: events, hashes, length of meta, length of text · hashes (32 each; the ids first)
 * · meta (varints) · text · data. The checksum is seeded with session, run and place: a frame is valid only where it was put.
 *
 * Format 2 is the same with one more flag: the event was erased, and its first hash is the entry that says so. It is written only
 * where that is needed, so a store in which nothing was erased has none.
 */
import { crc32 } from "node:zlib";
import { RathError } from "../session/errors.ts";
import { asBuffer, formatTime, parseTime, VarintReader, VarintWriter } from "./packing.ts";
import type { StoredEvent } from "./store.ts";

/** Where a frame belongs: outside the packed bytes, inside the checksum. */
export interface FramePlace {
  readonly session: string;
  readonly run: string | undefined;
  /** Position in its log of the first event. */
  readonly seq: number;
}

const format = 1;
const formatWithEntries = 2;
const sealed = 4;
const hashBytes = 32;
const quotedHash = 67;
const tableSize = 64;
const largest = 2 ** 48;

const fromTemplate = 1;
const hasData = 2;
/** The first parent is the event before it in the log, which is `after` for the first event of a frame. */
const chained = 4;
/** Of format 2: it names the entry of its erasure. */
const hasEntry = 8;

// The lengths of hashes are checked after the match: counted repetition makes the expression a third slower.
const template =
  /^\{"at":"([^"\\]*)","by":"([^"\\]*)","data":"([0-9a-f]+)","facts":(\{.*\}),"kind":"([^"\\]*)","parents":\[("[0-9a-f]*"(?:,"[0-9a-f]*")*|)\],"session":"([^"\\]*)","step":(0|[1-9]\d{0,14}),"version":(0|[1-9]\d{0,8})\}$/s;

/** Nothing that JSON would escape but quotes and backslashes, which the template excludes, and nothing of more than one byte. */
const ascii = /^[ -~]*$/;

/** Packs events of one session and one run that follow the event `after`. The result must be sealed before it is stored. */
export function encodeFrame(events: readonly StoredEvent[], after: string | undefined): Buffer {
  const meta = new VarintWriter(events.length * 128 + 64);
  const table: string[] = [];
  let time = 0;
  let ids = "";
  let hashes = "";
  let text = "";
  let dataBytes = 0;
  let previous = { id: after ?? "", step: 0, order: 0 };
  const withEntries = events.some(({ data, erased }) => data === undefined && erased !== undefined);
  const perParent = withEntries ? 2 * hasEntry : hasEntry;

  for (const event of events) {
    check(event);
    const entry = event.data === undefined ? event.erased : undefined;
    const envelope = asBuffer(event.envelope).latin1Slice(0, event.envelope.length);
    const match = template.exec(envelope);
    const now = match === null ? Number.NaN : parseTime(match[1] as string);
    const parents = match === null ? "" : (match[6] as string);
    const digest = match === null ? "" : (match[3] as string);
    const fits =
      match !== null &&
      digest.length === 64 &&
      match[7] === event.session &&
      Number(match[8]) === event.step &&
      !Number.isNaN(now) &&
      hashesFit(parents);
    const follows = fits && previous.id !== "" && parents.startsWith(previous.id, 1);
    const named = fits ? Math.ceil(parents.length / quotedHash) - (follows ? 1 : 0) : 0;

    meta.number(
      (fits ? fromTemplate : 0) + (event.data ? hasData : 0) + (follows ? chained : 0) + (entry ? hasEntry : 0) + named * perParent,
    );
    hashes += entry ?? "";
    meta.signed(event.step - previous.step);
    meta.signed(event.order - previous.order);
    if (event.data) {
      meta.number(event.data.length);
      dataBytes += event.data.length;
    }
    if (fits) {
      meta.signed(now - time);
      time = now;
      meta.number(Number(match[9]));
      text += unlisted(match[2] as string, table, meta);
      text += unlisted(match[5] as string, table, meta);
      text += unlisted(match[4] as string, table, meta);
      hashes += digest;
      for (let at = follows ? quotedHash : 0; at < parents.length; at += quotedHash) hashes += parents.slice(at + 1, at + 65);
    } else {
      meta.number(envelope.length);
      text += envelope;
    }
    ids += event.id;
    previous = event;
  }
  return assemble(events, ids + hashes, meta, text, { format: withEntries ? formatWithEntries : format, dataBytes });
}

/** Names a string by its place in the frame's table; returns what has to be added to the text. */
function unlisted(value: string, table: string[], meta: VarintWriter): string {
  const known = table.indexOf(value);
  meta.number(known + 1);
  if (known >= 0) return "";
  if (table.length < tableSize) table.push(value);
  meta.number(value.length);
  return value;
}

function assemble(
  events: readonly StoredEvent[],
  hex: string,
  meta: VarintWriter,
  text: string,
  frame: { readonly format: number; readonly dataBytes: number },
): Buffer {
  const { dataBytes } = frame;
  const metaLength = meta.length;
  for (const value of [frame.format, events.length, hex.length / 64, metaLength, text.length]) meta.number(value);
  const body = asBuffer(Buffer.allocUnsafe(sealed + meta.length + hex.length / 2 + text.length + dataBytes));
  let at = sealed;
  at += meta.copy(body, at, metaLength, meta.length);
  at += body.hexWrite(hex, at, hex.length / 2);
  at += meta.copy(body, at, 0, metaLength);
  at += body.latin1Write(text, at, text.length);
  for (const { data } of events) {
    if (data === undefined) continue;
    body.set(data, at);
    at += data.length;
  }
  return body;
}

/** Writes the checksum that ties a frame to its place. */
export function sealFrame(body: Buffer, place: FramePlace): Buffer {
  body.writeUInt32LE(checksum(body, place), 0);
  return body;
}

/** The events of a sealed frame that follows the event `after`. An ordinary Error says what is wrong with the frame; the store adds where it lies. */
export function decodeFrame(stored: Uint8Array, place: FramePlace, after: string | undefined): StoredEvent[] {
  const body = asBuffer(stored);
  verify(body, place);
  const meta = new VarintReader(body, sealed);
  const { written, count, hashes, metaLength, textLength } = header(meta);
  const perParent = written === formatWithEntries ? 2 * hasEntry : hasEntry;
  const hashesAt = meta.at;
  const metaAt = hashesAt + hashes * hashBytes;
  const textAt = metaAt + metaLength;
  const dataStart = textAt + textLength;
  if (hashes < count || dataStart > body.length) throw new Error("its parts are longer than the frame");

  const hex = body.hexSlice(hashesAt, metaAt);
  const text = body.latin1Slice(textAt, dataStart);
  const { session, run } = place;
  // What is read as latin1 here is UTF-8: parts are given where that is the same.
  const plain = ascii.test(text) && ascii.test(session);
  const tail = `],"session":"${session}","step":`;
  const table: string[] = [];
  const lengths: number[] = [];
  const events: Writable<StoredEvent>[] = [];
  let envelopes = "";
  let hashUsed = count * 64;
  let textUsed = 0;
  let dataAt = dataStart;
  let previous = after;
  let time = 0;
  let step = 0;
  let order = 0;

  meta.at = metaAt;
  for (let i = 0; i < count; i++) {
    const flags = meta.number();
    step += meta.signed();
    order += meta.signed();
    const dataLength = flags & hasData ? meta.number() : -1;
    let erased: string | undefined;
    if (written === formatWithEntries && flags & hasEntry) {
      erased = hex.slice(hashUsed, hashUsed + 64);
      hashUsed += 64;
    }
    let envelope: string;
    let parts: StoredEvent["parts"];
    if (flags & fromTemplate) {
      time += meta.signed();
      const at = formatTime(time);
      const version = meta.number();
      let [by, kind, facts] = ["", "", ""];
      for (let field = 0; field < 3; field++) {
        const known = meta.number();
        let value = table[known - 1];
        if (known === 0) {
          const length = meta.number();
          value = text.slice(textUsed, textUsed + length);
          textUsed += length;
          if (table.length < tableSize) table.push(value);
        }
        if (value === undefined) throw new Error("it names a string that it does not hold");
        if (field === 0) by = value;
        else if (field === 1) kind = value;
        else facts = value;
      }
      const digest = hex.slice(hashUsed, hashUsed + 64);
      hashUsed += 64;
      const parents = flags & chained ? [previous ?? lost()] : [];
      for (let named = Math.floor(flags / perParent); named > 0 && hashUsed < hex.length; named--) {
        parents.push(hex.slice(hashUsed, hashUsed + 64));
        hashUsed += 64;
      }
      const quoted = parents.length === 0 ? "" : `"${parents.length === 1 ? parents[0] : parents.join('","')}"`;
      envelope = `{"at":"${at}","by":"${by}","data":"${digest}","facts":${facts},"kind":"${kind}","parents":[${quoted}${tail}${step},"version":${version}}`;
      if (plain) parts = { at, by, data: digest, facts, kind, parents, session, step, version };
    } else {
      const length = meta.number();
      envelope = text.slice(textUsed, textUsed + length);
      textUsed += length;
    }
    const id = hex.slice(i * 64, i * 64 + 64);
    const data = dataLength < 0 ? undefined : body.subarray(dataAt, dataAt + dataLength);
    dataAt += Math.max(dataLength, 0);
    envelopes += envelope;
    lengths.push(envelope.length);
    events.push(
      erased === undefined
        ? { id, session, step, run, order, envelope: body, parts, data }
        : { id, session, step, run, order, envelope: body, parts, data, erased },
    );
    previous = id;
  }
  if (meta.at !== textAt || textUsed !== textLength || hashUsed !== hex.length || dataAt !== body.length)
    throw new Error("its parts do not add up to its length");

  const bytes = Buffer.from(envelopes, "latin1");
  let end = 0;
  events.forEach((event, i) => {
    event.envelope = bytes.subarray(end, end + (lengths[i] as number));
    end += lengths[i] as number;
  });
  return events;
}

/** How many events a frame holds and the id of its last one, without decoding it. */
export function frameEnd(stored: Uint8Array, place: FramePlace): { readonly count: number; readonly head: string } {
  const body = asBuffer(stored);
  verify(body, place);
  const meta = new VarintReader(body, sealed);
  const { count } = header(meta);
  const last = meta.at + (count - 1) * hashBytes;
  return { count, head: body.hexSlice(last, last + hashBytes) };
}

/** Where the events of a frame stand in their log and in the order of their run. */
export interface FrameNumbers {
  readonly count: number;
  readonly first: { readonly step: number; readonly order: number };
  readonly last: { readonly step: number; readonly order: number };
}

/** The numbers of a frame's events, without making the events: whoever looks for one passes by many frames. */
export function frameNumbers(stored: Uint8Array, place: FramePlace): FrameNumbers {
  const body = asBuffer(stored);
  verify(body, place);
  const meta = new VarintReader(body, sealed);
  const { count, hashes } = header(meta);
  meta.at += hashes * hashBytes;
  let first: FrameNumbers["first"] | undefined;
  let [step, order] = [0, 0];
  for (let i = 0; i < count; i++) {
    const flags = meta.number();
    step += meta.signed();
    order += meta.signed();
    first ??= { step, order };
    if (flags & hasData) meta.number();
    // Of the template its time and its version, and three strings: listed, or as long as is said; else the length of the envelope.
    meta.number();
    if (!(flags & fromTemplate)) continue;
    meta.number();
    for (let field = 0; field < 3; field++) if (meta.number() === 0) meta.number();
  }
  return { count, first: first ?? { step, order }, last: { step, order } };
}

/** The first 48 bits of each id, as the id index keeps them. */
export function frameIdPrefixes(stored: Uint8Array, place: FramePlace): number[] {
  const body = asBuffer(stored);
  verify(body, place);
  const meta = new VarintReader(body, sealed);
  const { count } = header(meta);
  return Array.from({ length: count }, (_, i) => body.readUIntBE(meta.at + i * hashBytes, 6));
}

/** The first 48 bits of an id. */
export function idPrefix(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function header(meta: VarintReader): { written: number; count: number; hashes: number; metaLength: number; textLength: number } {
  const written = meta.number();
  if (written !== format && written !== formatWithEntries) throw new Error("its format is unknown");
  const result = { written, count: meta.number(), hashes: meta.number(), metaLength: meta.number(), textLength: meta.number() };
  if (result.count === 0 || meta.at + result.count * hashBytes > meta.bytes.length) throw new Error("its ids are longer than the frame");
  return result;
}

function verify(body: Buffer, place: FramePlace): void {
  if (body.length < sealed || body.readUInt32LE(0) !== checksum(body, place)) throw new Error("its checksum does not match");
}

/** The seed of the place that was worked on last; mostly the next frame goes to, or comes from, the same log and run. */
const memo = { session: "", run: undefined as string | undefined, seed: crc32("/") };

function checksum(body: Buffer, { session, run, seq }: FramePlace): number {
  if (session !== memo.session || run !== memo.run) Object.assign(memo, { session, run, seed: crc32(`${run ?? ""}/${session}`) });
  return crc32(body.subarray(sealed), (memo.seed ^ seq) >>> 0);
}

/** True if everything quoted is as long as a hash. */
function hashesFit(parents: string): boolean {
  if (parents !== "" && (parents.length + 1) % quotedHash !== 0) return false;
  for (let at = 0; at < parents.length; at += quotedHash) if (parents.indexOf('"', at + 1) !== at + 65) return false;
  return true;
}

function check(event: StoredEvent): void {
  const { step, order } = event;
  const numbers = Number.isInteger(step) && step >= 0 && step < largest && Number.isInteger(order) && Math.abs(order) < largest;
  if (!numbers || !isHash(event.id) || (event.erased !== undefined && !isHash(event.erased))) throw invalid(event);
}

/** A loop, since at this length it is four times as fast as an expression. */
function isHash(id: string): boolean {
  if (id.length !== 64) return false;
  for (let i = 0; i < 64; i++) {
    const code = id.charCodeAt(i);
    if (code < 48 || code > 102 || (code > 57 && code < 97)) return false;
  }
  return true;
}

function invalid(event: StoredEvent): RathError {
  return new RathError(
    "event.invalid",
    `Event ${event.id} of session ${event.session} (step ${event.step}, order ${event.order}) cannot be stored: an id is 64 lower-case hex digits, step and order are integers.`,
  );
}

function lost(): never {
  throw new Error("the event before it is not known");
}

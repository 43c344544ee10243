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
  let previous = { id: after ?? "", step: 0, order: 0 };
  const withEntries = events.some(({ data, erased }) => data === undefined && erased !== undefined);
  const perParent = withEntries ? 2 * hasEntry : hasEntry;

  for (const event of events) {
    check(event);
    const entry = event.data === undefined ? event.erased : undefined;
    const envelope = asBuffer(event.envelope).latin1Slice(0, event.envelope.length);
    const match = template.exec(envelope);
    const now = match === null ? Number.NaN : parseTime(match[1] as string);
    const fits = match !== null && !Number.isNaN(now) && isRestored(match, event);
    const parents = fits ? (match[6] as string) : "";
    const follows = fits && previous.id !== "" && parents.startsWith(previous.id, 1);
    const named = Math.ceil(parents.length / quotedHash) - (follows ? 1 : 0);

    meta.number(
      (fits ? fromTemplate : 0) + (event.data ? hasData : 0) + (follows ? chained : 0) + (entry ? hasEntry : 0) + named * perParent,
    );
    hashes += entry ?? "";
    meta.signed(event.step - previous.step);
    meta.signed(event.order - previous.order);
    if (event.data) meta.number(event.data.length);
    if (fits) {
      meta.signed(now - time);
      time = now;
      text += stringsOf(match, table, meta);
      hashes += match[3] as string;
      for (let at = follows ? quotedHash : 0; at < parents.length; at += quotedHash) hashes += parents.slice(at + 1, at + 65);
    } else {
      meta.number(envelope.length);
      text += envelope;
    }
    ids += event.id;
    previous = event;
  }
  return assemble(events, ids + hashes, meta, text, withEntries ? formatWithEntries : format);
}

/** True if the template, its time aside, gives back what it matched: the hashes are whole, and the event stands where the envelope says. */
function isRestored(match: RegExpExecArray, { session, step }: StoredEvent): boolean {
  return match[3]?.length === 64 && match[7] === session && Number(match[8]) === step && hashesFit(match[6] as string);
}

/** Writes the version of an envelope and names its strings; returns what has to be added to the text. */
function stringsOf(match: RegExpExecArray, table: string[], meta: VarintWriter): string {
  meta.number(Number(match[9]));
  const by = unlisted(match[2] as string, table, meta);
  const kind = unlisted(match[5] as string, table, meta);
  return by + kind + unlisted(match[4] as string, table, meta);
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

function assemble(events: readonly StoredEvent[], hex: string, meta: VarintWriter, text: string, written: number): Buffer {
  let dataBytes = 0;
  for (const { data } of events) dataBytes += data?.length ?? 0;
  const metaLength = meta.length;
  for (const value of [written, events.length, hex.length / 64, metaLength, text.length]) meta.number(value);
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
  const frame = opened(stored, place);
  const { body, meta, hex, withEntries } = frame;
  const { session, run } = place;
  const lengths: number[] = [];
  const events: Writable<StoredEvent>[] = [];
  let envelopes = "";
  let dataAt = frame.dataStart;
  let previous = after;
  let [time, step, order] = [0, 0, 0];

  for (let i = 0; i < frame.count; i++) {
    const flags = meta.number();
    step += meta.signed();
    order += meta.signed();
    const dataLength = flags & hasData ? meta.number() : -1;
    const erased = withEntries && flags & hasEntry ? nextHash(frame) : undefined;
    const id = hex.slice(i * 64, i * 64 + 64);
    const data = dataLength < 0 ? undefined : body.subarray(dataAt, dataAt + dataLength);
    dataAt += Math.max(dataLength, 0);
    const event: Writable<StoredEvent> =
      erased === undefined
        ? { id, session, step, run, order, envelope: body, parts: undefined, data }
        : { id, session, step, run, order, envelope: body, parts: undefined, data, erased };
    if (flags & fromTemplate) time += meta.signed();
    const envelope = flags & fromTemplate ? nextEnvelope(frame, event, formatTime(time), flags, previous) : nextText(frame, meta.number());
    envelopes += envelope;
    lengths.push(envelope.length);
    events.push(event);
    previous = id;
  }
  if (meta.at !== frame.textAt || frame.textUsed !== frame.text.length || frame.hashUsed !== hex.length || dataAt !== body.length)
    throw new Error("its parts do not add up to its length");
  cut(events, lengths, Buffer.from(envelopes, "latin1"));
  return events;
}

/** Checks a frame and finds its parts, the numbers of the first event next. How far it was read is kept here: an event costs no object for it. */
function opened(stored: Uint8Array, place: FramePlace) {
  const body = asBuffer(stored);
  verify(body, place);
  const meta = new VarintReader(body, sealed);
  const { written, count, hashes, metaLength, textLength } = header(meta);
  const withEntries = written === formatWithEntries;
  const hashesAt = meta.at;
  const metaAt = hashesAt + hashes * hashBytes;
  const textAt = metaAt + metaLength;
  const dataStart = textAt + textLength;
  if (hashes < count || dataStart > body.length) throw new Error("its parts are longer than the frame");

  meta.at = metaAt;
  const hex = body.hexSlice(hashesAt, metaAt);
  const text = body.latin1Slice(textAt, dataStart);
  // What is read as latin1 here is UTF-8: parts are given where that is the same.
  const plain = ascii.test(text) && ascii.test(place.session);
  const tail = `],"session":"${place.session}","step":`;
  const table: string[] = [];
  return { body, meta, count, withEntries, textAt, dataStart, hex, text, plain, tail, table, hashUsed: count * 64, textUsed: 0 };
}

type Frame = ReturnType<typeof opened>;

/** An envelope after the template; its event gets the parts of it. */
function nextEnvelope(frame: Frame, event: Writable<StoredEvent>, at: string, flags: number, previous: string | undefined): string {
  const { session, step } = event;
  const version = frame.meta.number();
  const by = nextString(frame);
  const kind = nextString(frame);
  const facts = nextString(frame);
  const data = nextHash(frame);
  const parents = flags & chained ? [previous ?? lost()] : [];
  const perParent = frame.withEntries ? 2 * hasEntry : hasEntry;
  for (let named = Math.floor(flags / perParent); named > 0 && frame.hashUsed < frame.hex.length; named--) parents.push(nextHash(frame));
  const quoted = parents.length === 0 ? "" : `"${parents.length === 1 ? parents[0] : parents.join('","')}"`;
  if (frame.plain) event.parts = { at, by, data, facts, kind, parents, session, step, version };
  return `{"at":"${at}","by":"${by}","data":"${data}","facts":${facts},"kind":"${kind}","parents":[${quoted}${frame.tail}${step},"version":${version}}`;
}

/** A string by its place in the frame's table, or from the text when it is not there yet. */
function nextString(frame: Frame): string {
  const { meta, table } = frame;
  const known = meta.number();
  const value = known === 0 ? nextText(frame, meta.number()) : table[known - 1];
  if (value === undefined) throw new Error("it names a string that it does not hold");
  if (known === 0 && table.length < tableSize) table.push(value);
  return value;
}

function nextText(frame: Frame, length: number): string {
  const from = frame.textUsed;
  frame.textUsed += length;
  return frame.text.slice(from, frame.textUsed);
}

function nextHash(frame: Frame): string {
  const from = frame.hashUsed;
  frame.hashUsed += 64;
  return frame.hex.slice(from, frame.hashUsed);
}

/** Gives each event its bytes of all envelopes. */
function cut(events: readonly Writable<StoredEvent>[], lengths: readonly number[], envelopes: Uint8Array): void {
  let end = 0;
  events.forEach((event, i) => {
    event.envelope = envelopes.subarray(end, end + (lengths[i] as number));
    end += lengths[i] as number;
  });
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

/**
 * The lines of a bundle, version 1. Each is canonical JSON (RFC 8785): a header, one line for each log, run row, event and blob.
 * Events keep the bytes that were hashed: `envelope` and `data` are canonical, so their text is theirs again after parsing.
 */
import { isUtf8 } from "node:buffer";
import canonicalize from "canonicalize";
import { saltBytes } from "../../session/platform.ts";
import type { LogAbout, RunRow, StoredEvent } from "../../store/store.ts";

export const formatName = "openrath.bundle";
export const formatVersion = 1;

/** The first line: which session, and how much there is of everything. */
export interface Header {
  readonly format: typeof formatName;
  readonly version: number;
  readonly session: string;
  readonly head: string;
  readonly logs: number;
  readonly runs: number;
  readonly events: number;
  readonly blobs: number;
}

/** A log. */
export interface LogLine {
  readonly log: string;
  readonly kind: LogAbout["log"];
  readonly head: string;
  readonly events: number;
  readonly parent?: string | undefined;
  readonly principal?: string | undefined;
  readonly run?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly title?: string | undefined;
}

/** The row of a run. */
export interface RunLine {
  readonly run: string;
  readonly key?: string | undefined;
  readonly session: string;
  readonly status: string;
  readonly wakeAt?: string | undefined;
  readonly workflow: string;
}

/** An event, its bytes as parsed JSON. */
export interface EventLine {
  readonly id: string;
  readonly order: number;
  readonly run?: string | undefined;
  readonly envelope: { readonly session: string; readonly step: number };
  /** The entry that says by whom it was erased. */
  readonly erased?: string | undefined;
  /** Both are absent once erased. */
  readonly data?: unknown;
  readonly salt?: string | undefined;
}

/** `text` or `base64` in one file; in a folder neither, and the content lies in `blobs/<hash>`. */
export interface BlobLine {
  readonly blob: string;
  readonly bytes: number;
  readonly text?: string | undefined;
  readonly base64?: string | undefined;
}

/** The canonical text of a line. */
export function lineOf(line: Header | LogLine | RunLine | BlobLine): string {
  return canonicalize(line) as string;
}

/** Built from the stored text, which is canonical already: only its parts have to be put in order. */
export function eventLineOf({ id, order, run, envelope, data, erased }: StoredEvent): string {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  const content = data === undefined ? "" : `"data":${text(data.subarray(saltBytes))},`;
  const salt = data === undefined ? "" : `,"salt":"${Buffer.from(data.subarray(0, saltBytes)).toString("hex")}"`;
  const entry = data !== undefined || erased === undefined ? "" : `,"erased":"${erased}"`;
  return `{${content}"envelope":${text(envelope)}${entry},"id":"${id}","order":${order}${run === undefined ? "" : `,"run":${JSON.stringify(run)}`}${salt}}`;
}

/** The stored event of a line whose text was canonical. */
export function storedOf({ id, order, run, envelope, data, salt, erased }: EventLine): StoredEvent {
  const bytes = salt === undefined ? undefined : Buffer.concat([Buffer.from(salt, "hex"), Buffer.from(canonicalize(data) as string)]);
  return {
    id,
    session: envelope.session,
    step: envelope.step,
    run,
    order,
    envelope: Buffer.from(canonicalize(envelope) as string),
    data: bytes,
    ...(erased === undefined ? {} : { erased }),
  };
}

/** The line of a blob in one file: text where it is UTF-8, else base64. */
export function blobLineOf(hash: string, content: Uint8Array): string {
  const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return lineOf({
    blob: hash,
    bytes: content.length,
    ...(isUtf8(content) ? { text: buffer.toString() } : { base64: buffer.toString("base64") }),
  });
}

/** The content in the line of a blob; undefined when it lies beside it. */
export function contentOf({ text, base64 }: BlobLine): Uint8Array | undefined {
  if (text !== undefined) return Buffer.from(text);
  return base64 === undefined ? undefined : Buffer.from(base64, "base64");
}

/** The line of a row. */
export function runLineOf({ id, key, session, status, wakeAt, workflow }: RunRow): string {
  return lineOf({ run: id, key, session, status, wakeAt, workflow });
}

/** The row of a line. */
export function runRowOf({ run, key, session, status, wakeAt, workflow }: RunLine): RunRow {
  return { id: run, key, session, workflow, status, wakeAt };
}

/**
 * Reading envelopes. One as the codec writes it is compared with what the codec would write of its parts, each of which is judged by
 * itself: so the whole is canonical. Any other is parsed, compared with its canonical text, and held against the schema.
 */
import { isAscii } from "node:buffer";
import type { Envelope } from "../session/codec.ts";
import { type EventKind, type Facts, versions } from "../session/event.ts";
import type { EventId, SessionId } from "../session/id.ts";
import type { StoredEvent } from "../store/store.ts";
import { readCanonical } from "./canonical.ts";
import { misfit, type Schema } from "./misfit.ts";
import type { Flaw } from "./problem.ts";

/** The SHA-256 of the bytes of an event, as they are and not as they are said to be. */
export interface Hashes {
  readonly envelope: string;
  readonly data: string | undefined;
}

/** Reads the envelopes of events that come log by log; undefined, with a flaw, where one cannot be read. */
export type ReadEnvelope = (event: StoredEvent, hashes: Hashes, flaws: Flaw[]) => Envelope | undefined;

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Printable ASCII that needs no escapes. */
const plain = /^[ !#-[\]-~]+$/;
const hex = /^[0-9a-f]+$/;
const hashLength = 64;
const quotedHash = hashLength + 3; // with its quotes and a comma
const atStart = '{"at":"'.length;
const byStart = '{"at":"2026-01-01T00:00:00.000Z","by":"'.length;
const mostFacts = 1000;

/** Reads envelopes one after the other; neighbours mostly agree, and of two equal strings one is kept. */
export function envelopeReader(schemas: { readonly envelope: Schema; readonly facts: Schema }): ReadEnvelope {
  const written = new Written(schemas.facts);
  return (event, hashes, flaws) => {
    const { buffer, byteOffset, byteLength } = event.envelope;
    const bytes = Buffer.isBuffer(event.envelope) ? event.envelope : Buffer.from(buffer, byteOffset, byteLength);
    const envelope =
      (isAscii(bytes) ? written.read(bytes.toString("latin1"), event, hashes.data) : undefined) ?? readLong(schemas.envelope, bytes, flaws);
    written.follow(hashes.envelope === event.id ? event.id : hashes.envelope);
    return envelope;
  };
}

/** Reads envelopes as the codec writes them. Slices that stay are copied: one keeps all of its text in memory. */
class Written {
  readonly #facts: Schema;
  readonly #kinds = new Map((Object.keys(versions) as EventKind[]).map((kind) => [kind as string, kind]));
  readonly #knownFacts = new Map<string, Facts>();
  // Of the neighbour; these are known to be as they must be.
  #at = "";
  #by = "";
  #session: string | undefined;
  /** The event before, which most events stand on, as the only parent. */
  #before: { readonly list: string; readonly ids: readonly EventId[] } = { list: "", ids: [] };

  constructor(facts: Schema) {
    this.#facts = facts;
  }

  /** What is read next comes after the event that has this hash. */
  follow(id: string): void {
    this.#before = { list: `"${id}"`, ids: [id as EventId] };
  }

  /** Undefined when it is not as expected of what lies in this place; then nothing is said about it. */
  read(text: string, { session, step }: StoredEvent, dataHash: string | undefined): Envelope | undefined {
    const byEnd = text.indexOf('","data":"', byStart);
    const digestStart = byEnd + '","data":"'.length;
    const factsStart = digestStart + hashLength + '","facts":'.length;
    const factsEnd = text.indexOf(',"kind":"', factsStart);
    const kindStart = factsEnd + ',"kind":"'.length;
    const kindEnd = text.indexOf('"', kindStart);
    const parentsStart = kindEnd + '","parents":['.length;
    const parentsEnd = text.indexOf("]", parentsStart);
    if (byEnd < 0 || factsEnd < 0 || kindEnd < 0 || parentsEnd < 0) return undefined;

    const kind = this.#kinds.get(text.slice(kindStart, kindEnd));
    const digest = text.slice(digestStart, digestStart + hashLength);
    const factsText = text.slice(factsStart, factsEnd);
    const parentsText = text.slice(parentsStart, parentsEnd);
    const facts = this.#factsOf(factsText);
    const parents = this.#parentsOf(parentsText);
    if (kind === undefined || facts === undefined || parents === undefined || (digest !== dataHash && !isHash(digest))) return undefined;
    if (!this.#neighbours(text.slice(atStart, byStart - '","by":"'.length), text.slice(byStart, byEnd), session)) return undefined;
    const version = versions[kind];
    const expected = `{"at":"${this.#at}","by":"${this.#by}","data":"${digest}","facts":${factsText},"kind":"${kind}","parents":[${parentsText}],"session":"${session}","step":${step},"version":${version}}`;
    if (text !== expected || step < 1 || !Number.isSafeInteger(step)) return undefined;
    return { at: this.#at, by: this.#by, data: digest, facts, kind, parents, session: session as SessionId, step, version };
  }

  /** Keeps what is not the neighbour's; false when it is not as it must be. */
  #neighbours(at: string, by: string, session: string): boolean {
    if (at !== this.#at) {
      if (!instant.test(at)) return false;
      this.#at = copied(at);
    }
    if (by !== this.#by) {
      if (!plain.test(by)) return false;
      this.#by = copied(by);
    }
    if (session !== this.#session) {
      if (!plain.test(session)) return false;
      this.#session = session;
    }
    return true;
  }

  #factsOf(text: string): Facts | undefined {
    const found = this.#knownFacts.get(text);
    if (found !== undefined) return found;
    const read = readCanonical(Buffer.from(text));
    if ("flaw" in read || misfit(this.#facts, read.value, "facts") !== undefined) return undefined;
    if (this.#knownFacts.size < mostFacts) this.#knownFacts.set(copied(text), read.value as Facts);
    return read.value as Facts;
  }

  #parentsOf(text: string): readonly EventId[] | undefined {
    if (text === this.#before.list) return this.#before.ids;
    const parents: EventId[] = [];
    for (let from = 0; from < text.length; from += quotedHash) {
      const id = text.slice(from + 1, from + 1 + hashLength);
      const end = from + quotedHash - 1;
      if (!isHash(id) || text[from] !== '"' || text[end - 1] !== '"') return undefined;
      // A comma is followed by another one, and by nothing else.
      if (end !== text.length && (text[end] !== "," || end + 1 === text.length)) return undefined;
      parents.push(copied(id) as EventId);
    }
    return parents;
  }
}

function isHash(text: string): boolean {
  return text.length === hashLength && hex.test(text);
}

function copied(slice: string): string {
  return Buffer.from(slice, "latin1").toString("latin1");
}

function readLong(schema: Schema, bytes: Uint8Array, flaws: Flaw[]): Envelope | undefined {
  const read = readCanonical(bytes);
  const flaw: Flaw | undefined =
    "flaw" in read
      ? { problem: `its envelope ${read.flaw}`, field: "envelope", kind: "malformed" }
      : misfit(schema, read.value, "envelope");
  if (flaw === undefined) return (read as { readonly value: Envelope }).value;
  flaws.push(flaw);
  return undefined;
}

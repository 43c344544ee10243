/**
 * Reading envelopes. One as the codec writes it is judged by a single match: each of its parts is a canonical text of its own, so
 * the whole is one. Any other is parsed, compared with its canonical text, and held against the schema.
 */
import { isAscii } from "node:buffer";
import type { Envelope } from "../session/codec.ts";
import { type EventKind, type Facts, versions } from "../session/event.ts";
import type { EventId, SessionId } from "../session/id.ts";
import type { StoredEvent } from "../store/store.ts";
import { readCanonical } from "./canonical.ts";
import { misfit, type Schema } from "./misfit.ts";
import type { Flaw } from "./problem.ts";

/** Reads the envelopes of events that come log by log; undefined, with a flaw, where one cannot be read. */
export type ReadEnvelope = (event: StoredEvent, flaws: Flaw[]) => Envelope | undefined;

// The lengths of hashes are judged after the match, as in store/frame.ts: counting makes the expression slower.
const written =
  /^\{"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","by":"([ !#-[\]-~]*)","data":"([0-9a-f]+)","facts":(\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\}),"kind":"([a-z.-]+)","parents":\[((?:"[0-9a-f]+"(?:,"[0-9a-f]+")*)?)\],"session":"([ !#-[\]-~]+)","step":([1-9]\d{0,14}),"version":([1-9]\d{0,8})\}$/;

const hashLength = 64;
const quotedHash = hashLength + 3; // with its quotes and a comma
const atStart = '{"at":"'.length;
const atLength = 24;
const tail = '],"session":"","step":,"version":}'.length;
const mostFacts = 1000;

/** Reads envelopes one after the other; neighbours mostly agree, and of two equal strings one is kept. */
export function envelopeReader(schemas: { readonly envelope: Schema; readonly facts: Schema }): ReadEnvelope {
  const kinds = new Map((Object.keys(versions) as EventKind[]).map((kind) => [kind as string, kind]));
  const known = new Map<string, Facts>();
  let [id, at, by, session] = ["", "", "", ""];

  const factsOf = (text: string): Facts | undefined => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const read = readCanonical(Buffer.from(text));
    if ("flaw" in read || misfit(schemas.facts, read.value, "facts") !== undefined) return undefined;
    if (known.size < mostFacts) known.set(text, read.value as Facts);
    return read.value as Facts;
  };

  /** Undefined when it is not as the codec writes it; then nothing is said about it. */
  const match = (bytes: Buffer): Envelope | undefined => {
    const text = bytes.toString("latin1");
    const [, who, data, factsText, kindText, parentsText, sessionText, step, version] = (written.exec(text) ?? []) as string[];
    if (who === undefined || data === undefined || data.length !== hashLength || parentsText === undefined || step === undefined)
      return undefined;
    const kind = kinds.get(kindText as string);
    const facts = kind === undefined ? undefined : factsOf(factsText as string);
    if (kind === undefined || facts === undefined) return undefined;
    const start = bytes.length - tail - (sessionText as string).length - step.length - (version as string).length - parentsText.length;
    const parents: string[] = [];
    for (let from = 0; from < parentsText.length; from += quotedHash) {
      if (parentsText.indexOf('"', from + 1) !== from + 1 + hashLength) return undefined;
      // A slice of the text would keep all of it in memory: strings that stay are made from the bytes, or are there already.
      parents.push(
        parentsText.startsWith(id, from + 1) && id !== "" ? id : bytes.toString("latin1", start + from + 1, start + from + 1 + hashLength),
      );
    }
    if (text.slice(atStart, atStart + atLength) !== at) at = bytes.toString("latin1", atStart, atStart + atLength);
    if (who !== by) by = Buffer.from(who, "latin1").toString("latin1");
    if (sessionText !== session) session = Buffer.from(sessionText as string, "latin1").toString("latin1");
    return {
      at,
      by,
      data,
      facts,
      kind,
      parents: parents as EventId[],
      session: session as SessionId,
      step: Number(step),
      version: Number(version),
    };
  };

  return (event, flaws) => {
    const bytes = Buffer.from(event.envelope.buffer, event.envelope.byteOffset, event.envelope.byteLength);
    const envelope = (isAscii(bytes) ? match(bytes) : undefined) ?? readLong(schemas.envelope, bytes, flaws);
    id = event.id;
    return envelope;
  };
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

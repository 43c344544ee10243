/**
 * One stored event, read from its bytes alone: does its id name them, is its data what the envelope promises, is everything
 * canonical and of a known shape. Also what it names elsewhere, so that the rest of a record can be found and compared.
 * Nothing here throws for content: what is wrong becomes a flaw of the entry.
 */
import { hash } from "node:crypto";
import { type Envelope, upcast } from "../session/codec.ts";
import { type DataOf, type EventKind, versions } from "../session/event.ts";
import { restore } from "../session/json.ts";
import { type Platform, saltBytes } from "../session/platform.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { StoredEvent } from "../store/store.ts";
import { type BlobReference, blobReferences } from "./blob-references.ts";
import { readCanonical } from "./canonical.ts";
import { envelopeReader, type Hashes, type ReadEnvelope } from "./envelope.ts";
import { misfit, type Schema } from "./misfit.ts";
import type { Flaw } from "./problem.ts";

export type { Finding, Flaw } from "./problem.ts";

/** An event in a log. */
export interface Place {
  readonly session: string;
  readonly head: string;
}

/** What the data of an event names outside itself. */
export interface Names {
  /** Where a detached session comes from, or what a run was given. */
  readonly origin?: Place | undefined;
  /** The answer that settled an effect. */
  readonly answer?: string | undefined;
  /** The signal that a `receive` took. */
  readonly signal?: string | undefined;
  /** Which signals a `receive` waits for, and which of which run a signal is. */
  readonly mailbox?: { readonly signal: string; readonly run?: string | undefined } | undefined;
  /** The question an answer is for. */
  readonly question?: string | undefined;
  /** The run whose work a `workflow.entered` begins. */
  readonly run?: string | undefined;
  /** What a session is called and whose it is. */
  readonly about?: DataOf<"session.created"> | undefined;
  /** What a run was started as. */
  readonly started?: DataOf<"run.started"> | undefined;
  /** How a run ended. */
  readonly ended?: string | undefined;
  readonly signed?: DataOf<"run.signed"> | undefined;
  /** What an entry of the erasure log lists. */
  readonly erasure?: DataOf<"data.erased"> | undefined;
}

/** A stored event without its bytes. Fields of an envelope that cannot be read are empty. */
export interface Entry {
  readonly id: string;
  readonly session: string;
  /** Its position in its log, as it was read. */
  readonly index: number;
  readonly step: number;
  readonly run: string | undefined;
  readonly order: number;
  readonly kind: EventKind | undefined;
  readonly by: string;
  readonly at: string;
  /** The entry of the erasure log that it names. */
  readonly erasedBy: string | undefined;
  readonly parents: readonly string[];
  /** The call that a result in a batch names. */
  readonly call: string | undefined;
  /** The result that a rerun reused. */
  readonly source: string | undefined;
  /** Its data is not there any more. */
  readonly erased: boolean;
  readonly names: Names;
  readonly blobs: readonly BlobReference[];
  /** Trees of files it names. */
  readonly trees: readonly string[];
  readonly flaws: readonly Flaw[];
}

/** Reads one stored event, which has this position in its log. */
export type Inspect = (event: StoredEvent, index: number) => Entry;

interface Reading {
  readonly platform: Platform;
  readonly readEnvelope: ReadEnvelope;
  readonly data: Readonly<Record<EventKind, Schema>>;
}

/** Loads the schemas, which cost too much to be loaded by everybody, and gives the function that reads events. */
export async function inspector(platform: Platform): Promise<Inspect> {
  const { envelopeSchema, schemas } = await import("../session/schema.ts");
  const readEnvelope = envelopeReader({ envelope: envelopeSchema, facts: envelopeSchema.shape.facts });
  const reading = { platform, readEnvelope, data: schemas };
  return (event, index) => inspect(reading, event, index);
}

const nothing: readonly never[] = Object.freeze([]);
const namesNothing: Names = Object.freeze({});

function inspect(reading: Reading, event: StoredEvent, index: number): Entry {
  const flaws: Flaw[] = [];
  const { id, session, step, run, order } = event;
  const hashes = { envelope: hash("sha256", event.envelope), data: event.data === undefined ? undefined : hash("sha256", event.data) };
  if (hashes.envelope !== id)
    flaws.push({ problem: "its envelope was changed: the SHA-256 of the envelope is not the event's id", field: "id" });
  const envelope = readEnvelope(reading, event, hashes, flaws);
  const data = envelope === undefined ? undefined : readData(reading, event, envelope, hashes, flaws);
  return {
    id,
    session,
    index,
    step,
    run,
    order,
    kind: envelope?.kind,
    by: envelope?.by ?? "",
    at: envelope?.at ?? "",
    erasedBy: event.erased,
    parents: envelope?.parents ?? nothing,
    call: envelope?.facts.call,
    source: envelope?.facts.source,
    erased: event.data === undefined,
    names: data === undefined || envelope === undefined ? namesNothing : namesIn(envelope.kind, data.value),
    blobs: data?.blobs ?? nothing,
    trees: data?.trees ?? nothing,
    // A long record is mostly events without flaws.
    flaws: flaws.length === 0 ? nothing : flaws,
  };
}

function readEnvelope({ readEnvelope: read }: Reading, event: StoredEvent, hashes: Hashes, flaws: Flaw[]): Envelope | undefined {
  const envelope = read(event, hashes, flaws);
  if (envelope === undefined) return undefined;
  if (envelope.session !== event.session)
    flaws.push({
      problem: `it lies in log ${event.session}, but its envelope says ${envelope.session}`,
      field: "envelope.session",
      kind: "moved",
    });
  if (envelope.step !== event.step)
    flaws.push({
      problem: `it is stored at step ${event.step}, but its envelope says ${envelope.step}`,
      field: "envelope.step",
      kind: "moved",
    });
  return envelope;
}

interface Data {
  /** Decoded and upcast, or undefined where its shape is not the kind's. */
  readonly value: unknown;
  readonly blobs: readonly BlobReference[];
  readonly trees: readonly string[];
}

function readData(reading: Reading, event: StoredEvent, envelope: Envelope, hashes: Hashes, flaws: Flaw[]): Data | undefined {
  const { kind, version } = envelope;
  const known = Object.hasOwn(versions, kind) ? versions[kind] : undefined;
  if (known === undefined)
    flaws.push({
      problem: `event kind "${kind}" is not known to this version of openrath: update openrath to read it`,
      field: "envelope.kind",
      kind: "newer",
      code: "event.unknown-kind",
    });
  else if (version > known)
    flaws.push({
      problem: `"${kind}" has version ${version}, this openrath reads up to ${known}: update openrath to read it`,
      field: "envelope.version",
      kind: "newer",
      code: "event.newer-version",
    });
  if (event.data === undefined) return undefined; // erased: the digest stays in the chain, and erased.ts asks by whom
  if (event.data.length < saltBytes) {
    flaws.push({ problem: "its data is shorter than its salt", field: "data" });
    return undefined;
  }
  if (hashes.data !== envelope.data)
    flaws.push({ problem: "its data or salt was changed: their SHA-256 is not the digest in its envelope", field: "data" });
  const read = readCanonical(event.data, saltBytes);
  if ("flaw" in read) flaws.push({ problem: `its data ${read.flaw}`, field: "data", kind: "malformed" });
  if ("flaw" in read || known === undefined || version > known) return undefined;
  // Without a `$` there is nothing in it that stands for something else.
  if (!read.marked) return { value: shaped(reading, envelope, read.value, flaws), blobs: nothing, trees: nothing };
  const { references, trees, flaw } = blobReferences(read.value);
  if (flaw !== undefined) {
    flaws.push({ problem: flaw, field: "data", kind: "malformed" });
    return undefined;
  }
  return { value: decoded(reading, read.value, envelope, flaws), blobs: references, trees };
}

/** The shape is judged with empty blobs: whether their contents are there and right is judged apart, once for each. */
function decoded(reading: Reading, parsed: unknown, envelope: Envelope, flaws: Flaw[]): unknown {
  try {
    return shaped(
      reading,
      envelope,
      restore(parsed, reading.platform, () => empty),
      flaws,
    );
  } catch (error) {
    flaws.push({ problem: `its data cannot be decoded: ${textOfThrown(error)}`, field: "data", kind: "malformed" });
    return undefined;
  }
}

/** Brought to the newest version; undefined, with a flaw, where its shape is not the kind's. */
function shaped(reading: Reading, { kind, version }: Envelope, data: unknown, flaws: Flaw[]): unknown {
  const value = upcast(kind, version, data);
  const flaw = misfit(reading.data[kind], value, "data");
  if (flaw === undefined) return value;
  flaws.push(flaw);
  return undefined;
}

const empty = new Uint8Array(0);

function namesIn(kind: EventKind, value: unknown): Names {
  if (value === undefined) return namesNothing;
  switch (kind) {
    case "session.created":
      return { about: value as DataOf<"session.created"> };
    case "session.detached":
      return { origin: (value as DataOf<"session.detached">).from };
    case "run.started": {
      const started = value as DataOf<"run.started">;
      return { origin: started.input, started };
    }
    case "run.ended":
      return { ended: (value as DataOf<"run.ended">).status };
    case "answer.given":
      return { question: (value as DataOf<"answer.given">).question };
    case "receive.called":
    case "signal.sent": {
      const { signal, run } = value as { readonly signal: string; readonly run?: string };
      return { mailbox: { signal, run } };
    }
    case "receive.returned": {
      const { answer, signal } = value as DataOf<"receive.returned">;
      return { answer, signal };
    }
    case "workflow.entered":
      return { run: (value as DataOf<"workflow.entered">).run };
    case "run.signed":
      return { signed: value as DataOf<"run.signed"> };
    case "data.erased":
      return { erasure: value as DataOf<"data.erased"> };
    case "do.returned":
    case "check.returned":
    case "ask.returned":
    case "wait.returned":
    case "model.returned":
    case "tool.returned":
    case "route.returned":
      return answerIn(value as DataOf<"do.returned">);
    default:
      return namesNothing;
  }
}

function answerIn({ answer }: DataOf<"do.returned">): Names {
  return answer === undefined ? namesNothing : { answer };
}

/**
 * One stored event, read from its bytes alone: does its id name them, is its data what the envelope promises, is everything
 * canonical and of a known shape. Also what it names elsewhere, so that the rest of a record can be found and compared.
 * Nothing here throws for content: what is wrong becomes a flaw of the entry.
 */
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { type Envelope, upcast } from "../session/codec.ts";
import type { ErrorCode } from "../session/errors.ts";
import { type DataOf, type EventKind, versions } from "../session/event.ts";
import { decode } from "../session/json.ts";
import { type Platform, saltBytes } from "../session/platform.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { StoredEvent } from "../store/store.ts";
import { type BlobReference, blobReferences } from "./blob-references.ts";

/** Something wrong with an event. */
export interface Flaw {
  readonly problem: string;
  /** Where in the event, as a path. */
  readonly field?: string | undefined;
  readonly code?: ErrorCode | undefined;
}

/** Something wrong, and which event, log or run it is wrong with. */
export interface Finding extends Flaw {
  readonly event: string;
}

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
  readonly step: number;
  readonly run: string | undefined;
  readonly order: number;
  readonly kind: EventKind | undefined;
  readonly by: string;
  readonly at: string;
  /** Its data is not there; and the entry of the erasure log that it names. */
  readonly gone: boolean;
  readonly erased: string | undefined;
  readonly parents: readonly string[];
  /** The call that a result in a batch names. */
  readonly call: string | undefined;
  /** The result that a rerun reused. */
  readonly source: string | undefined;
  readonly names: Names;
  readonly blobs: readonly BlobReference[];
  /** Trees of files it names. */
  readonly trees: readonly string[];
  readonly flaws: readonly Flaw[];
}

/** Reads one stored event. */
export type Inspect = (event: StoredEvent) => Entry;

interface Schema {
  safeParse(value: unknown): {
    readonly success: boolean;
    readonly error?: { readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] } | undefined;
  };
}

interface Schemas {
  readonly envelope: Schema;
  readonly data: Readonly<Record<EventKind, Schema>>;
}

/** Loads the schemas, which cost too much to be loaded by everybody, and gives the function that reads events. */
export async function inspector(platform: Platform): Promise<Inspect> {
  const { envelopeSchema, schemas } = await import("../session/schema.ts");
  return (event) => inspect(platform, { envelope: envelopeSchema, data: schemas }, event);
}

function inspect(platform: Platform, schemas: Schemas, event: StoredEvent): Entry {
  const flaws: Flaw[] = [];
  const { id, session, step, run, order } = event;
  if (hash("sha256", event.envelope) !== id)
    flaws.push({ problem: "its envelope was changed: the SHA-256 of the envelope is not the event's id", field: "id" });
  const envelope = readEnvelope(schemas, event, flaws);
  const data = envelope === undefined ? undefined : readData(platform, schemas, event, envelope, flaws);
  return {
    id,
    session,
    step,
    run,
    order,
    kind: envelope?.kind,
    by: envelope?.by ?? "",
    at: envelope?.at ?? "",
    gone: event.data === undefined,
    erased: event.erased,
    parents: envelope?.parents ?? [],
    call: envelope?.facts.call,
    source: envelope?.facts.source,
    names: data === undefined || envelope === undefined ? {} : namesIn(envelope.kind, data.value),
    blobs: data?.blobs ?? [],
    trees: data?.trees ?? [],
    flaws,
  };
}

function readEnvelope(schemas: Schemas, event: StoredEvent, flaws: Flaw[]): Envelope | undefined {
  const value = readCanonical(event.envelope, "envelope", flaws);
  if (value === undefined) return undefined;
  const shape = misfit(schemas.envelope, value, "envelope");
  if (shape !== undefined) {
    flaws.push(shape);
    return undefined;
  }
  const envelope = value as Envelope;
  if (envelope.session !== event.session)
    flaws.push({ problem: `it lies in log ${event.session}, but its envelope says ${envelope.session}`, field: "envelope.session" });
  if (envelope.step !== event.step)
    flaws.push({ problem: `it is stored at step ${event.step}, but its envelope says ${envelope.step}`, field: "envelope.step" });
  return envelope;
}

interface Data {
  /** Decoded and upcast, or undefined where its shape is not the kind's. */
  readonly value: unknown;
  readonly blobs: readonly BlobReference[];
  readonly trees: readonly string[];
}

function readData(platform: Platform, schemas: Schemas, event: StoredEvent, envelope: Envelope, flaws: Flaw[]): Data | undefined {
  const { kind, version } = envelope;
  const known = Object.hasOwn(versions, kind) ? versions[kind] : undefined;
  if (known === undefined)
    flaws.push({
      problem: `event kind "${kind}" is not known to this version of openrath: update openrath to read it`,
      field: "envelope.kind",
      code: "event.unknown-kind",
    });
  else if (version > known)
    flaws.push({
      problem: `"${kind}" has version ${version}, this openrath reads up to ${known}: update openrath to read it`,
      field: "envelope.version",
      code: "event.newer-version",
    });
  if (event.data === undefined) return undefined; // erased: the digest stays in the chain, and erased.ts asks by whom
  if (event.data.length < saltBytes) {
    flaws.push({ problem: "its data is shorter than its salt", field: "data" });
    return undefined;
  }
  if (hash("sha256", event.data) !== envelope.data)
    flaws.push({ problem: "its data or salt was changed: their SHA-256 is not the digest in its envelope", field: "data" });
  const value = readCanonical(event.data.subarray(saltBytes), "data", flaws);
  if (value === undefined || known === undefined || version > known) return undefined;
  const { references, trees, flaw } = blobReferences(value);
  if (flaw !== undefined) {
    flaws.push({ problem: flaw, field: "data" });
    return undefined;
  }
  return { value: decoded(platform, schemas, event.data, envelope, flaws), blobs: references, trees };
}

/** The shape is judged with empty blobs: whether their contents are there and right is judged apart, once for each. */
function decoded(platform: Platform, schemas: Schemas, bytes: Uint8Array, { kind, version }: Envelope, flaws: Flaw[]): unknown {
  try {
    const value = upcast(
      kind,
      version,
      decode(platform.text(bytes.subarray(saltBytes)), platform, () => empty),
    );
    const shape = misfit(schemas.data[kind], value, "data");
    if (shape === undefined) return value;
    flaws.push(shape);
  } catch (error) {
    flaws.push({ problem: `its data cannot be decoded: ${textOfThrown(error)}`, field: "data" });
  }
  return undefined;
}

const empty = new Uint8Array(0);

/** The value of bytes that are canonical JSON (RFC 8785); undefined, with a flaw, where they are not. */
function readCanonical(bytes: Uint8Array, field: string, flaws: Flaw[]): unknown {
  if (!isUtf8(bytes)) {
    flaws.push({ problem: `its ${field} is not UTF-8`, field });
    return undefined;
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    flaws.push({ problem: `its ${field} is not JSON`, field });
    return undefined;
  }
  try {
    if (canonicalize(value) === text) return value;
    flaws.push({ problem: `its ${field} is not canonical JSON (RFC 8785)`, field });
  } catch (error) {
    flaws.push({ problem: `its ${field} is not canonical JSON (RFC 8785): ${textOfThrown(error)}`, field });
  }
  return undefined;
}

function misfit(schema: Schema, value: unknown, name: string): Flaw | undefined {
  const { success, error } = schema.safeParse(value);
  if (success) return undefined;
  const issue = error?.issues[0];
  const field = [name, ...(issue?.path ?? []).map(String)].join(".");
  return { problem: `its ${field} does not have the shape it must have: ${issue?.message ?? "it does not fit"}`, field };
}

function namesIn(kind: EventKind, value: unknown): Names {
  if (value === undefined) return {};
  switch (kind) {
    case "session.created":
      return { about: value as DataOf<"session.created"> };
    case "session.detached":
      return { origin: (value as DataOf<"session.detached">).from };
    case "run.started":
      return { origin: (value as DataOf<"run.started">).input };
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
      return { answer: (value as DataOf<"do.returned">).answer };
    default:
      return {};
  }
}

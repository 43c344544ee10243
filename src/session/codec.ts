/**
 * Events in bytes. The envelope is canonical JSON built by template, its keys already in order; the id is its SHA-256.
 * It holds a salted digest of the data, so data can be erased, cannot be guessed from its digest, and the chain still verifies.
 */
import { RathError } from "./errors.ts";
import { type EventKind, type Facts, versions } from "./event.ts";
import type { EventId, SessionId } from "./id.ts";
import { type Platform, saltBytes } from "./platform.ts";

/** What an envelope says, the digest of its data in place of the data. */
export interface Envelope {
  readonly at: string;
  readonly by: string;
  readonly data: string;
  readonly facts: Facts;
  readonly kind: EventKind;
  readonly parents: readonly EventId[];
  readonly session: SessionId;
  readonly step: number;
  readonly version: number;
}

/** What an envelope says, its facts as they are written. */
export interface EnvelopeParts {
  readonly at: string;
  readonly by: string;
  /** The digest of the data. */
  readonly data: string;
  /** JSON. */
  readonly facts: string;
  readonly kind: string;
  readonly parents: readonly string[];
  readonly session: string;
  readonly step: number;
  readonly version: number;
}

export interface Sealed {
  readonly id: EventId;
  readonly digest: string;
  readonly envelope: string;
  /** Salt first, then the canonical data. */
  readonly data: Uint8Array;
}

/** Salts and hashes the data, builds the envelope and names the event. */
export function seal(platform: Platform, fields: Omit<Envelope, "data">, dataText: string): Sealed {
  const data = platform.salted(dataText);
  const digest = platform.sha256(data);
  const envelope = envelopeText(fields, digest);
  return { id: platform.sha256(envelope), digest, envelope, data };
}

/** The canonical text of an envelope. `facts` must have its keys in order: see `facts()`. */
export function envelopeText(e: Omit<Envelope, "data">, digest: string): string {
  const parents = e.parents.length === 1 ? `"${e.parents[0]}"` : e.parents.map((parent) => `"${parent}"`).join(",");
  return `{"at":"${e.at}","by":${JSON.stringify(e.by)},"data":"${digest}","facts":${JSON.stringify(e.facts)},"kind":"${e.kind}","parents":[${parents}],"session":"${e.session}","step":${e.step},"version":${e.version}}`;
}

/** Facts with their keys in canonical order and nothing undefined. */
export function facts(given: { readonly [K in keyof Facts]?: Facts[K] | undefined }): Facts {
  const kept: Record<string, unknown> = {};
  if (given.acted === true) kept["acted"] = true;
  if (given.alone === true) kept["alone"] = true;
  if (given.attempts !== undefined) kept["attempts"] = given.attempts;
  if (given.call !== undefined) kept["call"] = given.call;
  if (given.closed === true) kept["closed"] = true;
  if (given.counted !== undefined) kept["counted"] = given.counted;
  if (given.files === true) kept["files"] = true;
  if (given.injected === true) kept["injected"] = true;
  if (given.memory === true) kept["memory"] = true;
  if (given.ms !== undefined) kept["ms"] = given.ms;
  if (given.nth !== undefined) kept["nth"] = given.nth;
  if (given.outcome !== undefined) kept["outcome"] = given.outcome;
  if (given.outside === true) kept["outside"] = true;
  if (given.past === true) kept["past"] = true;
  if (given.processes === true) kept["processes"] = true;
  if (given.redacted !== undefined && given.redacted > 0) kept["redacted"] = given.redacted;
  if (given.source !== undefined) kept["source"] = given.source;
  if (given.started === true) kept["started"] = true;
  if (given.trusted === true) kept["trusted"] = true;
  if (given.usage !== undefined) {
    const { cacheWrite, cached, input, output, reasoning, usd } = given.usage;
    kept["usage"] = { cacheWrite, cached, input, output, reasoning, usd };
  }
  return kept;
}

/** What the envelope of a stored event says. */
export function envelopeOf(
  platform: Platform,
  { envelope, parts }: { readonly envelope: Uint8Array; readonly parts?: EnvelopeParts | undefined },
): Envelope {
  const assembled = parts === undefined ? undefined : assemble(parts);
  return assembled === undefined ? parseEnvelope(platform.text(envelope)) : known(assembled);
}

function assemble({ at, by, data, facts, kind, parents, session, step, version }: EnvelopeParts): Envelope | undefined {
  try {
    return { at, by, data, facts: JSON.parse(facts) as Facts, kind: kind as EventKind, parents, session, step, version };
  } catch {
    return undefined; // whoever reads the whole says what is wrong with it
  }
}

/** Reads an envelope that this package or an older one wrote; a kind or version it does not know is refused by name. */
export function parseEnvelope(text: string): Envelope {
  let envelope: Envelope;
  try {
    envelope = JSON.parse(text) as Envelope;
  } catch (cause) {
    throw new RathError("event.invalid", `An event's envelope is not JSON: ${text.slice(0, 80)}`, { cause });
  }
  if (typeof envelope !== "object" || envelope === null)
    throw new RathError("event.invalid", `An event's envelope is not a JSON object: ${text.slice(0, 80)}`);
  return known(envelope);
}

function known(envelope: Envelope): Envelope {
  const newest = Object.hasOwn(versions, envelope.kind) ? versions[envelope.kind] : undefined;
  if (newest === undefined) {
    throw new RathError(
      "event.unknown-kind",
      `Event kind "${envelope.kind}" is not known to this version of openrath: update openrath to read it.`,
      { details: { kind: envelope.kind } },
    );
  }
  if (envelope.version > newest) {
    throw new RathError(
      "event.newer-version",
      `"${envelope.kind}" has version ${envelope.version}; this openrath reads up to ${newest}: update openrath to read it.`,
      {
        details: { kind: envelope.kind, version: envelope.version, known: newest },
      },
    );
  }
  return envelope;
}

/** The canonical data of an event without its salt. */
export function dataText(platform: Platform, data: Uint8Array): string {
  return platform.text(data.subarray(saltBytes));
}

/** One step from a version of a kind to the next. */
export type Upcasters = Readonly<Partial<Record<EventKind, Readonly<Record<number, (data: unknown) => unknown>>>>>;

/** Nothing has been released in an older shape yet. */
const released: Upcasters = {};

/** Brings data of an older version to the newest shape. Doing it twice is doing it once. */
export function upcast(
  kind: EventKind,
  version: number,
  data: unknown,
  upcasters: Upcasters = released,
  newest: number = versions[kind],
): unknown {
  let current = data;
  for (let from = version; from < newest; from++) {
    const step = upcasters[kind]?.[from];
    if (step === undefined)
      throw new RathError("event.invalid", `There is no way from "${kind}" version ${from} to ${from + 1}.`, {
        details: { kind, version: from },
      });
    current = step(current);
  }
  return current;
}

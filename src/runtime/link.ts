/** Makes an event: encodes and redacts its data, seals it, and links it into its log. Nothing is written here. */
import { facts as toFacts, seal } from "../session/codec.ts";
import { type EventKind, type Facts, versions } from "../session/event.ts";
import { encode } from "../session/json.ts";
import { type Log, Node } from "../session/log.ts";
import type { Services } from "./services.ts";

export interface Linking {
  readonly log: Log;
  readonly parents: readonly Node[];
  readonly kind: EventKind;
  readonly data: unknown;
  readonly by: string;
  readonly facts?: { readonly [K in keyof Facts]?: Facts[K] | undefined } | undefined;
  /** No effect happened: its time is its parents', so that making it again gives the same. */
  readonly pure?: boolean | undefined;
  readonly at?: string | undefined;
  /** Already encoded: matched against the record before. */
  readonly encoded?: { readonly text: string; readonly value?: unknown; readonly redacted?: number; readonly blobs: ReadonlyMap<string, Uint8Array> | undefined } | undefined;
}

export function link(runtime: Services, linking: Linking): Node {
  const { platform } = runtime;
  const { log, parents, kind } = linking;
  const encoded = linking.encoded ?? encode(linking.data, platform, runtime.redact, kind);
  const facts = toFacts({ ...linking.facts, redacted: encoded.redacted ?? linking.facts?.redacted });
  let step = 1;
  let latest = "";
  for (const parent of parents) {
    if (parent.step >= step) step = parent.step + 1;
    if (parent.at > latest) latest = parent.at;
  }
  const wanted = linking.at ?? (linking.pure === true && latest !== "" ? latest : platform.time());
  const at = wanted < latest ? latest : wanted;
  const fields = { at, by: linking.by, facts, kind, step, version: versions[kind] };
  const sealed = seal(platform, { ...fields, parents: parents.map((parent) => parent.id), session: log.id }, encoded.text);
  const node = new Node({ ...fields, id: sealed.id, digest: sealed.digest }, log, parents);
  node.sealed = sealed;
  node.blobs = encoded.blobs;
  node.hold("value" in encoded ? encoded.value : linking.data);
  return node;
}

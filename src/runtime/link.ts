/** Makes an event: encodes and redacts its data, seals it, and links it into its log. Nothing is written here. */
import { seal, facts as toFacts } from "../session/codec.ts";
import { type EventKind, type Facts, versions } from "../session/event.ts";
import { type Encoded, encode, type Redact } from "../session/json.ts";
import { type Log, Node } from "../session/log.ts";
import type { Services } from "./services.ts";

export interface Linking {
  readonly log: Log;
  readonly parents: readonly Node[];
  readonly kind: EventKind;
  readonly data: unknown;
  readonly by: string;
  /** In canonical order: literals with sorted keys, or `facts()`. */
  readonly facts?: Facts | undefined;
  /** No effect happened: its time is its parents', so that making it again gives the same. */
  readonly pure?: boolean | undefined;
  readonly at?: string | undefined;
  /** Already encoded: matched against the record before. */
  readonly encoded?: Encoded | undefined;
}

const noFacts: Facts = Object.freeze({});

/** Keys and signatures are random text, in which now and then something looks like a secret: without it they prove nothing. */
const asItIs: Redact = () => undefined;

export function link(runtime: Services, linking: Linking): Node {
  const { platform } = runtime;
  const { log, parents, kind, by } = linking;
  const encoded = linking.encoded ?? encode(linking.data, platform, kind === "run.signed" ? asItIs : runtime.redact, kind);
  const given = linking.facts ?? noFacts;
  const facts = encoded.redacted === 0 ? given : toFacts({ ...given, redacted: encoded.redacted });
  let step = 1;
  let latest = "";
  for (const parent of parents) {
    if (parent.step >= step) step = parent.step + 1;
    if (parent.at > latest) latest = parent.at;
  }
  const wanted = linking.at ?? (linking.pure === true && latest !== "" ? latest : platform.time());
  const at = wanted < latest ? latest : wanted;
  const version = versions[kind];
  const sealed = seal(platform, { at, by, facts, kind, parents: parents.map(idOf), session: log.id, step, version }, encoded.text);
  const node = new Node({ id: sealed.id, kind, version, step, at, by, facts }, log, parents);
  node.sealed = sealed;
  node.blobs = encoded.blobs;
  node.hold(encoded.value);
  return node;
}

function idOf(node: Node): string {
  return node.id;
}

/** What people said to runs, as a bundle brings it: runs go on by it, whoever wrote it. So whoever lets others import asks who may have said it. */
import { fromStored } from "../../runtime/load.ts";
import { dataText, envelopeOf } from "../../session/codec.ts";
import { type DataOf, type EventKind, isCalled, isReturned, isStarted } from "../../session/event.ts";
import { Log, type Node } from "../../session/log.ts";
import type { Platform } from "../../session/platform.ts";
import type { Pending } from "../../session/session.ts";
import { pendingOf } from "../../session/views.ts";
import type { StoredEvent } from "../../store/store.ts";
import { blobReferences } from "../blob-references.ts";
import type { BundleSource } from "./bundle-read.ts";

/** A signal, an answer, or the result of waiting for one, which is one also where it names none. */
export interface Said {
  readonly kind: "signal" | "answer";
  /** The event that says so. */
  readonly event: string;
  /** In whose name; undefined for a result, which is in nobody's. */
  readonly by: string | undefined;
  /** What is answered; undefined for signals, and where it was erased. */
  readonly pending: Pending | undefined;
}

/** What was said in some events of a bundle, which was checked. */
export async function saidIn(platform: Platform, bundle: BundleSource, events: ReadonlySet<string>): Promise<readonly Said[]> {
  const said: (Omit<Said, "pending"> & { readonly question?: string | undefined })[] = [];
  /** What something may be pending under, with the call it belongs to. */
  const marks = new Map<string, string | undefined>();
  /** Calls that wait for somebody. */
  const waits = new Map<string, Said["kind"]>();
  for (const { id: log } of bundle.rows) {
    let last: string | undefined;
    for (const event of bundle.eventsOf(log)) {
      const { id } = event;
      const { kind, facts, by } = envelopeOf(platform, event);
      if (isCalled(kind)) last = id;
      const call = isCalled(kind) ? id : (facts.call ?? last);
      if (isCalled(kind) || isStarted(kind)) marks.set(id, call);
      if (kind === "ask.called") waits.set(id, "answer");
      if (kind === "receive.called") waits.set(id, "signal");
      if (!events.has(id)) continue;
      if (kind === "signal.sent") said.push({ kind: "signal", event: id, by });
      else if (kind === "answer.given") said.push({ kind: "answer", event: id, by, question: questionOf(platform, event) });
      // A result of any kind ends the call that it names. What expired, or was closed with its run, was said by nobody.
      const waited = isReturned(kind) && facts.outcome === "ok" ? waits.get(call ?? "") : undefined;
      if (waited === "answer") said.push({ kind: waited, event: id, by: undefined, question: call });
      else if (waited === "signal" && !namesSignal(platform, kind, event)) said.push({ kind: waited, event: id, by: undefined });
    }
  }
  return Promise.all(
    said.map(async ({ question, ...one }) => {
      const [mark, call] = await Promise.all([nodeOf(platform, bundle, question), nodeOf(platform, bundle, marks.get(question ?? ""))]);
      // Of a call that was erased nobody can tell whom it asked.
      const isKnown = mark !== undefined && call?.bytes !== undefined;
      return { ...one, pending: isKnown ? pendingOf(mark, platform, call) : undefined };
    }),
  );
}

/** The signal itself is in the bundle then, and is looked at as any other. */
function namesSignal(platform: Platform, kind: EventKind, { data }: StoredEvent): boolean {
  return (
    kind === "receive.returned" &&
    data !== undefined &&
    (JSON.parse(dataText(platform, data)) as DataOf<"receive.returned">).signal !== undefined
  );
}

function questionOf(platform: Platform, { data }: StoredEvent): string | undefined {
  return data === undefined ? undefined : (JSON.parse(dataText(platform, data)) as DataOf<"answer.given">).question;
}

async function nodeOf(platform: Platform, bundle: BundleSource, id: string | undefined): Promise<Node | undefined> {
  if (id === undefined) return undefined;
  for await (const event of bundle.events({ ids: [id] })) {
    const node = fromStored(platform, event, new Log(event.session), []);
    const { references } = blobReferences(event.data === undefined ? undefined : JSON.parse(dataText(platform, event.data)));
    node.blobs = new Map(await Promise.all(references.map(async ({ hash }) => [hash, (await bundle.blob(hash)) as Uint8Array] as const)));
    return node;
  }
  return undefined;
}

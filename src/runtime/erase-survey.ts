/**
 * What an erasure leaves behind: which blobs nothing names any more, which sessions stand on what is erased, and what else says the same.
 * Every event of the store is looked at once, before anything is removed.
 */
import { dataText } from "../session/codec.ts";
import type { Platform } from "../session/platform.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import type { Found, Left } from "./erase-find.ts";
import { longTexts, type Words } from "./erase-words.ts";
import { Reachable } from "./reachable.ts";

/** Shorter texts are the same by chance. */
const tellingLength = 24;
const mostLeft = 1000;

/** An event whose parent lies in another log: there the one log takes in the other. */
interface Crossing {
  readonly parent: string;
  readonly log: string;
  readonly step: number;
}

interface Envelope {
  readonly kind: string;
  readonly parents: readonly string[];
}

/**
 * Looks at every event of every project that shares the blobs, and removes what goes once `decided` has put it on record. What is
 * appended meanwhile is looked at before anything is removed, and put on record again: nothing that stays loses a blob. Gives the blobs
 * that went. A store that cannot remove any is only looked at.
 */
export async function sweepSurveyed(
  store: Store,
  survey: Survey,
  decided: (() => Promise<void>) | "dry run",
): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  const dryRun = decided === "dry run";
  const keeping = async (events: AsyncIterable<StoredEvent>): Promise<(blob: string) => boolean> => {
    await survey.look(events);
    if (!dryRun) await decided();
    const { gone } = survey;
    return (blob) => !gone.has(blob);
  };
  if (store.sweep === undefined) await keeping(allEvents(store));
  else for await (const { hash } of store.sweep({ dryRun, keeping })) removed.add(hash);
  return removed;
}

async function* allEvents(store: Store) {
  for await (const { id } of store.sessions({})) yield* store.events({ session: id });
}

export class Survey {
  readonly #left: Left[] = [];
  readonly #platform: Platform;
  readonly #store: Store;
  readonly #found: Pick<Found, "events" | "files" | "words">;
  readonly #remaining: Reachable;
  readonly #lost: Reachable;
  /** Where the erased events of each log begin. */
  readonly #erasedFrom = new Map<string, number>();
  readonly #runs = new Set<string>();
  readonly #crossings: Crossing[] = [];
  /** What erased events say; filled by a first look at them. */
  readonly #telling = new Set<string>();
  /** The last event of each log that was looked at. */
  readonly #last = new Map<string, string>();
  #looked = false;

  constructor(platform: Platform, store: Store, found: Pick<Found, "events" | "files" | "words">) {
    this.#platform = platform;
    this.#store = store;
    this.#found = found;
    this.#remaining = new Reachable(store);
    this.#lost = new Reachable(store, true);
  }

  /** Blobs that go: what only erased events named, and contents that hold the words and that no other event names by itself. */
  get gone(): ReadonlySet<string> {
    const gone = new Set([...this.#lost.blobs.keys()].filter((blob) => !this.#remaining.blobs.has(blob)));
    for (const file of this.#found.files.keys()) if (!this.#remaining.direct.has(file)) gone.add(file);
    return gone;
  }

  /** Of those, what trees still name: it must be on record that they were erased. */
  get named(): readonly string[] {
    return [...this.#found.files.keys()].filter((file) => this.#remaining.blobs.has(file) && !this.#remaining.direct.has(file));
  }

  /** The runs that wrote what is erased. */
  get runs(): ReadonlySet<string> {
    return this.#runs;
  }

  /** The logs in which erased events lie. */
  get logs(): ReadonlySet<string> {
    return new Set(this.#erasedFrom.keys());
  }

  /** May be called again with what was appended since. */
  async look(events: AsyncIterable<StoredEvent>): Promise<void> {
    if (!this.#looked) await this.#readErased();
    this.#looked = true;
    const last = this.#last;
    for await (const event of events) {
      const { kind, parents } = JSON.parse(this.#platform.text(event.envelope)) as Envelope;
      const { id, session: log, step, data } = event;
      for (const parent of parents) if (parent !== last.get(log)) this.#crossings.push({ parent, log, step });
      last.set(log, id);
      if (data === undefined || this.#found.events.has(id)) continue;
      const text = dataText(this.#platform, data);
      if (kind === "session.detached") {
        const { from } = JSON.parse(text) as { readonly from: { readonly head: string } };
        this.#crossings.push({ parent: from.head, log, step });
      }
      await this.#remaining.addText(text, id);
      this.#compare(id, text, this.#found.words);
    }
  }

  /** What still says the same, or names what was to go. */
  get left(): readonly Left[] {
    const left = [...this.#left];
    for (const [blob, event] of this.#remaining.blobs) {
      const isLost = this.#lost.blobs.has(blob) && !this.#found.files.has(blob);
      const isHeld = this.#found.files.has(blob) && this.#remaining.direct.has(blob);
      if ((isLost || isHeld) && left.length < mostLeft) left.push({ what: "blob", id: blob, why: `event ${event} still names it` });
    }
    return left;
  }

  /** Every log whose lineage contains an erased event, and in which none lies itself. */
  async shared(): Promise<readonly string[]> {
    const places = new Map<string, { readonly log: string; readonly step: number }>();
    for await (const { id, session, step } of this.#store.events({ ids: [...new Set(this.#crossings.map(({ parent }) => parent))] }))
      places.set(id, { log: session, step });
    const byLog = new Map<string, (Crossing & { readonly at: number })[]>();
    for (const crossing of this.#crossings) {
      const place = places.get(crossing.parent);
      if (place === undefined) continue;
      const known = byLog.get(place.log);
      if (known === undefined) byLog.set(place.log, [{ ...crossing, at: place.step }]);
      else known.push({ ...crossing, at: place.step });
    }
    const from = new Map(this.#erasedFrom);
    const waiting = [...from.keys()];
    for (let log = waiting.pop(); log !== undefined; log = waiting.pop()) {
      const begins = from.get(log) as number;
      for (const { log: other, step, at } of byLog.get(log) ?? []) {
        if (at < begins || step >= (from.get(other) ?? Number.POSITIVE_INFINITY)) continue;
        from.set(other, step);
        waiting.push(other);
      }
    }
    return [...from.keys()].filter((log) => !this.#erasedFrom.has(log));
  }

  async #readErased(): Promise<void> {
    for await (const event of this.#store.events({ ids: [...this.#found.events] })) {
      const { id, session, step, run, data } = event;
      this.#erasedFrom.set(session, Math.min(step, this.#erasedFrom.get(session) ?? step));
      if (run !== undefined) this.#runs.add(run);
      if (data === undefined) continue;
      const text = dataText(this.#platform, data);
      await this.#lost.addText(text, id);
      if (this.#found.words === undefined) for (const one of longTexts(text, tellingLength)) this.#telling.add(one);
    }
  }

  #compare(id: string, text: string, words: Words | undefined): void {
    if (words !== undefined) {
      if (words.isInData(text)) this.#leave({ what: "event", id, why: "it holds the text too" });
    } else if (this.#telling.size > 0 && longTexts(text, tellingLength).some((one) => this.#telling.has(one)))
      this.#leave({ what: "event", id, why: "it says the same as an erased event" });
  }

  #leave(left: Left): void {
    if (this.#left.length < mostLeft) this.#left.push(left);
  }
}

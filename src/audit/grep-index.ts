/** Brings a text index up to date with logs, and asks it which of their events to read. */
import { dataText } from "../session/codec.ts";
import type { DataOf } from "../session/event.ts";
import type { Platform } from "../session/platform.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import type { Candidates, IndexedLog, IndexedPiece, IndexedThing, IndexedTo, TextIndex } from "../store/text-index.ts";
import { broughtIn, directoryKey, type Fresh } from "./grep-files.ts";
import type { ScopedLog } from "./grep-scope.ts";
import { type BlobForm, type EventTexts, textsOfBlob } from "./grep-text.ts";

/** Events of a piece. Larger ones make a smaller index, and more to read for each match. */
const pieceEvents = 8;
const pieceLength = 16_384;
/** So much is added in one commit. */
const commitLength = 4_000_000;
const commitEvents = 20_000;

type Open<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer U)[] ? U[] : T[K] };

/** Takes events of logs as they are read, one log after the other, and adds them to an index in large commits. */
export class Filling {
  readonly #index: TextIndex;
  readonly #store: Store;
  #ready: Open<IndexedLog>[] = [];
  #length = 0;
  #events = 0;
  #log: Open<IndexedLog> | undefined;
  #texts: string[] = [];
  #piece: Open<Omit<IndexedPiece, "text">> | undefined;
  /** What events of the log were found to name. */
  #named = new Set<string>();
  /** Things whose text is on its way to the index. */
  #going = new Set<string>();

  constructor(index: TextIndex, store: Store) {
    this.#index = index;
    this.#store = store;
  }

  /** What comes next are the events of this log after those that are indexed. */
  begin(log: string, after: number): void {
    this.#end();
    this.#named = new Set();
    this.#log = { log, after, step: after, head: "", pieces: [], things: [] };
  }

  async take(event: StoredEvent, texts: EventTexts | undefined): Promise<void> {
    const log = this.#log as Open<IndexedLog>;
    this.#piece ??= { first: event.step, last: event.step, erased: 0 };
    this.#piece.last = event.step;
    if (texts === undefined) this.#piece.erased++;
    for (const { text } of texts?.texts ?? []) {
      this.#texts.push(text);
      this.#length += text.length;
    }
    if (texts !== undefined && texts.blobs.length + texts.trees.length > 0) await this.#name(log, event.step, texts);
    log.step = event.step;
    log.head = event.id;
    this.#events++;
    this.#pieceEvents++;
    this.#pieceLength += texts?.texts.reduce((sum, { text }) => sum + text.length, 0) ?? 0;
    if (this.#pieceEvents >= pieceEvents || this.#pieceLength >= pieceLength) this.#closePiece();
    if (this.#length >= commitLength || this.#events >= commitEvents) await this.#goOn(log);
  }
  #pieceEvents = 0;
  #pieceLength = 0;

  /** All that was taken is in the index, or somebody else brought a log further meanwhile. */
  async flush(): Promise<void> {
    this.#end();
    if (this.#ready.length > 0) await this.#index.add(this.#ready);
    this.#ready = [];
    [this.#length, this.#events] = [0, 0];
    this.#going = new Set();
  }

  /** Adds what there is, and goes on in the same log. */
  async #goOn({ log, step }: IndexedLog): Promise<void> {
    await this.flush();
    this.#log = { log, after: step, step, head: "", pieces: [], things: [] };
  }

  #closePiece(): void {
    if (this.#piece !== undefined) this.#log?.pieces.push({ ...this.#piece, text: this.#texts.join("\n") });
    [this.#piece, this.#texts, this.#pieceEvents, this.#pieceLength] = [undefined, [], 0, 0];
  }

  #end(): void {
    this.#closePiece();
    if (this.#log !== undefined && this.#log.pieces.length > 0) this.#ready.push(this.#log);
    this.#log = undefined;
  }

  async #name(log: Open<IndexedLog>, step: number, texts: EventTexts): Promise<void> {
    const known = new Map<string, boolean>();
    const fresh: Fresh = async (keys) => {
      const asked = keys.filter((key) => !this.#named.has(key));
      const unmet = asked.length === 0 ? new Map<string, boolean>() : await this.#index.unmet(log.log, asked);
      for (const key of asked) this.#named.add(key);
      for (const [key, has] of unmet) known.set(key, has);
      // A directory is noted, so that the next tree that holds it is not walked again.
      for (const key of unmet.keys()) if (key.startsWith(directoryKey(""))) log.things.push({ key, step, text: "" });
      return new Set(unmet.keys());
    };
    for await (const { key, form, hash, where, file } of broughtIn(this.#store, texts, fresh)) {
      const has = known.get(key) === true || this.#going.has(key);
      const thing: IndexedThing = { key, step, path: file ? where : undefined, text: has ? undefined : await this.#textOf(form, hash) };
      this.#going.add(key);
      this.#length += thing.text?.length ?? 0;
      log.things.push(thing);
    }
  }

  async #textOf(form: BlobForm, hash: string): Promise<string> {
    const bytes = await this.#store.blob(hash);
    return bytes === undefined
      ? ""
      : textsOfBlob(form, bytes, "")
          .map(({ text }) => text)
          .join("\n");
  }
}

/** What of an index must go because the store has it no more. */
export interface Gone {
  readonly logs: ReadonlySet<string>;
  /** Of things. */
  readonly keys: readonly string[];
  /** The logs that say so, for the index to know how far they were read. */
  readonly told: readonly ScopedLog[];
}

/** What the erasure logs of a store say that an index has not read yet. */
export async function goneSince(store: Store, platform: Platform, indexed: ReadonlyMap<string, IndexedTo>): Promise<Gone> {
  const logs = new Set<string>();
  const keys: string[] = [];
  const told: ScopedLog[] = [];
  for await (const { id, head } of store.sessions({ log: "erasure" })) {
    const known = indexed.get(id);
    if (known?.head === head) continue;
    told.push({ id, head });
    for await (const { data } of store.events({ session: id, from: (known?.step ?? 0) + 1 })) {
      if (data === undefined) continue;
      const entry = JSON.parse(dataText(platform, data)) as DataOf<"data.erased">;
      for await (const event of store.events({ ids: entry.events ?? [] })) logs.add(event.session);
      for (const { session } of entry.logs ?? []) logs.add(session);
      for (const hash of entry.blobs ?? []) for (const form of forms) keys.push(`${form}:${hash}`);
    }
  }
  return { logs, keys, told };
}

const forms: readonly BlobForm[] = ["text", "utf16", "bytes", "configuration"];

/** A thing to be looked at where it was first named. */
export interface ChosenThing {
  readonly key: string;
  readonly path: string | undefined;
}

/** What of a log is to be read. */
export interface ChosenLog {
  readonly id: string;
  readonly ranges: readonly { readonly from: number; readonly to: number; readonly erased: number | undefined }[];
  /** By step. */
  readonly things: ReadonlyMap<number, readonly ChosenThing[]>;
}

/** What to read of the logs asked about, in their order. A thing counts once, where the first of them names it, or once in each log. */
export function chosenFrom(
  candidates: Candidates,
  scope: readonly ScopedLog[],
  steps: ReadonlyMap<string, number>,
  eachLog: boolean,
): readonly ChosenLog[] {
  const rank = new Map(scope.map(({ id }, index) => [id, index]));
  const lastOf = (id: string): number => Math.min(scope[rank.get(id) as number]?.to ?? Number.POSITIVE_INFINITY, steps.get(id) ?? 0);
  const first = new Map<string, Candidates["things"][number]>();
  for (const thing of candidates.things) {
    const place = rank.get(thing.log);
    if (place === undefined || thing.step > lastOf(thing.log)) continue;
    const name = eachLog ? `${thing.log} ${thing.key}` : thing.key;
    const other = first.get(name);
    if (other === undefined || place < (rank.get(other.log) as number)) first.set(name, thing);
  }
  const ranges = new Map<string, { from: number; to: number; erased: number | undefined }[]>();
  const add = (log: string, range: { from: number; to: number; erased: number | undefined }): void => {
    const of = ranges.get(log);
    if (of === undefined) ranges.set(log, [range]);
    else of.push(range);
  };
  for (const { log, first: from, last, erased } of candidates.pieces)
    if (rank.has(log) && from <= lastOf(log))
      add(log, { from, to: Math.min(last, lastOf(log)), erased: last <= lastOf(log) ? erased : undefined });
  const things = new Map<string, Map<number, ChosenThing[]>>();
  for (const { key, log, step, path } of first.values()) {
    const at = things.get(log) ?? new Map<number, ChosenThing[]>();
    things.set(log, at);
    at.set(step, [...(at.get(step) ?? []), { key, path }]);
    add(log, { from: step, to: step, erased: undefined });
  }
  return scope.flatMap(({ id }) => {
    const found = ranges.get(id);
    return found === undefined ? [] : [{ id, ranges: joined(found), things: things.get(id) ?? new Map() }];
  });
}

/** Ranges in order, each step once; those that touch are read in one go. */
function joined(ranges: { from: number; to: number; erased: number | undefined }[]): ChosenLog["ranges"] {
  const all: { from: number; to: number; erased: number | undefined }[] = [];
  for (const range of ranges.sort((a, b) => a.from - b.from || b.to - a.to)) {
    const before = all.at(-1);
    if (before === undefined || range.from > before.to + 1) all.push({ ...range });
    else if (range.to > before.to) {
      before.to = range.to;
      before.erased = before.erased === undefined || range.erased === undefined ? undefined : before.erased + range.erased;
    }
  }
  return all;
}

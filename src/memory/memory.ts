/**
 * The port of memory stores: versions of items that everybody may read, appended only. Every write has a revision, and everything
 * can be read as it was at one. What is staged on a branch is not here: sessions hold it until it is published.
 */
import type { EmbedderLike, Vector } from "../session/embedding.ts";
import type { MemoryHit, MemoryItem, MemoryOrigin, Trust } from "../session/memory.ts";

export type { Embedder, EmbedderLike, EmbeddingModel, Vector } from "../session/embedding.ts";
export type {
  MemoryHit,
  MemoryItem,
  MemoryOrigin,
  MemoryRead,
  MemoryScope,
  Publish,
  RecallOptions,
  Remembered,
  Trust,
} from "../session/memory.ts";

/** A version as the store keeps it. Its state is "published" or "retracted". */
export interface MemoryRecord extends MemoryItem {
  /** The revision that its write made. */
  readonly revision: number;
}

/** A version to be written, if the newest one of its uri is still the one it was based on. */
export interface MemoryWrite {
  readonly item: MemoryItem;
  /** The newest version of the uri when this one was made; 0 when there was none. */
  readonly based: number;
  readonly vector?: Vector | undefined;
}

/** What became of a write: one revision for all that was written; the others were refused and name what is there. */
export interface MemoryWritten {
  readonly revision: number;
  readonly written: readonly MemoryRecord[];
  readonly refused: readonly { readonly item: MemoryItem; readonly current: MemoryRecord | undefined }[];
}

/** What to search. Everything given must hold. */
export interface MemoryQuery {
  readonly text: string;
  readonly vector?: Vector | undefined;
  /** Beginnings of uris. */
  readonly within: readonly string[];
  /** At most so many, best first. */
  readonly limit: number;
  /** As it was at this revision; the newest when left out. */
  readonly asOf?: number | undefined;
  readonly trust?: Trust | undefined;
  readonly origin?: MemoryOrigin | undefined;
  /** Items of a branch that are found as if they were here; they hide what has the same uri. */
  readonly staged?: readonly { readonly item: MemoryItem; readonly vector?: Vector | undefined }[] | undefined;
  /** Uris that are not to be found. */
  readonly without?: readonly string[] | undefined;
}

/** Which versions; every condition given must hold. In order of their revision. */
export interface MemoryListQuery {
  readonly uri?: string | undefined;
  readonly key?: string | undefined;
  /** Beginnings of uris. */
  readonly within?: readonly string[] | undefined;
  /** Only the version that each uri had at this revision (default: the newest), retracted ones included. With "all", every version. */
  readonly asOf?: number | "all" | undefined;
  readonly state?: "published" | "retracted" | undefined;
  /** Those written by these events. */
  readonly events?: readonly string[] | undefined;
  /** Those that name this event as evidence. */
  readonly because?: string | undefined;
  /** Those that were made after reading this version, "uri@version", or any version of this uri. */
  readonly from?: string | undefined;
}

/** That an item was recalled. An index: the recall itself is in the session. */
export interface MemoryUse {
  readonly uri: string;
  readonly version: number;
  readonly session: string;
  /** The call of the recall. */
  readonly event: string;
  readonly at: string;
}

/**
 * Opened for one project; whatever it returns belongs to it. The same write twice (by the item's event and uri) is one.
 * Anybody can write one: `memoryConformance` of `openrath/testing` says whether it is right.
 */
export interface MemoryStore extends AsyncDisposable {
  /** Makes vectors of texts; without one, words alone are compared. */
  readonly embedder?: EmbedderLike | undefined;
  /** The newest revision; 0 when nothing was ever written. */
  revision(): Promise<number>;
  /** Writes in one durable commit all that may be written. */
  write(writes: readonly MemoryWrite[]): Promise<MemoryWritten>;
  /** Published items that match, best first, each with a score above 0. Expired ones are not found; the store's clock judges. */
  search(query: MemoryQuery): Promise<readonly MemoryHit[]>;
  list(query: MemoryListQuery): AsyncIterable<MemoryRecord>;
  /** Notes uses; may be acknowledged before it is on disk. The same use twice is one. */
  used(uses: readonly MemoryUse[]): Promise<void>;
  /** Uses of any version of an item, oldest first. */
  uses(uri: string): AsyncIterable<MemoryUse>;
}

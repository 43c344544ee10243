/**
 * The port of memory stores: versions of items that everybody may read, appended only. Every write has a revision, and everything
 * can be read as it was at one. What is staged on a branch is not here: sessions hold it until it is published.
 */
import type { EmbedderLike, Vector } from "../session/embedding.ts";
import type { MemoryHit, MemoryItem, MemoryOrigin, MemoryScope, Trust } from "../session/memory.ts";
import type { Session } from "../session/session.ts";
import type { Why } from "../session/why.ts";

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
  /** Where no vector is given: the version of the same uri whose content this is again, and whose vector it has. */
  readonly again?: number | undefined;
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

/** Which versions; every condition given must hold. In order of their revision, or from the newest on. */
export interface MemoryListQuery {
  readonly uri?: string | undefined;
  readonly key?: string | undefined;
  /** Beginnings of uris. */
  readonly within?: readonly string[] | undefined;
  /** Only the version that each uri had at this revision (default: the newest), retracted ones included. With "all", every version. */
  readonly asOf?: number | "all" | undefined;
  readonly state?: "published" | "retracted" | undefined;
  /** Without those that have expired by the store's clock. */
  readonly alive?: boolean | undefined;
  readonly newestFirst?: boolean | undefined;
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
  /** Writes in one durable commit all that may be written; with `whole`, all or nothing. */
  write(writes: readonly MemoryWrite[], options?: { readonly whole?: boolean | undefined }): Promise<MemoryWritten>;
  /** Published items that match, best first, each with a score above 0. Expired ones are not found; the store's clock judges. */
  search(query: MemoryQuery): Promise<readonly MemoryHit[]>;
  list(query: MemoryListQuery): AsyncIterable<MemoryRecord>;
  /** Notes uses; may be acknowledged before it is on disk. The same use twice is one. */
  used(uses: readonly MemoryUse[]): Promise<void>;
  /** Uses of any version of an item, oldest first. */
  uses(uri: string): AsyncIterable<MemoryUse>;
  /**
   * Removes for good what versions say (content, value, reason, words, vectors) and keeps that they were there: uri, version, state, who,
   * when and why. They name `entry` from then on and are not found any more; one that was erased before keeps the entry it names.
   */
  erase?(versions: readonly Pick<MemoryItem, "uri" | "version">[], entry: string): Promise<void>;
  /**
   * Cleans up after `erase`, so that what it removed is not in the files of the store any more. False when others were in the way, or it
   * is not allowed: it is asked for again. Names of tables: it did what it can, and unused space in their files may hold bytes of it.
   */
  scrub?(): Promise<boolean | readonly string[]>;
}

/** Who decided something about memory outside a session, and why. */
export interface MemoryDecision {
  readonly by: string;
  readonly reason: string;
}

/** A recall that found an item, and what read it then. */
export interface MemoryUsage extends MemoryUse {
  /** Who recalled it, and with which query. */
  readonly by: string;
  readonly query: string | undefined;
  /** Whether it was given to a model to read. */
  readonly injected: boolean;
  /** The model calls that had it before them: it was in their context, which is not to say that it was the cause. */
  readonly readBy: readonly string[];
}

/** What is searched outside a session, and how much of it comes back. */
export interface MemorySearch {
  /** Default: everybody's. */
  readonly scope?: MemoryScope | readonly MemoryScope[] | undefined;
  /** Of what belongs to people only what is this one's; everybody's when left out. */
  readonly user?: string | undefined;
  /** At most so many; 5 when not given. */
  readonly limit?: number | undefined;
  /** Only what is trusted. */
  readonly trust?: "trusted" | undefined;
  readonly origin?: MemoryOrigin | undefined;
  /** As it was at this revision; the newest when left out. */
  readonly asOf?: number | undefined;
}

/** What is listed outside a session. */
export interface MemoryListing {
  /** Default: everybody's. */
  readonly scope?: MemoryScope | readonly MemoryScope[] | undefined;
  /** Of what belongs to people only what is this one's; everybody's when left out. */
  readonly user?: string | undefined;
  /** Default: both. */
  readonly state?: "published" | "retracted" | undefined;
  /** As it was at this revision; the newest when left out. */
  readonly asOf?: number | undefined;
}

/**
 * What people ask of memory outside a session: `rath.memory`. Writing needs a session: `session.remember`. A name is a key, where
 * only one memory has it, a uri, or "uri@version". Nothing is ever removed: retracting and rolling back write new versions.
 *
 * @example
 * for (const hit of await rath.memory.search("test command")) console.log(hit.uri, hit.content);
 * for await (const use of rath.memory.usedBy("test-command")) console.log(use.session, use.event);
 * await rath.memory.retract("test-command", { by: "human:ada", reason: "the command changed" });
 */
export interface Memory {
  /** What is published and matches, best first, whoever it belongs to. */
  search(query: string, options?: MemorySearch): Promise<readonly MemoryHit[]>;
  /** The newest version, retracted or not; undefined when there never was one. */
  get(name: string): Promise<MemoryRecord | undefined>;
  /** The newest version of each, expired ones included, oldest write first. */
  list(query?: MemoryListing): AsyncIterable<MemoryRecord>;
  /** Every version, oldest first. */
  history(name: string): Promise<readonly MemoryRecord[]>;
  /** The events that led to it. */
  why(name: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Why>;
  /** Where it was recalled, and which model calls read it. */
  usedBy(name: string): AsyncIterable<MemoryUsage>;
  /** What was made after reading this memory, or because of this event, however far away. */
  derivedFrom(source: string): AsyncIterable<MemoryRecord>;
  /** Takes it back, and everything that was made of it. A version that is named must be the newest. */
  retract(name: string, decision: MemoryDecision): Promise<readonly MemoryRecord[]>;
  /** Makes memory what it was at a revision or at a time; gives what was written for that. */
  rollback(to: number | string, decision: MemoryDecision): Promise<readonly MemoryRecord[]>;
  /** Publishes what is staged at a session outside a run; a run does it when it returns. */
  publish(session: Session): Promise<{ readonly published: readonly string[]; readonly held: readonly string[] }>;
  /** The newest revision. */
  revision(): Promise<number>;
}

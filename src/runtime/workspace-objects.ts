/**
 * The contents of workspaces as blobs of the store. What an effect makes is kept here until the event that names it is on disk, as
 * far as memory should hold it; what a first look at a directory finds is written at once, in pieces, since it may be large.
 */
import { hash } from "node:crypto";
import { RathError } from "../session/errors.ts";
import { current, type Node } from "../session/log.ts";
import type { Store } from "../store/store.ts";
import { missing, type Objects } from "../workspace/objects.ts";

/** So much is written in one piece. */
const pieceBytes = 8 * 1024 * 1024;
/** So much of what an effect makes is kept in memory until its event is written: a short command can leave gigabytes. */
const keptBytes = 64 * 1024 * 1024;
/** So much of what was not kept is remembered: it may lie on disk yet, and is read to be removed there. */
const droppedBytes = 64 * 1024 * 1024;
/** So much that was read is remembered. */
const rememberedBytes = 16 * 1024 * 1024;

/**
 * What one piece of work makes. It is kept apart, so that nothing of it stays when it does not count. Only what is too much for memory
 * is written before its event, where that is allowed: of this, `gc` removes what does not count.
 */
export interface OwnObjects extends Objects {
  /** Allows to write before the event. Who allows it calls `ended`. */
  writeEarly(): void;
  /** The work is over, and its event follows. What it wrote by now may be gone, since nothing named it: what counts is to be put again. */
  ended(): (counting: readonly string[]) => Promise<void>;
  /** Of these, what must be stored with the event that names them. */
  among(names: Iterable<string>): ReadonlyMap<string, Uint8Array>;
  /** It does not count, or what counts of it goes with an event: the rest is not kept. */
  drop(): void;
}

export class WorkspaceObjects {
  readonly #store: () => Promise<Store>;
  readonly #readErased: () => Promise<ReadonlySet<string>>;
  #erased: Promise<ReadonlySet<string>> | undefined;
  /** They go with an event that is not known to be on disk. */
  readonly #unsaved = new Map<string, Uint8Array>();
  #going: { readonly node: Node; readonly objects: ReadonlyMap<string, Uint8Array> }[] = [];
  readonly #read = new Bounded(rememberedBytes);
  readonly #dropped = new Bounded(droppedBytes);

  constructor(store: () => Promise<Store>, readErased: () => Promise<ReadonlySet<string>> = async () => new Set()) {
    this.#store = store;
    this.#readErased = readErased;
  }

  /** Contents that were erased though trees name them; read once, and again after one was missed. */
  erased(): Promise<ReadonlySet<string>> {
    this.#erased ??= this.#readErased().catch((error: unknown) => {
      this.#erased = undefined; // whoever asks next tries again
      throw error;
    });
    return this.#erased;
  }

  /** Something was erased: nothing of what was read is handed out again. */
  forget(): void {
    this.#erased = undefined;
    this.#read.clear();
    this.#dropped.clear();
  }

  async get(name: string): Promise<Uint8Array> {
    const known = this.#unsaved.get(name) ?? this.#read.get(name) ?? this.#dropped.get(name);
    if (known !== undefined) return known;
    const bytes = await (await this.#store()).blob(name);
    if (bytes === undefined) {
      // Another process may have erased it since.
      this.#erased = undefined;
      throw (await this.erased()).has(name) ? erasedContent(name) : missing(name);
    }
    this.#read.set(name, bytes);
    return bytes;
  }

  /** For one piece of work. */
  own(): OwnObjects {
    const made = new Map<string, Uint8Array>();
    const early = new Set<string>();
    let size = 0;
    let most = Number.POSITIVE_INFINITY;
    /** One after the other: the next one finds what the last one has not written. */
    let unloading: Promise<void> = Promise.resolve();
    const unload = async (): Promise<void> => {
      const full = [...made];
      size = 0;
      const pieces = this.#pieces();
      for (const [name, bytes] of full) await pieces.keep(name, bytes);
      await pieces.flush();
      for (const [name] of full) {
        made.delete(name);
        early.add(name);
      }
    };
    return {
      get: async (name) => made.get(name) ?? this.get(name),
      erased: () => this.erased(),
      put: async (bytes) => {
        const name = hash("sha256", bytes, "hex");
        if (!made.has(name)) size += bytes.length;
        made.set(name, bytes);
        if (size < most) return name;
        unloading = unloading.then(unload);
        await unloading;
        return name;
      },
      writeEarly: () => {
        most = keptBytes;
      },
      ended: () => {
        const before = new Set(early);
        return async (counting) => {
          const pieces = this.#pieces();
          for (const name of counting) if (before.has(name)) await pieces.keep(name, await this.get(name));
          await pieces.flush();
        };
      },
      among: (names) => {
        this.#settle();
        const found = new Map<string, Uint8Array>();
        for (const name of names) {
          const bytes = made.get(name) ?? this.#unsaved.get(name);
          if (bytes !== undefined) found.set(name, bytes);
        }
        return found;
      },
      drop: () => {
        for (const [name, bytes] of made) this.#dropped.set(name, bytes);
        made.clear();
        size = 0;
      },
    };
  }

  /** They go to disk with this event. */
  goWith(node: Node, objects: ReadonlyMap<string, Uint8Array>): void {
    if (objects.size === 0) return;
    this.#settle();
    this.#going.push({ node, objects });
    for (const [name, bytes] of objects) this.#unsaved.set(name, bytes);
  }

  /** What is on disk by now is let go. */
  #settle(): void {
    this.#going = this.#going.filter(({ node, objects }) => {
      if (!current(node).stored) return true;
      for (const name of objects.keys()) this.#unsaved.delete(name);
      return false;
    });
  }

  /** Objects that are written as they come, for a first look at a directory. Call `flush` at the end. */
  written(): Objects & { flush(): Promise<void> } {
    const pieces = this.#pieces();
    return {
      get: async (name) => pieces.get(name) ?? this.get(name),
      erased: () => this.erased(),
      put: async (bytes) => {
        const name = hash("sha256", bytes, "hex");
        await pieces.keep(name, bytes);
        return name;
      },
      flush: () => pieces.flush(),
    };
  }

  /** On the way to the store, one piece after the other; one that does not arrive is the end of it. */
  #pieces(): Pieces {
    let piece = new Map<string, Uint8Array>();
    let size = 0;
    const sent = new Map<string, Uint8Array>();
    let last: Promise<void> = Promise.resolve();
    const write = async (blobs: ReadonlyMap<string, Uint8Array>): Promise<void> => {
      await (await this.#store()).append({ branches: [], blobs: [...blobs].map(([name, bytes]) => ({ hash: name, bytes })) });
      for (const name of blobs.keys()) sent.delete(name);
    };
    const flush = (): Promise<void> => {
      if (piece.size === 0) return last;
      // Taken before anything is waited for: what comes meanwhile belongs to the next piece.
      const full = piece;
      [piece, size] = [new Map(), 0];
      for (const [name, bytes] of full) sent.set(name, bytes);
      last = last.then(() => write(full));
      return last;
    };
    return {
      get: (name) => piece.get(name) ?? sent.get(name),
      keep: async (name, bytes) => {
        if (piece.has(name) || sent.has(name)) return;
        piece.set(name, bytes);
        size += bytes.length;
        if (size >= pieceBytes || piece.size >= 4096) await flush();
      },
      flush,
    };
  }
}

interface Pieces {
  get(name: string): Uint8Array | undefined;
  keep(name: string, bytes: Uint8Array): Promise<void>;
  flush(): Promise<void>;
}

function erasedContent(name: string): RathError {
  return new RathError("event.erased", `The content ${name} of a file was erased.`, { details: { hash: name } });
}

/** The newest bytes, up to a size. */
class Bounded {
  readonly #limit: number;
  readonly #map = new Map<string, Uint8Array>();
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }
  get(name: string): Uint8Array | undefined {
    return this.#map.get(name);
  }
  has(name: string): boolean {
    return this.#map.has(name);
  }
  clear(): void {
    this.#map.clear();
    this.#size = 0;
  }
  set(name: string, bytes: Uint8Array): void {
    if (this.#map.has(name) || bytes.length > this.#limit / 8) return;
    this.#map.set(name, bytes);
    this.#size += bytes.length;
    for (const [oldest, content] of this.#map) {
      if (this.#size <= this.#limit) break;
      this.#map.delete(oldest);
      this.#size -= content.length;
    }
  }
}

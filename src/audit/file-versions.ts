/**
 * The versions a file went through on the way to a place: each event that changed it, across forks, merges and nested work. Only
 * events that may have changed the path are read: of all others the stored bytes are searched for its name, and not decoded.
 */
import { actedOf, treeOf } from "../session/acted.ts";
import { stateOf } from "../session/fold.ts";
import { isAncestor, type Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Version } from "../workspace/blame.ts";
import { textFrom } from "../workspace/lines.ts";
import type { Entry, Trees } from "../workspace/tree.ts";

/** Who left a file as it is, and the hashes of its contents. */
export interface Written {
  readonly node: Node;
  readonly before: string | undefined;
  readonly after: string;
  /** Of the workspace, before and after. */
  readonly trees: { readonly before: string | undefined; readonly after: string };
}

/** Longer names, and such as are written otherwise in JSON, are not searched for in bytes. */
const plainName = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,1000}$/;
const omitted = Buffer.from('"omitted":');

/** Where the files at a place come from: the newest event that left some, or the placement that named their directory. */
export function sourceOf(place: Node | undefined): Node | undefined {
  if (place === undefined) return undefined;
  const { files, base } = stateOf(place);
  return files ?? base;
}

/** Where the files before an event come from: its own line first, then what was merged into it or done inside it. */
export function sourcesOf(source: Node): readonly Node[] {
  if (source.kind === "placement.changed") return [];
  return source.parents.flatMap((parent) => sourceOf(parent) ?? []).filter((before) => before.kind !== "placement.changed");
}

/** The merges that brought what an event wrote to a place, newest first. */
export function mergesBetween(place: Node, written: Node): readonly Node[] {
  const merges: Node[] = [];
  for (let at = sourceOf(place); at !== undefined && at !== written; ) {
    const inside: Node | undefined = at.parents.length === 1 ? at.parent : at.parents.find((parent) => isAncestor(written, parent));
    if (inside === undefined) break;
    if (at.kind === "session.merged" && inside !== at.parent) merges.push(at);
    at = sourceOf(inside);
  }
  return merges;
}

export class FileVersions {
  readonly #trees: Trees;
  readonly #platform: Platform;
  readonly #path: string;
  readonly #name: Buffer | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #known = new Map<Node, Version<Written> | undefined>();

  constructor(trees: Trees, platform: Platform, path: string, signal?: AbortSignal) {
    this.#trees = trees;
    this.#platform = platform;
    this.#path = path;
    this.#signal = signal;
    this.#name = plainName.test(path) ? Buffer.from(`"${path}"`) : undefined;
  }

  /** The file as a source left it, and what it was made from. Parents first, without recursion: histories are long. */
  async at(source: Node): Promise<Version<Written> | undefined> {
    const waiting = [source];
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      this.#signal?.throwIfAborted();
      const missing = this.#known.has(next) ? [] : sourcesOf(next).filter((before) => !this.#known.has(before));
      if (missing.length > 0) for (const one of missing) waiting.push(one);
      else {
        waiting.pop();
        if (!this.#known.has(next)) this.#known.set(next, await this.#make(next));
      }
    }
    return this.#known.get(source);
  }

  /** The newest event behind a source that changed the path, text or not, or took it away. */
  async newestChange(source: Node): Promise<Node | undefined> {
    const seen = new Set([source]);
    const waiting = [source];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      this.#signal?.throwIfAborted();
      const before = sourcesOf(next);
      if (next.kind !== "placement.changed" && this.#mayChange(next)) {
        const now = await this.#entry(treeOf(next, this.#platform));
        const were = await Promise.all(before.map((one) => this.#entry(treeOf(one, this.#platform))));
        if (were.length === 0) were.push(await this.#entry(actedOf(next, this.#platform)?.before));
        if (!were.some((was) => same(was, now))) return next;
      }
      for (const one of before.toReversed()) if (!seen.has(one)) waiting.push(one);
      for (const one of before) seen.add(one);
    }
    return undefined;
  }

  async #make(source: Node): Promise<Version<Written> | undefined> {
    if (source.kind === "placement.changed") return undefined;
    const before = sourceOf(source.parent);
    const first = before === undefined || before.kind === "placement.changed" ? await this.#found(source) : this.#known.get(before);
    if (!this.#mayChange(source)) return first;
    const tree = treeOf(source, this.#platform);
    const entry = await this.#entry(tree);
    if (entry?.type !== "file") return undefined;
    const others = sourcesOf(source).flatMap((one) => (one === before ? [] : (this.#known.get(one) ?? [])));
    const parents = [...(first === undefined ? [] : [first]), ...others];
    const same = parents.find(({ by }) => by.after === entry.hash);
    if (same !== undefined) return same;
    const text = await this.#text(entry);
    const trees = { before: actedOf(source, this.#platform)?.before, after: tree as string };
    return text === undefined ? undefined : { text, by: { node: source, before: parents[0]?.by.after, after: entry.hash, trees }, parents };
  }

  /** What was in the directory when it was first used: the placement brought it. */
  async #found(source: Node): Promise<Version<Written> | undefined> {
    const { base } = stateOf(source);
    const tree = base === undefined ? undefined : actedOf(source, this.#platform)?.before;
    const entry = await this.#entry(tree);
    const text = await this.#text(entry);
    if (base === undefined || tree === undefined || entry?.type !== "file" || text === undefined) return undefined;
    return { text, by: { node: base, before: undefined, after: entry.hash, trees: { before: undefined, after: tree } } };
  }

  /** Merges say nothing of single paths; results list theirs by name, unless there were too many or a secret was taken out. */
  #mayChange(source: Node): boolean {
    if (source.kind === "session.merged") return true;
    const { bytes } = source;
    if (bytes !== undefined && this.#name !== undefined && source.facts.redacted === undefined) {
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return data.includes(this.#name) || data.includes(omitted);
    }
    const acted = actedOf(source, this.#platform);
    return (
      acted?.omitted !== undefined || source.facts.redacted !== undefined || (acted?.changes ?? []).some(({ path }) => path === this.#path)
    );
  }

  async #entry(tree: string | undefined): Promise<Entry | undefined> {
    return tree === undefined ? undefined : this.#trees.entry(tree, this.#path);
  }

  async #text(entry: Entry | undefined): Promise<string | undefined> {
    return entry?.type === "file" ? textFrom(await this.#trees.objects.get(entry.hash)) : undefined;
  }
}

function same(a: Entry | undefined, b: Entry | undefined): boolean {
  return a?.type === b?.type && (a?.type !== "file" || a.hash === (b as typeof a).hash);
}

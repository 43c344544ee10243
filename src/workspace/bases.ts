/**
 * Immutable checkouts of trees, on which the writable ones lie. They are shared by all processes that have the same home: one that
 * has its name is whole, since it gets it last. Nobody writes to them again. What was made before the machine last started is thrown
 * away: nothing here waits for the disk, so after a loss of power files could be empty.
 */
import { mkdir, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { copyNamed, copyWhole } from "./copying.ts";
import { bootId, machine } from "./machine.ts";
import { emptyTrash, leftBy, openCheckouts, ownName, toTrash } from "./owner.ts";
import { restore } from "./restore.ts";
import { emptyTree, sameEntry, type Trees } from "./tree.ts";

/** How far a tree may be from a base to lie on it, rather than to become one. */
const nearest: Delta = { entries: 2000, bytes: 100 * 2 ** 20 };
/** How far it may be for its base to begin as a copy of another. */
const related: Delta = { entries: 20_000, bytes: 500 * 2 ** 20 };
/** How many are kept that nobody uses, and how many are looked at for the nearest. */
const kept = 3;
/** After so long a checkout of another machine is taken for one that was left behind. */
const forgotten = 30 * 24 * 3_600_000;
/** What has no name yet. */
const unfinished = ".making-";

export class Bases {
  readonly #home: string;
  readonly #near: Delta;
  readonly #making = new Map<string, Promise<void>>();

  constructor(home: string, near: Delta = nearest) {
    this.#home = home;
    this.#near = near;
  }

  /** Where the base of a tree is, from the home. */
  relative(tree: string): string {
    return join("bases", bootId(), tree);
  }

  path(tree: string): string {
    return join(this.#home, this.relative(tree));
  }

  /** Where the bases of a start of the machine are, by default of this one. */
  folder(boot = bootId()): string {
    return join(this.#home, "bases", boot);
  }

  async has(tree: string): Promise<boolean> {
    return (await stat(this.path(tree)).catch(() => undefined)) !== undefined;
  }

  /** A base near a tree, which is made when there is none. `from`: a directory of the user that holds the tree, or nearly. */
  async choose(trees: Trees, tree: string, from: string | undefined): Promise<string> {
    if (await this.has(tree)) return tree;
    const candidates = [];
    for (const base of (await this.#all()).slice(0, kept)) {
      const distance = await delta(trees, base, tree, related).catch(() => undefined);
      if (distance !== undefined) candidates.push({ base, distance });
    }
    const best = candidates.sort((a, b) => a.distance.entries - b.distance.entries)[0];
    if (best !== undefined && best.distance.entries <= this.#near.entries && best.distance.bytes <= this.#near.bytes) return best.base;
    await this.make(trees, tree, from, best?.base);
    return tree;
  }

  /** Makes the base of a tree: of the user's directory, of another base, or of the store. */
  async make(trees: Trees, tree: string, from: string | undefined, other: string | undefined): Promise<void> {
    const making = this.#making.get(tree) ?? this.#make(trees, tree, from, other).finally(() => this.#making.delete(tree));
    this.#making.set(tree, making);
    await making;
  }

  async #make(trees: Trees, tree: string, from: string | undefined, other: string | undefined): Promise<void> {
    const place = join(this.folder(), `${unfinished}${ownName()}`);
    await mkdir(place, { recursive: true, mode: 0o700 });
    try {
      let held = emptyTree;
      if (from !== undefined) held = await copyNamed(trees, from, tree, place);
      else if (other !== undefined && (await copyWhole(this.path(other), place))) held = other;
      await restore(trees, place, held, tree);
      await rename(place, this.path(tree));
    } catch (error) {
      await emptyTrash(await toTrash(this.#home, place));
      // Another process was faster; what it made is the same.
      if (!(await this.has(tree))) throw error;
    }
  }

  /** Trees that have one, the newest first. */
  async #all(): Promise<readonly string[]> {
    return (await this.#aged()).map(({ name }) => name);
  }

  async #aged(): Promise<readonly { readonly name: string; readonly at: number }[]> {
    const folder = this.folder();
    const names = await readdir(folder).catch(() => []);
    const aged = await Promise.all(
      names
        .filter((name) => /^[0-9a-f]{64}$/.test(name))
        .map(async (name) => ({ name, at: (await stat(join(folder, name)).catch(() => undefined))?.ctimeMs ?? 0 })),
    );
    return aged.sort((a, b) => b.at - a.at);
  }

  /** Trees whose bases nobody uses: those beyond the few newest, and those made before a time, in milliseconds since 1970. */
  async unused(before = 0): Promise<readonly string[]> {
    const surplus = (await this.#aged()).flatMap(({ name, at }, index) => (index >= kept || at < before ? [name] : []));
    if (surplus.length === 0) return [];
    const used = await this.#used();
    return surplus.filter((name) => !used.has(name));
  }

  async #used(): Promise<ReadonlySet<string | undefined>> {
    return new Set((await openCheckouts(this.#home)).map(({ owner }) => owner?.base));
  }

  /** Throws away what nobody needs. */
  async prune(before = 0): Promise<void> {
    for (const tree of await this.unused(before)) await this.#throwAway(this.path(tree), async () => (await this.#used()).has(tree));
  }

  /** Throws away what other processes began and did not finish, and what is older than the machine's last start. */
  async pruneUnfinished(now = Date.now()): Promise<void> {
    for (const boot of await this.oldBoots(now)) await this.#throwAway(this.folder(boot), async () => (await this.#named(now)).has(boot));
    for (const name of await leftBy(this.folder(), await this.#unfinished(bootId()), now))
      await emptyTrash(await toTrash(this.#home, join(this.folder(), name)));
  }

  /**
   * Starts of the machine before this one, whose bases nobody trusts. Other machines with this home are at starts of their own: those
   * that their checkouts name, or in which they make something, are none of them.
   */
  async oldBoots(now = Date.now()): Promise<readonly string[]> {
    const named = await this.#named(now);
    const old: string[] = [];
    for (const boot of await readdir(join(this.#home, "bases")).catch(() => [])) {
      if (boot === bootId() || named.has(boot)) continue;
      const begun = await this.#unfinished(boot);
      if ((await leftBy(this.folder(boot), begun, now)).length === begun.length) old.push(boot);
    }
    return old;
  }

  /** Starts that checkouts of other machines name. One that was opened long ago was left behind: a container has another name after each start. */
  async #named(now: number): Promise<ReadonlySet<string | undefined>> {
    const open = await openCheckouts(this.#home);
    const live = open.filter(({ owner }) => owner?.host !== machine() && !(Date.parse(owner?.opened ?? "") < now - forgotten));
    return new Set(live.map(({ owner }) => owner?.boot));
  }

  async #unfinished(boot: string): Promise<readonly string[]> {
    return (await readdir(this.folder(boot)).catch(() => [])).filter((name) => name.startsWith(unfinished));
  }

  /**
   * A checkout names its base before it looks whether it is there; here a base is taken away before the last look at who names it.
   * So one of the two notices, and a base that is in use is put back.
   */
  async #throwAway(path: string, isUsed: () => Promise<boolean>): Promise<void> {
    const place = await toTrash(this.#home, path);
    if (!(await isUsed())) await emptyTrash(place);
    else await rename(place, path).catch(() => emptyTrash(place));
  }
}

export interface Delta {
  /** Names that are new, gone, or stand for something else; those in new and removed directories too. */
  readonly entries: number;
  /** Bytes of the files that are new or different. */
  readonly bytes: number;
}

/** How far one tree is from another; undefined when it is further than that. */
async function delta(trees: Trees, from: string, to: string, most: Delta): Promise<Delta | undefined> {
  let entries = 0;
  let bytes = 0;
  const walk = async (a: string, b: string): Promise<boolean> => {
    if (a === b) return true;
    const before = await trees.directory(a);
    const after = await trees.directory(b);
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const old = before.get(name);
      const now = after.get(name);
      if (sameEntry(old, now)) continue;
      entries++;
      if (now?.type === "file") bytes += now.size;
      if (entries > most.entries || bytes > most.bytes) return false;
      const below = await walk(old?.type === "directory" ? old.hash : emptyTree, now?.type === "directory" ? now.hash : emptyTree);
      if (!below) return false;
    }
    return true;
  };
  return (await walk(from, to)) ? { entries, bytes } : undefined;
}

/**
 * Makes checkouts below one directory, the home: `bases/` holds immutable checkouts of trees that all share, `sandboxes/` those that
 * are open, `trash/` what is being removed. All of it is a cache: a process that dies leaves directories that `orphans` finds, and no
 * process and no mount.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RathError } from "../session/errors.ts";
import { Bases, type Delta } from "./bases.ts";
import type { Checkout, CheckoutKind, Checkouts } from "./checkout.ts";
import { openCopy } from "./copy.ts";
import { sharesBlocks } from "./copying.ts";
import { holdNamespaces } from "./namespace.ts";
import { openOverlay } from "./overlay.ts";
import { claim, emptyTrash, leftTrash, orphans, removeOrphan, toTrash, trashPlace } from "./owner.ts";
import type { SnapshotOptions } from "./snapshot.ts";
import type { Trees } from "./tree.ts";

export interface CheckoutsOptions {
  /** How scans treat what commands leave behind. */
  readonly scan?: Pick<SnapshotOptions, "limits" | "withhold"> | undefined;
  /** Ways not to use, for those who know their system better than a probe does. */
  readonly without?: readonly CheckoutKind[] | undefined;
  /** How far a tree may be from a base to lie on it; one that is further becomes a base. Default: 2000 entries, 100 MB. */
  readonly near?: Delta | undefined;
}

type OpenOptions = Parameters<Checkouts["open"]>[2];

export function checkouts(home: string, options: CheckoutsOptions = {}): Checkouts {
  return new Home(home, options);
}

class Home implements Checkouts {
  readonly #home: string;
  readonly #options: CheckoutsOptions;
  readonly #bases: Bases;
  readonly #open = new Set<Checkout>();
  /** Removals that nobody waits for but the end. */
  readonly #removals = new Set<Promise<void>>();
  readonly #kinds = new Map<boolean, Promise<CheckoutKind>>();
  #begun: Promise<void> | undefined;

  constructor(home: string, options: CheckoutsOptions) {
    this.#home = home;
    this.#options = options;
    this.#bases = new Bases(home, options.near);
  }

  kind({ plain }: { readonly plain: boolean }): Promise<CheckoutKind> {
    const known = this.#kinds.get(plain) ?? this.#begin().then(() => probe(this.#home, plain, this.#options.without ?? []));
    this.#kinds.set(plain, known);
    // A probe that failed by accident is made again.
    known.catch(() => this.#kinds.delete(plain));
    return known;
  }

  async open(trees: Trees, tree: string, options: OpenOptions): Promise<Checkout> {
    const kind = await this.kind(options);
    for (let tries = 0; tries < 3; tries++) {
      const base = await this.#bases.choose(trees, tree, options.from);
      const directory = await claim(this.#home, options.id, { kind, base, session: options.session });
      // Somebody may have taken it away before they could see that it is in use.
      if (await this.#bases.has(base)) return this.#openAt(trees, tree, { ...options, kind, base, directory });
      await this.#discard(directory);
    }
    throw new RathError("sandbox.failed", "The files that a checkout lies on were removed again and again. Try again.", {
      retryable: true,
    });
  }

  async #openAt(
    trees: Trees,
    tree: string,
    { kind, base, directory, network }: OpenOptions & { readonly kind: CheckoutKind; readonly base: string; readonly directory: string },
  ): Promise<Checkout> {
    let opened: Checkout | undefined;
    const discard = async () => {
      if (opened !== undefined) this.#open.delete(opened);
      await this.#discard(directory);
    };
    const common = { directory, base, scan: this.#options.scan ?? {}, discard };
    try {
      opened =
        kind === "overlay"
          ? await openOverlay({ ...common, lower: join("../..", this.#bases.relative(base)), network })
          : await openCopy(trees, { ...common, kind, from: this.#bases.path(base) });
      this.#open.add(opened);
      await opened.sync(trees, tree);
    } catch (error) {
      await (opened === undefined ? discard() : opened[Symbol.asyncDispose]());
      throw error;
    }
    this.#later(this.#bases.prune());
    return opened;
  }

  async #discard(directory: string): Promise<void> {
    this.#later(emptyTrash(await toTrash(this.#home, directory)));
  }

  /** What fails here is tried again at the next start. */
  #later(work: Promise<void>): void {
    const removal = work.catch(() => undefined).finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  #begin(): Promise<void> {
    this.#begun ??= this.#prepare();
    return this.#begun;
  }

  async #prepare(): Promise<void> {
    await mkdir(this.#home, { recursive: true, mode: 0o700 });
    this.#later(
      (async () => {
        for (const orphan of await orphans(this.#home)) await removeOrphan(this.#home, orphan).catch(() => undefined);
        for (const left of await leftTrash(this.#home)) await emptyTrash(left);
        await this.#bases.pruneUnfinished();
      })(),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open].map((checkout) => checkout[Symbol.asyncDispose]()));
    while (this.#removals.size > 0) await Promise.all(this.#removals);
  }
}

/** What works here, by trying it. */
async function probe(home: string, plain: boolean, without: readonly CheckoutKind[]): Promise<CheckoutKind> {
  // From the beginning where a crash leaves it to be removed.
  const directory = trashPlace(home);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    if (!plain && !without.includes("overlay") && (await overlayWorks(directory))) return "overlay";
    await writeFile(join(directory, "file"), "a");
    if (!without.includes("reflink") && (await sharesBlocks(join(directory, "file"), join(directory, "copy")))) return "reflink";
    return "copy";
  } finally {
    await emptyTrash(directory);
  }
}

/** Writes and removes in one, and looks whether the view and the base are as they must be. */
async function overlayWorks(directory: string): Promise<boolean> {
  try {
    for (const name of ["lower/below", "upper", "work", "merged"]) await mkdir(join(directory, name), { recursive: true });
    await writeFile(join(directory, "lower/below/file"), "a");
    await using held = await holdNamespaces({
      network: false,
      overlay: { directory, lower: "lower", upper: "upper", work: "work", merged: "merged" },
    });
    const merged = held.outside(join(directory, "merged"));
    await writeFile(join(merged, "below/file"), "b");
    await rm(join(merged, "below"), { recursive: true });
    await mkdir(join(merged, "below"));
    const [now, before] = [await readdir(join(merged, "below")), await readFile(join(directory, "lower/below/file"), "utf8")];
    return now.length === 0 && before === "a";
  } catch {
    return false;
  }
}

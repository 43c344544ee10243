/**
 * The sandbox that a branch holds: opened when a command first needs it, brought to the recorded tree before each effect, and read
 * after it. One effect at a time has it. What is on disk is a cache: whatever is wrong with it, it is closed and made again.
 */
import { carryIn, carryOut, type Withholds } from "../sandbox/mirror.ts";
import type { OpenSandbox, SandboxBackend, SandboxSpec } from "../sandbox/sandbox.ts";
import { RathError } from "../session/errors.ts";
import type { SandboxProcess } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { Checkout, Checkouts } from "../workspace/checkout.ts";
import { emptyTree, type Trees } from "../workspace/tree.ts";

/** Where a branch is placed, as it is opened. */
export interface Placed {
  readonly placement: string;
  readonly backend: SandboxBackend;
  /** The user's directory that its files were taken from: copying from there is faster than from the store. */
  readonly from: string | undefined;
  readonly spec: Omit<SandboxSpec, "directory" | "inside" | "written">;
}

/** How its files are laid out. */
export type Layout = Checkout["kind"] | "mirror";

interface Opened {
  readonly placed: Placed;
  readonly sandbox: OpenSandbox;
  readonly checkout: Checkout | undefined;
}

/** What is said when it opens and closes. */
export interface Journal {
  opened(opened: Placed, id: string, layout: Layout): void;
  closed(id: string, reason: string, problem: string | undefined): void;
}

export class Held {
  /** The branch. */
  readonly session: string;
  readonly journal: Journal;
  readonly #checkouts: () => Promise<Checkouts>;
  readonly #newId: () => string;
  readonly #withholds: Withholds;
  #opened: Opened | undefined;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  /** Why it is not opened any more. */
  #ended: string | undefined;
  /** The tree it holds; undefined when nobody knows. */
  #tree: string | undefined = emptyTree;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** Background processes that were started here: what one wrote can be read after its end. */
  readonly processes = new Map<string, SandboxProcess>();
  /** Those that were said to have ended. */
  readonly told = new Set<string>();

  constructor(session: string, journal: Journal, checkouts: () => Promise<Checkouts>, newId: () => string, withholds: Withholds) {
    this.session = session;
    this.journal = journal;
    this.#checkouts = checkouts;
    this.#newId = newId;
    this.#withholds = withholds;
  }

  get id(): string | undefined {
    return this.#opened?.sandbox.id;
  }
  get layout(): Layout | undefined {
    return this.#opened === undefined ? undefined : (this.#opened.checkout?.kind ?? "mirror");
  }
  /** Nobody uses it, and nothing runs in it. */
  get idle(): boolean {
    return this.#waiting === 0 && ![...this.processes.values()].some(({ exitCode }) => exitCode === undefined);
  }

  /** Resolves when it is one's turn, with what gives it back. */
  async take(): Promise<() => void> {
    this.#waiting++;
    const before = this.#last;
    let release = (): void => {};
    this.#last = new Promise((resolve) => {
      release = () => {
        this.#waiting--;
        release = () => {};
        resolve();
      };
    });
    await before;
    return () => release();
  }

  /** Open, and holding a tree. */
  async ready(placed: Placed, trees: Trees, tree: string): Promise<OpenSandbox> {
    if (this.#opened !== undefined && this.#opened.placed.placement !== placed.placement) await this.close("placed elsewhere");
    const before = this.#opened;
    if (before !== undefined) {
      try {
        return await this.#bring(before, trees, tree);
      } catch {
        // What an earlier command left there is in the way: it is no reason for this one to fail.
        await this.close("its files could not be brought to those on record");
      }
    }
    return this.#bring(await this.#openFor(placed, trees, tree), trees, tree);
  }

  async #bring({ sandbox, checkout }: Opened, trees: Trees, tree: string): Promise<OpenSandbox> {
    if (this.#tree === tree) return sandbox;
    if (checkout !== undefined) await checkout.sync(trees, tree);
    else await carryIn(sandbox, trees, this.#tree ?? (await carryOut(sandbox, trees, emptyTree, this.#withholds)), tree);
    this.#tree = tree;
    return sandbox;
  }

  async #openFor(placed: Placed, trees: Trees, tree: string): Promise<Opened> {
    if (this.#ended === undefined) {
      this.#opening = this.#open(placed, trees, tree);
      await this.#opening;
    }
    if (this.#opened === undefined) throw new RathError("sandbox.failed", `The sandbox is closed: ${this.#ended}.`);
    return this.#opened;
  }

  async #open(placed: Placed, trees: Trees, tree: string): Promise<void> {
    const { backend, spec } = placed;
    const plain = backend.capabilities.isolation === "none";
    const network = spec.network !== "none";
    const checkout =
      backend.capabilities.directory === true
        ? await (await this.#checkouts()).open(trees, tree, { id: this.#newId(), plain, network, session: this.session, from: placed.from })
        : undefined;
    try {
      const sandbox = await backend.open({
        ...spec,
        directory: checkout?.directory,
        inside: checkout?.inside,
        written: checkout === undefined ? undefined : (when) => checkout.written(when),
      });
      this.#opened = { placed, sandbox, checkout };
      this.#tree = checkout === undefined ? emptyTree : tree;
      this.journal.opened(placed, sandbox.id, checkout?.kind ?? "mirror");
    } catch (error) {
      await checkout?.[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A command runs: what is on disk is not known until it was read. */
  touched(): void {
    this.#tree = undefined;
  }

  /** The tree of what is there now. */
  async read(trees: Trees, before: string): Promise<string> {
    const opened = this.#opened;
    if (opened === undefined) return before;
    const { sandbox, checkout } = opened;
    let tree = checkout === undefined ? await carryOut(sandbox, trees, before, this.#withholds) : await checkout.scan(trees);
    // Where a shared directory is seen, an empty one is made to hold it.
    for (const { path } of opened.placed.spec.layers ?? [])
      if ((await trees.entry(before, path)) === undefined) tree = await trees.with(tree, path, undefined);
    this.#tree = opened.checkout === undefined ? tree : opened.checkout.tree;
    return tree;
  }

  /** Closes it for good, also when it is only just opening. */
  async end(reason: string): Promise<void> {
    this.#ended ??= reason;
    await this.close(reason);
    await this.#opening?.catch(() => {});
    await this.close(reason);
  }

  /** Ends all that runs in it and lets its files go; also waits for a close that is under way. */
  async close(reason: string): Promise<void> {
    const opened = this.#opened;
    if (opened !== undefined) {
      this.#opened = undefined;
      this.#tree = emptyTree;
      const closing = this.#close(opened, reason);
      this.#closing = this.#closing === undefined ? closing : this.#closing.then(() => closing);
    }
    await this.#closing;
  }

  async #close({ sandbox, checkout }: Opened, reason: string): Promise<void> {
    let problem: string | undefined;
    try {
      await sandbox[Symbol.asyncDispose]();
    } catch (error) {
      problem = textOfThrown(error);
    }
    try {
      await checkout?.[Symbol.asyncDispose]();
    } catch (error) {
      problem ??= textOfThrown(error);
    }
    this.journal.closed(sandbox.id, reason, problem);
  }
}

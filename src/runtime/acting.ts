/**
 * What one effect does where its session is placed. Files are read and written in the tree, which no process can touch; a command
 * gets them on disk, and what it left there is read back. The first write or command takes the branch's sandbox until the effect
 * has ended, so that every change is known to be this effect's.
 */
import { setMaxListeners } from "node:events";
import type { OpenSandbox } from "../sandbox/sandbox.ts";
import { RathError } from "../session/errors.ts";
import { givenOptions } from "../session/given.ts";
import { TreeName } from "../session/json.ts";
import type {
  Acted,
  Change,
  CommandRecord,
  CommandResult,
  ExecOptions,
  Sandbox,
  SandboxEntry,
  SandboxProcess,
} from "../session/session.ts";
import type { Guard } from "../tool/policy.ts";
import { changesBetween } from "../workspace/diff.ts";
import { copyOf, listDirectory, readFile, removePath, writeFile } from "../workspace/files.ts";
import { resolvePath } from "../workspace/path.ts";
import { type Entry, emptyTree, sameEntry, type Trees } from "../workspace/tree.ts";
import type { Held, Placed } from "./held.ts";
import type { OwnObjects } from "./workspace-objects.ts";

/** What an effect needs to act. */
export interface Stage {
  readonly held: Held;
  readonly trees: Trees;
  readonly guard: Guard | undefined;
  /** Aborted when the effect is to stop. */
  readonly signal: AbortSignal;
  /** What it writes is not kept. */
  readonly discards: boolean;
  /** Where the branch is placed; rejects when it is not, or when that kind cannot be opened here. */
  placed(): Promise<Placed>;
  /** The tree of the branch now. */
  tree(): Promise<string>;
  /** Background processes of the branch that have not ended, as far as is on record. */
  running(): readonly string[];
  /** What it makes. */
  readonly objects: OwnObjects;
  /** Says of content that it may not be kept. */
  withholds(this: void, bytes: Uint8Array): boolean;
}

/** What is stored of it, and what must be said in the facts. */
export interface Deed {
  readonly acted: Readonly<Record<string, unknown>>;
  /** The branch has this tree from here on; "first": if it has none yet. */
  readonly files: boolean | "first";
  readonly processes: boolean;
  readonly objects: ReadonlyMap<string, Uint8Array>;
  /** Background processes that it says have ended. */
  readonly ended: readonly string[];
  /** Why it may not have done this; its changes were undone. */
  readonly denied: string | undefined;
}

/** More changes than these are not listed one by one: the trees have them all. */
const listedChanges = 2000;

export class Acting implements Sandbox {
  readonly #stage: Stage;
  readonly #commands: CommandRecord[] = [];
  readonly #started: { readonly id: string; readonly command: string }[] = [];
  /** What was asked for last: one thing is done after the other, since commands and writes would not see each other's files. */
  #last: Promise<unknown> = Promise.resolve();
  /** What is under way. */
  #busy: Promise<unknown> = Promise.resolve();
  readonly #stop = new AbortController();
  #placed: Placed | undefined;
  #before: string | undefined;
  #tree = "";
  /** Commands ran since the files on disk were last read. */
  #dirty = false;
  /** What was at the paths that it read before its turn. */
  readonly #read = new Map<string, Entry | undefined>();
  #taking: Promise<void> | undefined;
  #release: (() => void) | undefined;
  /** It had its turn: the files are as it leaves them. */
  #took = false;
  #over = false;
  #settled: Promise<Deed | undefined> | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
    stage.objects.writeEarly();
    setMaxListeners(0, stage.signal, this.#stop.signal); // any number of commands may be under them
  }

  /** True once anything was read, written or run. */
  get used(): boolean {
    return this.#before !== undefined;
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Promise<CommandResult> {
    return this.#do(async () => {
      givenOptions(options, ["cwd", "stdin", "signal", "timeoutMs", "onOutput"], "exec");
      this.#allow(this.#stage.guard?.refusesCommand(command, options.cwd));
      const sandbox = await this.#onDisk();
      this.#dirty = true;
      this.#stage.held.touched();
      const signals = [this.#stage.signal, this.#stop.signal, ...(options.signal === undefined ? [] : [options.signal])];
      const result = await sandbox.exec(command, { ...options, signal: AbortSignal.any(signals) });
      this.#commands.push(recordOf(command, result));
      return result;
    }, true);
  }

  start(command: string | readonly string[], options: { readonly cwd?: string | undefined } = {}): Promise<SandboxProcess> {
    return this.#do(async () => {
      this.#allow(this.#stage.guard?.refusesCommand(command, options.cwd));
      const sandbox = await this.#onDisk();
      if (sandbox.start === undefined)
        throw new RathError(
          "sandbox.unavailable",
          `A "${this.#placed?.backend.kind}" sandbox runs no background processes: run the command and wait for it.`,
        );
      const process = await sandbox.start(command, options);
      this.#stage.held.processes.set(process.id, process);
      this.#started.push({ id: process.id, command: typeof command === "string" ? command : command.join(" ") });
      return process;
    }, true);
  }

  process(id: string): SandboxProcess | undefined {
    return this.#stage.held.processes.get(id);
  }

  read(path: string): Promise<Uint8Array> {
    return this.#do(async (trees) => {
      const tree = await this.#current();
      await this.#within(tree, path, false);
      if (!this.#took) this.#read.set(path, await readableAt(trees, tree, path));
      return copyOf(await readFile(trees, tree, path));
    });
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    // Taken at once: the caller may fill its buffer anew before it is this one's turn.
    const bytes = typeof content === "string" ? Buffer.from(content) : copyOf(content);
    return this.#do(async (trees) => {
      const tree = await this.#current();
      await this.#within(tree, path, true);
      if (this.#stage.withholds(bytes)) this.#allow(secretProblem(path));
      this.#tree = await writeFile(trees, tree, path, bytes);
    }, true);
  }

  async *list(path = "."): AsyncIterable<SandboxEntry> {
    const entries = await this.#do(async (trees) => {
      const tree = await this.#current();
      await this.#within(tree, path, false);
      return listDirectory(trees, tree, path);
    });
    for (const { path: at, entry } of entries) {
      const listed = listedEntry(at, entry);
      if (listed !== undefined) yield listed;
    }
  }

  remove(path: string): Promise<void> {
    return this.#do(async (trees) => {
      const tree = await this.#current();
      await this.#within(tree, path, true);
      this.#tree = await removePath(trees, tree, path);
    }, true);
  }

  /** Takes over the files of nested work, which began with the tree at the call. */
  adopt(base: string, theirs: string): Promise<void> {
    return this.#do(async (trees) => {
      const tree = await this.#current();
      const { mergeTrees } = await import("../workspace/merge.ts");
      const { tree: merged, conflicts } = await mergeTrees(trees, base, tree, theirs);
      if (conflicts.length > 0)
        throw new RathError(
          "merge.conflict",
          `its files were changed here meanwhile: ${conflicts.map(({ path }) => path).join(", ")}. They are in its own session; merge that to settle it.`,
        );
      this.#tree = merged;
    }, true);
  }

  /** Everything an effect does here, in its order; `writes` takes the sandbox for the rest of the effect. */
  #do<T>(act: (trees: Trees) => Promise<T>, writes = false): Promise<T> {
    const doing = this.#last.then(async () => {
      this.#assertGoing();
      this.#placed ??= await this.#stage.placed();
      // It may have been ended while its place was made ready: a turn taken now would never be given back.
      this.#assertGoing();
      if (writes) await this.#take();
      await this.#begin();
      // Or while it waited for its turn.
      this.#assertGoing();
      const acting = act(this.#stage.trees);
      this.#busy = acting;
      return acting;
    });
    this.#last = doing.catch(() => {});
    return doing;
  }

  #assertGoing(): void {
    if (this.#over)
      throw new RathError("sandbox.failed", "The effect that this sandbox was given to has ended: it cannot be used any more.");
  }

  #take(): Promise<void> {
    this.#taking ??= this.#stage.held.take().then(async (release) => {
      this.#release = release;
      // Others may have changed files since they were first looked at.
      const tree = this.#before === undefined ? undefined : await this.#stage.tree();
      if (tree !== undefined && tree !== this.#before) await this.#assertSame(tree);
      // One that ended while it waited has only looked.
      if (this.#over) return;
      this.#took = true;
      if (tree !== undefined) [this.#before, this.#tree] = [tree, tree];
    });
    return this.#taking;
  }

  /** What it writes may be made from what it read: others' changes of that would be lost without a word. */
  async #assertSame(tree: string): Promise<void> {
    for (const [path, entry] of this.#read)
      if (!sameEntry(await readableAt(this.#stage.trees, tree, path), entry))
        throw new RathError(
          "workspace.changed",
          `Another call changed ${JSON.stringify(path)} after this one had read it, so this one wrote nothing: read it again, then repeat the call.`,
          { details: { paths: [path] }, retryable: true },
        );
  }

  async #begin(): Promise<void> {
    if (this.#before !== undefined) return;
    const tree = await this.#stage.tree();
    this.#before ??= tree;
    if (this.#tree === "") this.#tree = tree;
  }

  async #onDisk(): Promise<OpenSandbox> {
    const tree = this.#dirty ? await this.#current() : this.#tree;
    return this.#stage.held.ready(this.#placed as Placed, this.#stage.trees, tree);
  }

  /** The tree as it is now, read from disk when commands ran. */
  async #current(): Promise<string> {
    if (this.#dirty) {
      this.#tree = await this.#stage.held.read(this.#stage.trees, this.#tree);
      this.#dirty = false;
    }
    return this.#tree;
  }

  async #within(tree: string, path: string, missing: boolean): Promise<void> {
    if (this.#stage.guard === undefined) return;
    const { trees } = this.#stage;
    const { path: real } = missing ? await resolvePath(trees, tree, path, { missing }) : await resolvePath(trees, tree, path);
    this.#allow(this.#stage.guard.refusesPath(real));
  }

  #allow(refusal: string | undefined): void {
    if (refusal !== undefined) throw new RathError("sandbox.denied", refusal);
  }

  /** The effect has ended: what still runs is ended, and what it left behind is read. Undefined when it did nothing here. */
  settle(): Promise<Deed | undefined> {
    this.#settled ??= this.#settle();
    return this.#settled;
  }
  async #settle(): Promise<Deed | undefined> {
    this.#over = true;
    this.#stop.abort(new Error("the effect has ended"));
    await this.#busy.catch(() => {});
    const { trees, discards, held } = this.#stage;
    const putAgain = this.#stage.objects.ended();
    const ended = endedOf(this.#stage);
    // That a process ended is on record, though no file was looked at.
    if (ended.length > 0 && this.#before === undefined) {
      this.#placed = await this.#stage.placed();
      await this.#begin();
    }
    const [placed, before] = [this.#placed, this.#before];
    if (placed === undefined || before === undefined) return undefined;
    const tree = await this.#current();
    const changes = await changesBetween(trees, before, tree);
    const denied = this.#outside(changes);
    const dropped = (discards || denied !== undefined) && tree !== before;
    const after = dropped ? before : tree;
    const counting = dropped ? [] : await freshIn(trees, before, tree);
    await putAgain(counting);
    const objects = this.#stage.objects.among(counting);
    for (const { id } of ended) held.told.add(id);
    const kept = dropped ? [] : changes;
    const acted = {
      sandbox: placed.backend.kind,
      ...(held.id === undefined || this.#commands.length + this.#started.length === 0 ? {} : { id: held.id, workspace: held.layout }),
      isolation: placed.backend.capabilities.isolation,
      before: new TreeName(before),
      after: new TreeName(after, objects),
      changes: kept.slice(0, listedChanges),
      ...(kept.length > listedChanges ? { omitted: kept.length - listedChanges } : {}),
      ...(this.#commands.length === 0 ? {} : { commands: this.#commands }),
      ...(this.#started.length === 0 ? {} : { started: this.#started }),
      ...(ended.length === 0 ? {} : { ended }),
      ...(dropped ? { discarded: true } : {}),
    };
    // Who took no turn only looked, and others may have changed files meanwhile.
    const files = !discards && (this.#took ? true : "first");
    return { acted, files, processes: this.#started.length + ended.length > 0, objects, ended: ended.map(({ id }) => id), denied };
  }

  /** It has ended and does not count: nothing of what it made is kept. */
  async undo(): Promise<void> {
    const deed = await this.settle().catch(() => undefined);
    for (const id of deed?.ended ?? []) this.#stage.held.told.delete(id);
    await this.#stopStarted();
    this.release();
  }

  /** No event says that they were started, so none may say that they ended. */
  async #stopStarted(): Promise<void> {
    const { processes } = this.#stage.held;
    const started = this.#started.map(({ id }) => processes.get(id));
    for (const { id } of this.#started) processes.delete(id);
    await Promise.allSettled(started.map((process) => process?.stop()));
  }

  /** Gives the sandbox back, once what came of it is linked. */
  release(): void {
    this.#over = true;
    this.#stage.objects.drop();
    const give = (): void => this.#release?.();
    this.#taking?.then(give, give);
  }

  #outside(changes: readonly Change[]): string | undefined {
    const { guard } = this.#stage;
    if (guard === undefined) return undefined;
    for (const { path } of changes) {
      const refusal = guard.refusesPath(path);
      if (refusal !== undefined) return `${refusal}; what the call had changed was undone`;
    }
    return undefined;
  }
}

/** What a read of a path is about; undefined when nothing is there, or a directory, of which nothing is read. */
async function readableAt(trees: Trees, tree: string, path: string): Promise<Entry | undefined> {
  const found = await resolvePath(trees, tree, path).catch(() => undefined);
  return found?.entry.type === "directory" ? undefined : found?.entry;
}

function secretProblem(path: string): string {
  return `what was to be written to ${JSON.stringify(path)} holds a secret, and files are stored: give secrets to commands by name, with env of the placement`;
}

/** Files, directories and links; the rest is of no use to whoever lists files. */
function listedEntry(path: string, entry: Entry): SandboxEntry | undefined {
  switch (entry.type) {
    case "file":
    case "directory":
      return { path, kind: entry.type, mode: entry.mode };
    case "link":
      return { path, kind: "link", target: entry.target };
    default:
      return undefined;
  }
}

function recordOf(command: string | readonly string[], result: CommandResult): CommandRecord {
  const { exitCode, stdout, stderr, durationMs, signal, stopped } = result;
  return {
    command,
    exitCode,
    ms: durationMs,
    stdout,
    stderr,
    ...(signal === undefined ? {} : { signal }),
    ...(stopped === undefined ? {} : { stopped }),
  };
}

/** Processes that have ended since they were last spoken of, those of a sandbox that is gone included. */
function endedOf({ held, running }: Stage): NonNullable<Acted["ended"]> {
  const over = [...held.processes.values()].filter(({ id, exitCode }) => exitCode !== undefined && !held.told.has(id));
  const gone = running().filter((id) => !held.processes.has(id));
  return [...over.map(({ id, exitCode }) => ({ id, exitCode })), ...gone.map((id) => ({ id, reason: "its sandbox was closed" }))];
}

/** The objects that a tree has and another has not: directories and contents. */
export async function freshIn(trees: Trees, before: string, after: string): Promise<readonly string[]> {
  if (before === after) return [];
  const [old, now] = [await trees.directory(before), await trees.directory(after)];
  const names = [after];
  for (const [name, entry] of now) {
    const was = old.get(name);
    if (entry.type === "file" && !(was?.type === "file" && was.hash === entry.hash)) names.push(entry.hash);
    if (entry.type === "directory") names.push(...(await freshIn(trees, was?.type === "directory" ? was.hash : emptyTree, entry.hash)));
  }
  return names;
}

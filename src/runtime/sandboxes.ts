/**
 * Where the sessions of a runtime act: the backends by name, the files a directory held when it was first used, and the sandboxes
 * that are open. A sandbox belongs to one branch of one owner; that it opened and closed is said in that owner's own log.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { SandboxBackend } from "../sandbox/sandbox.ts";
import { actedOf, processesOf, recordedTree } from "../session/acted.ts";
import { dataText, parseEnvelope } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { DataOf } from "../session/event.ts";
import { type State, stateOf } from "../session/fold.ts";
import { decode, TreeName } from "../session/json.ts";
import { current, history, type Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { PlacementSpec } from "../session/session.ts";
import type { Guard } from "../tool/policy.ts";
import type { Checkouts } from "../workspace/checkout.ts";
import { emptyTree, Trees } from "../workspace/tree.ts";
import type { Stage } from "./acting.ts";
import { erasedBlobs } from "./erasure-log.ts";
import { Held, type Journal, type Placed } from "./held.ts";
import { isRefused } from "./imported-places.ts";
import type { Captured, Owner, Services } from "./services.ts";
import { WorkspaceObjects } from "./workspace-objects.ts";

type Progress = (progress: { readonly files: number; readonly bytes: number }) => void;

/** What the composition root gives. */
export interface Places {
  /** Rejects by name when there is no such kind, or it cannot be opened here. */
  backend(kind: string): Promise<SandboxBackend>;
  /** Whether what runs there can be undone: its files are ours and it reaches nothing else. */
  restorable(kind: string, network: PlacementSpec["network"]): boolean;
  checkouts(): Promise<Checkouts>;
  /** Says of content that it may not be kept: it holds a secret. */
  withholds(this: void, bytes: Uint8Array): boolean;
  /** Where files of sandboxes lie that outlive the process; undefined when none do. It may not be there yet. */
  home(): string | undefined;
  /** Reads a directory into a tree. */
  capture(trees: Trees, directory: string, onProgress?: Progress): Promise<Captured>;
  close(): Promise<void>;
}

/** How an effect acts. */
export interface Acts {
  readonly signal: AbortSignal;
  readonly guard: Guard | undefined;
  /** Told how far the first look at a large directory has come. */
  readonly progress: (text: string) => void;
}

/** More sandboxes than these are not kept open when nobody uses them. */
const keptOpen = 8;

export class Sandboxes {
  readonly objects: WorkspaceObjects;
  readonly trees: Trees;
  readonly places: Places;
  readonly platform: Platform;
  readonly #runtime: Services;
  readonly #held = new Map<Owner, Map<string, Held>>();
  /** Owners that ended, and why: nothing is opened for what they left behind. */
  readonly #ended = new WeakMap<Owner, string>();
  readonly #captured = new Map<string, Promise<Captured>>();

  constructor(runtime: Services, places: Places) {
    this.#runtime = runtime;
    this.platform = runtime.platform;
    this.places = places;
    this.objects = new WorkspaceObjects(
      () => runtime.store(),
      async () => erasedBlobs(runtime.platform, await runtime.store()),
    );
    this.trees = new Trees(this.objects.own());
  }

  /** Contents that were erased are not handed out from memory. */
  forgetErased(): void {
    this.objects.forget();
    this.trees.forget();
  }

  /** What one effect needs to act. */
  stage(owner: Owner, called: Node, how: Acts): Stage {
    const branch = (): Node => current(called).log.tip as Node;
    const objects = this.objects.own();
    return {
      held: this.#holdFor(owner, current(called).log.id),
      trees: this.trees.over(objects),
      objects,
      guard: how.guard,
      signal: how.signal,
      discards: called.kind === "check.called",
      placed: () => this.#placed(owner, called, how.progress),
      tree: () => this.#treeAt(owner, stateOf(branch()), how.progress),
      running: () => processesOf(stateOf(branch()), this.#runtime.platform).map(({ process }) => process),
      withholds: this.places.withholds,
    };
  }

  /** The tree at a place: what is on record, else what its directory held when it was first used. */
  async #treeAt(owner: Owner, state: State, progress: Acts["progress"]): Promise<string> {
    const recorded = recordedTree(state, this.#runtime.platform);
    if (recorded !== undefined) return recorded;
    if (state.base === undefined) return emptyTree;
    await this.#refuseImported(state.base);
    return (await this.#captureOnce(owner, state.base, progress)).tree;
  }

  /** The same without looking at any directory: undefined when it is not known. */
  knownTreeAt(state: State): string | undefined {
    return recordedTree(state, this.#runtime.platform) ?? (state.base === undefined ? emptyTree : this.#known.get(current(state.base).id));
  }
  readonly #known = new Map<string, string>();

  /** The tree that a line of work found when it first used the directory of a placement. */
  firstTree(place: Node, base: Node): string | undefined {
    const first = firstUse(place, base);
    return first === undefined ? undefined : actedOf(first, this.#runtime.platform)?.before;
  }
  recordedTreeAt(state: State): string | undefined {
    return recordedTree(state, this.#runtime.platform);
  }

  async #placed(owner: Owner, called: Node, progress: Acts["progress"]): Promise<Placed> {
    const { placement, base: named } = stateOf(current(called));
    if (placement === undefined)
      throw new RathError(
        "sandbox.unavailable",
        `Session ${called.log.id} is not placed anywhere: say session.to("local", { workspace: "./repo" }) first.`,
      );
    await this.#refuseImported(placement);
    // Files that are on record need no directory that a bundle names.
    const base = named !== undefined && !(await this.#isImported(named)) ? named : undefined;
    const { sandbox, spec: given } = placement.data<"placement.changed">(this.#runtime.platform) ?? erasedPlacement(placement);
    const spec = given as PlacementSpec;
    const backend = await this.places.backend(sandbox);
    if (spec.network !== undefined && spec.network !== "all" && !backend.capabilities.network)
      throw new RathError(
        "sandbox.unavailable",
        `A "${sandbox}" sandbox cannot keep commands off the network: say network: "all", or place the session elsewhere.`,
        { details: { sandbox } },
      );
    const found =
      base === undefined ? undefined : ((await this.#capturedBefore(called, base)) ?? (await this.#captureOnce(owner, base, progress)));
    const captured = await this.ownCapture(found);
    const layers = (captured?.layers ?? [])
      .map((path) => ({ path, from: resolve(captured?.directory ?? "", path) }))
      .filter(({ from }) => existsSync(from));
    return {
      placement: current(placement).id,
      backend,
      from: captured !== undefined && existsSync(captured.directory) ? captured.directory : undefined,
      spec: {
        session: called.log.id,
        network: spec.network ?? "none",
        env: environment(spec.env ?? {}),
        image: spec.image,
        limits: spec.limits,
        layers,
      },
    };
  }

  /** Code of this machine said so: it may, also where a bundle said the same before. */
  saidHere(placement: Node): void {
    this.#saidHere.add(placement.id);
  }
  /** Placements that somebody here chose, and what was found here: looked up once. */
  readonly #saidHere = new Set<string>();

  #isImported(placement: Node): Promise<boolean> {
    return this.#isFromElsewhere(current(placement).id);
  }

  async #isFromElsewhere(event: string): Promise<boolean> {
    if (this.#saidHere.has(event)) return false;
    if (await isRefused(this.#runtime, event)) return true;
    this.#saidHere.add(event); // what is here is not brought by a bundle later
    return false;
  }

  async #refuseImported(placement: Node): Promise<void> {
    if (!(await this.#isImported(placement))) return;
    const { log, id } = current(placement);
    const problem = `Where session ${log.id} is placed came with a bundle (event ${id}): somebody else chose it, for another machine. Say session.to(…), with a workspace, before tools act on it.`;
    throw new RathError("sandbox.denied", problem, { details: { session: log.id, event: id } });
  }

  /** What was found in a directory. Of what a bundle says only the files are taken, not where they lay. */
  async ownCapture<C extends Captured | undefined>(captured: C): Promise<C> {
    if (captured?.event === undefined || !(await this.#isFromElsewhere(captured.event))) return captured;
    return { ...captured, directory: "", layers: [] };
  }

  /**
   * What was found when this line of work first used the directory, perhaps in another process: by now it may hold other files or
   * be gone. Undefined when it was not used yet.
   */
  async #capturedBefore(called: Node, base: Node): Promise<Captured | undefined> {
    if (this.#captured.has(current(base).id) || this.recordedTreeAt(stateOf(current(called))) === undefined) return undefined;
    const key = `${current(called).log.id} ${current(base).id}`;
    const found = this.#before.get(key) ?? (await this.captureOf(current(called), base));
    if (found !== undefined) this.#before.set(key, found);
    return found;
  }
  /** By branch and placement: to look for it takes a walk through all that happened. */
  readonly #before = new Map<string, Captured>();

  /** What a line of work says it found in the directory of a placement. */
  async captureOf(place: Node, base: Node): Promise<Captured | undefined> {
    const first = firstUse(place, base);
    if (first?.run === undefined) return undefined;
    const { platform } = this.#runtime;
    for await (const { id, envelope, data } of (await this.#runtime.store()).events({ session: first.run })) {
      if (data === undefined || parseEnvelope(platform.text(envelope)).kind !== "workspace.captured") continue;
      const said = decode(dataText(platform, data), platform, noBlob) as DataOf<"workspace.captured">;
      if (said.placement !== current(base).id) continue;
      const { directory, tree, layers = [], withheld = [] } = said;
      return this.ownCapture({ directory, tree, layers, withheld, event: id });
    }
    return undefined;
  }

  /** What a run found before it was taken up again, or the run that it repeats; else what this process finds there, once for all. */
  #captureOnce(owner: Owner, base: Node, progress: Acts["progress"]): Promise<Captured> {
    const { id } = current(base);
    let own = this.#found.get(owner);
    if (own === undefined) {
      own = new Map();
      this.#found.set(owner, own);
    }
    const found = own.has(id) ? own.get(id) : this.#foundBefore(owner, base);
    own.set(id, found);
    if (found !== undefined) {
      if (!this.#known.has(id)) this.#known.set(id, found.tree);
      return Promise.resolve(found);
    }
    let captured = this.#captured.get(id);
    if (captured === undefined) {
      captured = this.#capture(owner, base, progress);
      this.#captured.set(id, captured);
      captured.then(
        (taken) => {
          this.#known.set(id, taken.tree);
          own.set(id, taken);
        },
        () => this.#captured.delete(id), // whoever asks next tries again
      );
      return captured;
    }
    // Another run looked first: this one says so too, since it may be taken up where nobody has.
    return captured.then((taken) => {
      if (own.get(id) === undefined) own.set(id, this.#said(owner, base, taken));
      return taken;
    });
  }
  /** By owner and placement: undefined where it found nothing before. */
  readonly #found = new WeakMap<Owner, Map<string, Captured | undefined>>();

  #foundBefore(owner: Owner, base: Node): Captured | undefined {
    const recorded = recordedCapture(owner, current(base), this.#runtime);
    if (recorded !== undefined) return recorded;
    const again = owner.reuse?.capturedFor(base);
    return again === undefined ? undefined : this.#said(owner, base, again);
  }

  async #capture(owner: Owner, base: Node, progress: Acts["progress"]): Promise<Captured> {
    const { spec } = base.data<"placement.changed">(this.#runtime.platform) ?? erasedPlacement(base);
    const objects = this.objects.written();
    const directory = resolve(String(spec["workspace"]));
    const { platform, times, warn } = this.#runtime;
    const late = platform.elapsed() + times.remindMs;
    let told = false;
    const captured = await this.places.capture(this.trees.over(objects), directory, ({ files }) => {
      progress(`reading ${directory}: ${files} files`);
      if (told || platform.elapsed() < late) return;
      told = true;
      warn(`Reading ${directory} for the first time, ${files} files so far; the next time only what changed is read.`);
    });
    await objects.flush();
    return this.#said(owner, base, captured);
  }

  /** What was found is on record, so that whoever takes the run up finds the same. */
  #said(owner: Owner, base: Node, captured: Captured): Captured {
    const { directory, tree, layers, withheld } = captured;
    owner.journal("workspace.captured", {
      directory,
      ...(layers.length === 0 ? {} : { layers }),
      placement: current(base).id,
      tree: new TreeName(tree),
      ...(withheld.length === 0 ? {} : { withheld }),
    });
    if (withheld.length > 0)
      this.#runtime.warn(
        `Too large or with a secret in it, and so not part of the workspace of ${directory}: ${withheld.slice(0, 5).join(", ")}${withheld.length > 5 ? ` and ${withheld.length - 5} more` : ""}.`,
      );
    return captured;
  }

  #holdFor(owner: Owner, session: string): Held {
    let branches = this.#held.get(owner);
    if (branches === undefined) {
      branches = new Map();
      this.#held.set(owner, branches);
    }
    let held = branches.get(session);
    if (held === undefined)
      held = new Held(
        session,
        journalOf(owner),
        () => this.places.checkouts(),
        () => this.#runtime.platform.newId(),
        this.places.withholds,
      );
    else branches.delete(session);
    branches.set(session, held); // the newest last
    const ended = this.#ended.get(owner);
    if (ended !== undefined) void held.end(ended);
    this.#closeIdle(branches);
    return held;
  }

  #closeIdle(branches: Map<string, Held>): void {
    const idle = [...branches.values()].filter((held) => held.id !== undefined && held.idle);
    // Not forgotten: an effect that has begun may hold it, and would open it again where nobody closes it.
    for (const held of idle.slice(0, Math.max(0, idle.length - keptOpen))) void held.close("not used for a while");
  }

  /** Those for whom something may be open. */
  owners(): readonly Owner[] {
    return [...this.#held.keys()];
  }
  /** Whether a sandbox of an owner is open here. */
  holds(owner: string, id: string): boolean {
    return [...this.#held].some(([{ log }, branches]) => log.id === owner && [...branches.values()].some((held) => held.id === id));
  }

  /** Ends everything that an owner holds open. */
  async close(owner: Owner, reason: string): Promise<void> {
    const branches = this.#held.get(owner);
    this.#held.delete(owner);
    this.#ended.set(owner, reason);
    await Promise.all([...(branches?.values() ?? [])].map((held) => held.end(reason)));
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#held.keys()].map((owner) => this.close(owner, "the runtime was closed")));
  }
}

/** Said in the own log of the run. */
function journalOf(owner: Owner): Journal {
  return {
    opened: ({ backend, spec }, id, layout) =>
      void owner.journal("sandbox.opened", {
        ...(Object.keys(spec.env).length === 0 ? {} : { env: Object.keys(spec.env).sort() }),
        id,
        isolation: backend.capabilities.isolation,
        ...(spec.layers === undefined || spec.layers.length === 0 ? {} : { layers: spec.layers.map(({ path }) => path) }),
        ...(spec.limits === undefined ? {} : { limits: spec.limits }),
        network: spec.network,
        sandbox: backend.kind,
        session: spec.session,
        workspace: layout,
      }),
    closed: (id, reason, problem) => void owner.journal("sandbox.closed", { id, ...(problem === undefined ? {} : { problem }), reason }),
  };
}

/** What is said of a directory is short. */
const noBlob = (): Uint8Array => new Uint8Array();

function erasedPlacement({ id, log }: Node): never {
  const problem = `Where session ${log.id} is placed was erased (event ${id}): say session.to(…) before tools act on it.`;
  throw new RathError("event.erased", problem, { details: { session: log.id, event: id } });
}

/** The first effect that acted on files which it took from the directory of a placement. */
function firstUse(place: Node, base: Node): Node | undefined {
  for (const past of history(place)) if (past.facts.acted === true && stateOf(past).base === base) return past;
  return undefined;
}

/** What the run said of a placement before it was taken up again. */
function recordedCapture(owner: Owner, base: Node, { platform }: Services): Captured | undefined {
  for (let node = owner.log.tip; node !== undefined; node = node.prior) {
    if (node.kind !== "workspace.captured" || node.erased) continue;
    const { placement, directory, tree, layers = [], withheld = [] } = node.data<"workspace.captured">(platform);
    if (placement === base.id) return { directory, tree, layers, withheld, event: node.id };
  }
  return undefined;
}

/** Values of the runtime's own environment are passed by name and never recorded. */
function environment(env: NonNullable<PlacementSpec["env"]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      const given = value === true ? process.env[name] : value;
      if (given === undefined)
        throw new RathError(
          "sandbox.unavailable",
          `The placement passes ${name} on, which is not set in this process's environment: set it, or take it out of env.`,
          {
            details: { variable: name },
          },
        );
      return [name, given];
    }),
  );
}

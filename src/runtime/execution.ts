/**
 * One execution of a run in this process: it claims heads, links events, writes them and hands results over. Under a driver
 * (resume, replay) it takes what was recorded first and lets nothing go live while recorded work is unclaimed.
 */
import { facts } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { DataOf, EventKind, OutcomeType } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Budget, Effect } from "../session/host.ts";
import { forkId, type Scope } from "../session/id.ts";
import { type Encoded, encode } from "../session/json.ts";
import { current, isAncestor, Log, type Node } from "../session/log.ts";
import type { StreamPart } from "../session/stream.ts";
import { textOfThrown } from "../session/thrown.ts";
import { Asked, type Request } from "./asked.ts";
import { Beside } from "./beside.ts";
import { Beyond } from "./beyond.ts";
import { Delivery } from "./delivery.ts";
import type { HeldLease } from "./lease.ts";
import { link } from "./link.ts";
import { Ordinals } from "./ordinals.ts";
import { pureFacts } from "./pure-facts.ts";
import { Recorded } from "./recorded.ts";
import type { Reuse } from "./reuse.ts";
import type { Services } from "./services.ts";
import { Signer } from "./sign.ts";
import { Stillness } from "./stillness.ts";
import { fenced, Writer } from "./writer.ts";

/** `effects`: verbs outside any workflow; `bare`: a workflow called directly; `run`: started by `rath.run`; `replay`: never writes, never calls the world. */
export type ExecutionMode = "effects" | "bare" | "run" | "replay";

export interface Stray {
  readonly head: Node;
  readonly kind: EventKind;
  readonly data: unknown;
}

/** A call of this execution that has no result yet. */
export interface Open {
  readonly called: Node;
  /** The event under which it is pending. */
  readonly mark: Node;
  readonly effect: Effect;
  /** For a person or a timer: nothing happens meanwhile. */
  readonly waiting: boolean;
  /** A person is asked about it, or was. */
  readonly asking: boolean;
  /** Behind another one of its batch. */
  readonly queued: boolean;
  /** Its code is at work; what is inside it counts for itself. */
  readonly busy: boolean;
  /** When it stops waiting by itself. */
  readonly deadline: string | undefined;
  /** The scope it was called in: an effect inside another one. */
  readonly scope: Scope;
  abort(reason: string): void;
  /** Ends it because the run ends; the program never receives this. */
  close(outcome: OutcomeType, reason: string): void;
}

/** Gets a part, and the call that it belongs to where it is no event. */
type Watcher = (part: StreamPart, call?: string) => void;

export class Execution {
  readonly id: string;
  readonly mode: ExecutionMode;
  readonly runtime: Services;
  readonly scope: { readonly run: string };
  /** The run's own log. */
  readonly log: Log;
  readonly writer: Writer;
  readonly delivery: Delivery;
  readonly signer: Signer;
  readonly stillness: Stillness;
  readonly open = new Set<Open>();
  readonly beside = new Beside();
  /** What effects outside of workflows asked for is asked for by nobody again. */
  readonly asked: Asked | undefined;
  lease: HeldLease | undefined;
  recorded: Recorded | undefined;
  reuse: Reuse | undefined;
  #beyond: Beyond | undefined;
  /** What it recorded and does not ask for again. */
  left: readonly Node[] = [];
  /** The limits of the whole run. */
  budget: Budget | undefined;
  /** Which memory is read: of a rerun what its source read, or the latest; else as it is when somebody first looks. */
  memory: number | "latest" | undefined;
  closed = false;
  /** Somebody else holds it now. */
  lost: RathError | undefined;
  /** Nothing new begins here: the run is about to be left for others. */
  draining = false;
  /** Effects whose call is being stored, as one that has begun: they will in a moment. */
  beginning = 0;
  /** `forward` has ended: frames it left behind go no further. */
  ending = false;
  /** It is left for others, and its sandboxes are closed under what still acts in them: that has no result. Resolves when it is closed. */
  leaving: Promise<void> | undefined;
  #left: () => void = () => {};
  /** Where the run's work began, and the newest event of its program. */
  entered: Node | undefined;
  #newest: Node | undefined;
  #branch: Log | undefined;
  /** Requests that were not found in the record, as they came. */
  readonly strays: Stray[] = [];
  /** Who acts now under which name, where the record has another one. */
  readonly renames = new Map<string, string>();
  /** Every open effect of every branch waits for a person or a timer. */
  onParkable: () => void = () => {};
  /** Its lease was renewed, which takes note that it was woken: whoever executes it must look. */
  onRenewed: () => void = () => {};
  /** Somebody took the run over, or its store fails: it is left for others. */
  onLost: (error: RathError) => void = () => {};
  /** Nothing moves although recorded work was not asked for again. */
  onStill: () => void = () => {};
  /** Gets what happens, as it happens, when anybody watches. */
  watched: Watcher | undefined;
  readonly #watchers = new Set<Watcher>();
  /** How many tool calls rules have seen. */
  readonly #judged = new Map<object, number>();
  readonly #owned = new Set<Log>();
  readonly #ordinals = new Ordinals();
  readonly #gate: (() => void)[] = [];
  /** Made while recorded work was unclaimed; written when the gate opens. */
  readonly #held: Node[] = [];

  constructor(runtime: Services, id: string, mode: ExecutionMode, log: Log = new Log(id, "run")) {
    this.runtime = runtime;
    this.id = id;
    this.mode = mode;
    this.scope = { run: id };
    this.log = log;
    this.asked = mode === "effects" ? undefined : new Asked(runtime.platform.sha256, (node) => runtime.textOf(node));
    this.writer = new Writer(runtime, this);
    this.signer = new Signer(this);
    this.writer.beforeWrite = () => this.#sign();
    this.writer.onAdded = (node) =>
      this.watched?.({ type: "event", event: node.event(runtime.platform), by: node.by, session: node.log.id });
    const onTurn = (): unknown => this.writer.overdue && this.background();
    this.delivery = new Delivery(() => this.#idle(), onTurn);
    this.stillness = new Stillness(mode === "replay" ? runtime.times.stillReplayMs : runtime.times.stillResumeMs, () => this.onStill());
  }

  /** Executes again what was recorded before going on. */
  drive(events: readonly Node[]): void {
    const recorded = new Recorded(events, (node) => this.runtime.textOf(node));
    recorded.onSkipped = (call) => this.runtime.recount(call, (rule) => this.count(rule));
    this.recorded = recorded;
    this.delivery.recorded = recorded;
    if (this.mode === "replay") this.#beyond = new Beyond(this, events);
    recorded.onProgress = () => {
      this.stillness.moved();
      this.delivery.schedule();
      if (recorded.complete) this.openGate();
    };
    if (recorded.complete) this.openGate();
  }

  /** Adds an event of a verb that causes no effect, or finds it in the record. */
  add(head: Node, scope: Scope, kind: EventKind, data: unknown, by: string): Node {
    const encoded = encode(data, this.runtime.platform, this.runtime.redact, kind);
    const recorded = this.find(head, scope, kind, encoded, by);
    if (recorded !== undefined) {
      if (kind === "workflow.entered") this.entered ??= recorded;
      return recorded;
    }
    const { log, parent } = this.next(head, scope, { kind, text: encoded.text }, kind === "workflow.left" ? by : undefined);
    const facts = pureFacts(kind, data);
    const node = link(this.runtime, { log, parents: [parent], kind, data, by, pure: this.mode !== "effects", encoded, facts });
    this.asked?.add(head, node);
    if (kind === "workflow.entered") this.entered ??= node;
    if (kind === "session.rejected" && this.mode !== "effects") this.record(node);
    return node;
  }

  /** The recorded event that a request is; one that was not recorded is remembered as a stray. */
  find(head: Node, scope: Scope, kind: EventKind, { text, value }: Encoded, by: string): Node | undefined {
    const { recorded } = this;
    if (recorded === undefined) return undefined;
    const found = recorded.take(head, scope, { kind, text }, this.asked?.before(head, { kind, text }) ?? 0);
    if (found === undefined) {
      if (this.mode === "replay" || !recorded.complete) this.strays.push({ head, kind, data: value });
      return undefined;
    }
    this.asked?.add(head, found);
    if (found.by !== by) this.renames.set(found.by, by);
    return found;
  }

  /** Where a new event goes that causes no effect. */
  next(head: Node, scope: Scope, request: Request, returnedBy?: string): { readonly log: Log; readonly parent: Node } {
    const beyond = this.#beyond?.after(head);
    if (beyond !== undefined) return { log: beyond, parent: head };
    const parent = this.claim(head, scope, request, returnedBy);
    return { log: parent.log, parent };
  }

  /** The place after which a new event goes: the head itself when it is the tip of a branch nobody else writes, else a new implicit fork. */
  claim(head: Node, scope: Scope, request: Request, returnedBy?: string): Node {
    const { log } = head;
    // The branch begins with the first of equal requests, so that the others are known by their forks.
    const nth = this.asked?.before(head, request) ?? 0;
    const free = nth === 0 && log.tip === head && (log.owner === undefined || log.owner === this) && log.open === 0;
    if (free && (this.mode !== "replay" || log.owner === this)) {
      if (this.mode !== "effects") this.own(log);
      return head;
    }
    // A program that asks for something else than it recorded is told so by its divergence.
    if (this.mode !== "replay") this.runtime.warnImplicit(head, this.recorded?.complete === false, returnedBy);
    const ordinal = this.ordinal(head, scope, "implicit");
    return this.#forked(head, { scope: this.scopeNow(scope), label: "", ordinal, implicit: true, nested: false }, head.by, { nth });
  }

  /** A labelled branch at a head, or the one recorded there. */
  fork(head: Node, within: Scope, label: string | undefined, by: string): Node {
    const ordinal = this.ordinal(head, within, `label ${label ?? ""}`);
    const scope = this.scopeNow(within);
    const id = forkId(this.runtime.platform, { session: head.log.id, head: head.id }, scope, `label ${label ?? ""}`, ordinal);
    return (
      this.recorded?.fork(id) ?? this.#forked(head, { scope, label: label ?? "", ordinal, implicit: false, nested: false }, by, { id })
    );
  }

  /** The branch that the inner work of an effect goes to. */
  child(called: Node, attempt: number, by: string): Node {
    const scope = { call: called.id, attempt };
    const id = forkId(this.runtime.platform, { session: called.log.id, head: called.id }, scope, "nested", 0);
    return this.recorded?.fork(id) ?? this.#forked(called, { scope, label: "", ordinal: 0, implicit: false, nested: true }, by, { id });
  }

  #forked(head: Node, fork: NonNullable<Log["fork"]>, by: string, { id, nth = 0 }: { readonly id?: string; readonly nth?: number }): Node {
    const { platform } = this.runtime;
    const log = new Log(id ?? forkId(platform, { session: head.log.id, head: head.id }, fork.scope, "implicit", fork.ordinal));
    log.fork = fork;
    if (this.mode === "replay") this.own(log);
    const marks = {
      ...(fork.implicit ? { implicit: true } : {}),
      ...(fork.nested ? { nested: true } : {}),
      ...(fork.label === "" ? {} : { label: fork.label }),
    };
    return link(this.runtime, {
      log,
      parents: [head],
      kind: "session.forked",
      data: { ...marks, ordinal: fork.ordinal, scope: fork.scope },
      by,
      pure: this.mode !== "effects",
      facts: facts({ past: (!fork.nested && this.#isPast(head)) || undefined, nth: nth === 0 ? undefined : nth }),
    });
  }

  /** It was already continued, and not by this run: whoever goes on from it goes on in the past. */
  #isPast(head: Node): boolean {
    if (head.log.tip === head) return false;
    return this.mode === "effects" || this.entered === undefined || !isAncestor(current(this.entered), head);
  }

  /** Counts equal names at one head and scope from 0; implicit forks on record have theirs already. */
  ordinal(head: Node, scope: Scope, name: string): number {
    const { recorded } = this;
    const isTaken = (ordinal: number) => name === "implicit" && recorded?.hasImplicit(head, this.scopeNow(scope), ordinal) === true;
    return this.#ordinals.take(head, scope, name, isTaken);
  }

  scopeNow(scope: Scope): Scope {
    return this.#ordinals.scopeNow(scope);
  }

  renamed(before: Node, now: Node): void {
    this.asked?.moved(before, now);
    this.#ordinals.renamed(before, now);
  }

  get newest(): Node | undefined {
    return this.#newest === undefined ? undefined : current(this.#newest);
  }
  set newest(node: Node | undefined) {
    this.#newest = node;
  }

  /** The branch the run goes on with: where it was entered, or the fork made because somebody else continued that. */
  get branch(): Log | undefined {
    return this.#branch ?? (this.entered === undefined ? undefined : current(this.entered).log);
  }
  movedTo(log: Log, fork: Log): void {
    if (log === this.branch) this.#branch = fork;
    if (this.#owned.has(log)) this.own(fork);
  }

  own(log: Log): void {
    if (log.owner === this) return;
    log.owner = this;
    this.#owned.add(log);
  }

  /** Takes an event into the run's order; it is written with the next commit. */
  record(node: Node): void {
    if (this.mode === "replay" || this.closed) return;
    // What closes a call on record is none of the program's.
    const closes = node.facts.closed === true && callOf(node).stored;
    if (node.log !== this.log && this.recorded?.complete === false && !closes) {
      // What a program asks for before it has asked for everything recorded may be a divergence: it is not written until it is none.
      this.#held.push(node);
      return;
    }
    this.#take(node);
  }
  #take(node: Node): void {
    this.writer.add(node);
    // What another run wrote is not what this one came to, though it be saved once more: its statements must not name it.
    if (node.log !== this.log && node.run === this.id) this.#newest = node;
    this.delivery.schedule();
  }

  /** Whoever watches gets every part from now on, until the function it was given back is called. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    this.watched ??= (part, call) => {
      for (const each of this.#watchers) each(part, call);
    };
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.watched = undefined;
    };
  }

  /** One more call that a rule has seen. */
  count(rule: object): number {
    const count = (this.#judged.get(rule) ?? 0) + 1;
    this.#judged.set(rule, count);
    return count;
  }

  /** Says that a call which had to wait begins now. */
  markStarted({ log }: Node, kind: EventKind, by: string, call: string | undefined): Node {
    const mark = link(this.runtime, { log, parents: [log.tip as Node], kind, data: {}, by, facts: facts({ call }) });
    this.record(mark);
    return mark;
  }

  /** Closes a recorded call that is not executed again. */
  closeRecorded(call: Node, outcome: OutcomeType, reason: string): void {
    const closed = link(this.runtime, {
      log: call.log,
      parents: [call.log.tip as Node],
      kind: `${call.kind.slice(0, call.kind.indexOf("."))}.returned` as EventKind,
      data: outcome === "unknown" ? {} : { reason },
      by: call.by,
      facts: facts({ outcome, closed: true, call: call.log.tip === call ? undefined : call.id }),
    });
    // No request of the program: it need not wait until all that was recorded is asked for.
    if (this.mode !== "replay" && !this.closed) this.#take(closed);
  }

  /** Says what the run began with. While that is not on disk it may be linked again, and what is said of it with it. */
  begin(input: Node, said: Omit<DataOf<"run.started">, "input">): void {
    if (!input.stored) input.log.followedBy(this.log);
    this.journal("run.started", { ...said, input: { session: input.log.id, head: input.id } });
    this.writer.add(input);
  }

  /** Adds to the run's own log. */
  journal(kind: EventKind, data: unknown): Node {
    const parents = this.log.tip === undefined ? [] : [this.log.tip];
    const node = link(this.runtime, { log: this.log, parents, kind, data, by: "runtime" });
    this.record(node);
    return node;
  }

  /** Resolves at once while live, else when everything recorded was asked for again. */
  gate(): Promise<void> | undefined {
    if (this.recorded === undefined || this.recorded.complete) return this.mode === "replay" ? this.#never() : undefined;
    return new Promise((resolve) => {
      this.#gate.push(resolve);
      this.stillness.watch();
    });
  }
  openGate(): void {
    if (this.mode === "replay") return;
    this.stillness.stop();
    for (const node of this.#held.splice(0)) this.record(current(node));
    for (const go of this.#gate.splice(0)) go();
  }

  /** In a replay a request that was not recorded waits until it is reported. */
  #never(): Promise<void> {
    this.stillness.watch();
    return new Promise(() => {});
  }

  #idle(): void {
    if (this.recorded !== undefined && !this.recorded.complete) this.stillness.watch();
    if (this.writer.pending && this.mode !== "replay") this.background();
    if (this.parkable) this.onParkable();
  }

  /** Every open effect waits for a person or a timer, or for one inside it that does. */
  get parkable(): boolean {
    const scopes = [...this.open].map(({ scope }) => this.scopeNow(scope));
    const around = new Set(scopes.map((scope) => ("call" in scope ? scope.call : "")));
    const open = [...this.open];
    return open.some((effect) => effect.waiting) && open.every((effect) => effect.waiting || effect.queued || around.has(effect.called.id));
  }

  /** Writes without anybody waiting; a failure shows at the next write that somebody waits for. */
  background(): void {
    this.writer.flush(this.runtime.relaxed).catch((error: unknown) => {
      this.runtime.warn(`A background write of run ${this.id} failed: ${textOfThrown(error)}`);
    });
  }

  /** Signs what was recorded so far when it has become much; the key is opened meanwhile if nobody needed it yet. */
  #sign(): void {
    if (!this.signer.due || this.newest === undefined) return;
    const { knownKey } = this.runtime;
    if (knownKey !== undefined) this.signer.state(knownKey, this.newest, "open");
    else void this.runtime.key();
  }

  /** Says something of the run's own and writes everything; says it again if a branch had moved meanwhile. */
  async sayLast<T>(say: () => T): Promise<T> {
    for (let tries = 1; ; tries++) {
      this.writer.retracted = false;
      const said = say();
      await this.#persist();
      if (!this.writer.retracted) return said;
      if (tries === 20)
        throw new RathError("store.conflict", `The branches of run ${this.id} are continued elsewhere faster than it can end: resume it.`, {
          retryable: true,
        });
    }
  }

  /** What a run must say is worth several tries. */
  async #persist(): Promise<void> {
    for (let wait = 20; ; wait *= 3) {
      try {
        return await this.writer.flush();
      } catch (error) {
        if (!RathError.is(error) || !error.retryable || wait > 2000) throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  fence(epoch: number): void {
    const stored = this.#newestStored();
    this.lost = fenced(this.id, epoch);
    this.close();
    this.#newest = stored;
    this.onLost(this.lost);
  }

  /** Said before its sandboxes are closed: what is killed with them must not count as what became of it. */
  leave(): void {
    this.leaving ??= new Promise((resolve) => {
      this.#left = resolve;
    });
  }

  /** Ends it here: effects are aborted, later verbs of its frames never resolve, its branches are free. Who called a workflow directly is told why. */
  close(gone?: Error): void {
    if (this.closed) return;
    this.closed = true;
    this.ending = true;
    this.#left();
    this.stillness.stop();
    this.delivery.close(this.mode === "effects", this.mode === "bare" ? gone : undefined);
    for (const effect of this.open) effect.abort("the run ended");
    void this.runtime.closeSandboxes(this, "the run ended").catch(() => {}); // who else still holds one: whoever ended in order said so before
    this.runtime.answers.drop(this);
    this.runtime.mailbox.drop(this);
    this.writer.abandon();
    // What was not written is forgotten with the frames that made it; who takes the run up here again reads what others wrote.
    if (this.mode === "run" && this.log.storedHead !== undefined) this.log.rewind();
    for (const log of this.#owned) {
      if (log.owner !== this) continue;
      log.owner = undefined;
      if (this.mode === "run" && log.storedHead !== undefined) log.rewind();
    }
  }

  #newestStored(): Node | undefined {
    let node = this.newest;
    while (node !== undefined && !node.stored) node = node.prior ?? node.parent;
    return node;
  }
}

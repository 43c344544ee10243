/**
 * What a run has recorded, as a driver for executing it again. A request is matched by kind and canonical data at its head:
 * first the log's own continuation, then the implicit fork that the same one of equal requests made. Results are delivered in
 * the recorded order. While anything is unclaimed the gate is closed and nothing goes live.
 */
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import { type Scope, type SessionId, sameScope } from "../session/id.ts";
import type { Log, Node } from "../session/log.ts";
import type { Totals } from "../session/session.ts";
import type { Request } from "./asked.ts";

export class Recorded {
  /** All program events of the run, in its order. */
  readonly events: readonly Node[];
  readonly #next = new Map<Node, Node>();
  readonly #implicit = new Map<Node, Node[]>();
  readonly #forks = new Map<SessionId, Node>();
  readonly #returns = new Map<Node, Node>();
  readonly #inside = new Map<string, Log[]>();
  readonly #started = new Map<Node, Node[]>();
  readonly #all: ReadonlySet<Node>;
  readonly #byLog = new Map<Log, Node[]>();
  readonly #claimed = new Set<Node>();
  readonly #skipped = new Set<Node>();
  readonly #deliveries: readonly Node[];
  readonly #textOf: (node: Node) => string;
  #cursor = 0;
  /** Called whenever something was claimed or delivered. */
  onProgress: () => void = () => {};
  /** Told of calls that are not made again, because what they are inside has a result. */
  onSkipped: (call: Node) => void = () => {};

  constructor(events: readonly Node[], textOf: (node: Node) => string) {
    this.events = events;
    this.#all = new Set(this.events);
    this.#textOf = textOf;
    for (const node of this.events) this.#index(node);
    this.#deliveries = this.events.filter((node) => isReturned(node.kind) && node.facts.closed !== true);
  }

  #index(node: Node): void {
    push(this.#byLog, node.log, node);
    if (node.kind === "session.detached" || node.kind === "session.forked") {
      this.#forks.set(node.log.id, node);
      const scope = scopeOf(node.log);
      if (scope !== undefined && "call" in scope) push(this.#inside, scope.call, node.log);
      const { parent } = node;
      if (node.log.fork?.implicit === true && parent !== undefined) push(this.#implicit, parent, node);
    } else if (node.prior !== undefined) this.#next.set(node.prior, node);
    if (isReturned(node.kind)) this.#returns.set(callOf(node), node);
    if (isStarted(node.kind)) push(this.#started, callOf(node), node);
  }

  get complete(): boolean {
    return this.#claimed.size === this.events.length;
  }
  get unclaimed(): readonly Node[] {
    return this.events.filter((node) => !this.#claimed.has(node));
  }
  has(node: Node): boolean {
    return this.#all.has(node);
  }
  /** Asked for again, not asked for because it lies inside something that has a result, or never come to. */
  stateOf(node: Node): "asked" | "inside" | "unclaimed" {
    return this.#skipped.has(node) ? "inside" : this.#claimed.has(node) ? "asked" : "unclaimed";
  }

  /**
   * The recorded event that this request is, claimed; the name of a workflow says who acts, not what. Undefined when it was not recorded at
   * this head. `nth` is how many equal ones were asked for there before it: of equal ones on record it is the one of which the same holds.
   */
  take(head: Node, scope: Scope, { kind, text }: Request, nth: number): Node | undefined {
    const equal = (node: Node | undefined): node is Node =>
      node !== undefined && node.kind === kind && !this.#claimed.has(node) && (kind === "workflow.entered" || this.#textOf(node) === text);
    const own = this.#next.get(head);
    if (equal(own)) return this.claim(own);
    let forked: Node | undefined;
    for (const fork of this.#forksAt(head, scope)) {
      const { nth: its = 0 } = fork.facts;
      // What came before all on record was not written: it caused no effect and led to none. Calls are written before what comes after them.
      if ((its > nth && !isCalled(kind)) || (forked !== undefined && its !== nth) || !equal(this.#next.get(fork))) continue;
      forked = fork;
      if (its === nth) break;
    }
    return forked && this.claim(this.#next.get(this.claim(forked)) as Node);
  }

  #forksAt(head: Node, scope: Scope): readonly Node[] {
    return (this.#implicit.get(head) ?? []).filter(({ log }) => log.fork !== undefined && sameScope(log.fork.scope, scope));
  }

  /** The recorded fork of this id, claimed. */
  fork(id: SessionId): Node | undefined {
    const forked = this.#forks.get(id);
    return forked === undefined ? undefined : this.claim(forked);
  }

  /** What the end of the run wrote itself: that its session goes on with this result. */
  adoption(result: Node): Node | undefined {
    const found = this.events.findLast(
      (node) => node.kind === "session.merged" && node.parent === result && this.#textOf(node).includes('"adopt":true'),
    );
    return found === undefined ? undefined : this.claim(found);
  }

  /** Whether an implicit fork of a head has this ordinal: new ones have others. */
  hasImplicit(head: Node, scope: Scope, ordinal: number): boolean {
    return this.#forksAt(head, scope).some(({ log }) => log.fork?.ordinal === ordinal);
  }

  /** The first event recorded after a head that nobody asked for again: the other side of a divergence. */
  after(head: Node): Node | undefined {
    return this.events.find((node) => node.parent === head && !this.#claimed.has(node));
  }

  returnOf(called: Node): Node | undefined {
    return this.#returns.get(called);
  }

  /** The newest mark that a call was started after it had to wait. */
  startOf(called: Node): Node | undefined {
    return this.#started.get(called)?.at(-1);
  }

  /** How often a call was started after it had to wait. */
  startsOf(called: Node): number {
    return this.#started.get(called)?.length ?? 0;
  }

  /** True when an effect without a result has recorded work inside. */
  hasInside(called: Node): boolean {
    return (this.#inside.get(called.id) ?? []).some((log) => this.#byLog.has(log));
  }

  /** The newest attempt that has recorded work inside an effect; what earlier ones did counts as claimed. */
  lastAttempt(called: Node): number {
    const logs = this.#inside.get(called.id) ?? [];
    const last = Math.max(1, ...logs.map(attemptOf));
    for (const log of logs) if (attemptOf(log) < last) this.#skip(log);
    return last;
  }

  /** What was spent inside an effect, however deep, in all attempts before one. */
  spentInside(called: Node, before = Number.POSITIVE_INFINITY): readonly (Totals | undefined)[] {
    return this.#insideBefore(called, before).flatMap((log) =>
      (this.#byLog.get(log) ?? []).flatMap((node) => (isCalled(node.kind) ? this.spentInside(node) : spentOn(node))),
    );
  }

  /** Where all attempts before one left their work, newest first. */
  headsInside(called: Node, before = Number.POSITIVE_INFINITY): readonly Node[] {
    const children = this.#insideBefore(called, before).filter((log) => log.fork?.nested === true);
    return children
      .sort((a, b) => attemptOf(b) - attemptOf(a))
      .flatMap((log) => (this.#byLog.get(log) ?? []).slice(-1))
      .filter((node) => node.kind !== "session.forked");
  }

  #insideBefore(called: Node, before: number): Log[] {
    return (this.#inside.get(called.id) ?? []).filter((log) => attemptOf(log) < before);
  }

  /** Counts everything recorded inside an effect, however deep, as claimed and delivered. */
  skipInside(called: Node): void {
    for (const log of this.#inside.get(called.id) ?? []) this.#skip(log);
  }

  #skip(log: Log): void {
    for (const node of this.#byLog.get(log) ?? []) {
      if (isCalled(node.kind) && !this.#claimed.has(node)) this.onSkipped(node);
      if (!this.#claimed.has(node)) this.#skipped.add(node);
      this.claim(node);
      if (isCalled(node.kind)) this.skipInside(node);
    }
  }

  claim(node: Node): Node {
    if (!this.#claimed.has(node)) {
      this.#claimed.add(node);
      // A result that was moved with its branch brings the fork it was moved to, and so does the end of a run.
      const moves = isReturned(node.kind) || node.kind === "session.merged";
      if (moves && node.prior?.kind === "session.forked") this.#claimed.add(node.prior);
      for (const started of this.#started.get(node) ?? []) this.#claimed.add(started);
      this.onProgress();
    }
    return node;
  }

  /** The next result to hand over, or undefined when all were. Skipped ones are passed over. */
  get nextDelivery(): Node | undefined {
    for (;;) {
      const next = this.#deliveries[this.#cursor];
      if (next === undefined || !this.#claimed.has(next)) return next;
      this.#cursor++;
    }
  }
}

/** Where a fork, or what was detached inside an effect, was made. */
export function scopeOf({ fork, within }: Log): Scope | undefined {
  return fork?.scope ?? within;
}

function attemptOf(log: Log): number {
  const scope = scopeOf(log);
  return scope !== undefined && "attempt" in scope ? scope.attempt : 1;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** What a result took by itself; undefined where a model answered without saying. One that was reused took nothing. */
export function spentOn({ kind, facts: { usage, outcome, source } }: Node): readonly (Totals | undefined)[] {
  if (usage !== undefined) return [usage];
  return kind === "model.returned" && outcome === "ok" && source === undefined ? [undefined] : [];
}

/**
 * State is a fold over events: `step(state, event)` gives the next state, sharing all that did not change, so that an event
 * costs what is new. Places keep their state; lists are chains that views turn into arrays when somebody looks.
 * Conversation, checks and placement follow first parents and merges; usage follows all parents.
 */
import { type Chain, chain, isPrefix, joined, linked, list, suffix } from "./chain.ts";
import { type EventKind, isCalled, isReturned, isStarted } from "./event.ts";
import { ancestorsOf, isAncestor, type Log, type Node } from "./log.ts";
import type { Totals } from "./session.ts";

export { type Chain, list } from "./chain.ts";

export interface State {
  /** Events that carry conversation. */
  readonly talk: Chain | undefined;
  /** What a model reads: the conversation, with one link for all that a merge brought. */
  readonly context: Chain | undefined;
  readonly checks: Chain | undefined;
  /** Results of tools. */
  readonly calls: Chain | undefined;
  readonly routes: Chain | undefined;
  /** What was recalled. */
  readonly reads: Chain | undefined;
  /** What was remembered and forgotten, and merges that settled between two writes. */
  readonly writes: Chain | undefined;
  /** What made a model read less than was said, or all of it again. */
  readonly compressed: Chain | undefined;
  /** The first event that brought text from outside here. */
  readonly tainted: Node | undefined;
  /** In a fork from the past: the newest event before it that read memory. */
  readonly asOf: Node | undefined;
  /** The newest thing a model said, and why the newest agent stopped. */
  readonly said: Node | undefined;
  readonly stopped: Node | undefined;
  /** How many model calls each agent has made on this line. */
  readonly turns: Readonly<Record<string, number>>;
  /** Calls of this branch that have no result yet; one that had to wait is listed under its newest `started`. */
  readonly open: readonly Node[];
  /** Calls that were open where this branch forked; they belong to the branch that made them. */
  readonly inherited: readonly Node[];
  /** The newest result, good or bad. */
  readonly output: Node | undefined;
  readonly placement: Node | undefined;
  /** The placement that named the directory whose files these are. */
  readonly base: Node | undefined;
  /** The newest event whose data names the tree of files; none before they were first used. */
  readonly files: Node | undefined;
  /** The newest result that acted where the branch is placed. */
  readonly acted: Node | undefined;
  /** Results that say of background processes that they began or ended. */
  readonly processes: Chain | undefined;
  readonly rejected: Node | undefined;
  /** Some of the conversation came by reference from a session that is no ancestor. */
  readonly borrowed: boolean;
  readonly usage: Totals;
  /** Of this log alone. */
  readonly own: Totals;
}

export const nothing: Totals = Object.freeze({ input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 });
const none: readonly Node[] = Object.freeze([]);
const empty: State = Object.freeze({
  talk: undefined,
  context: undefined,
  checks: undefined,
  calls: undefined,
  routes: undefined,
  reads: undefined,
  writes: undefined,
  compressed: undefined,
  tainted: undefined,
  asOf: undefined,
  said: undefined,
  stopped: undefined,
  turns: Object.freeze({}),
  open: none,
  inherited: none,
  output: undefined,
  placement: undefined,
  base: undefined,
  files: undefined,
  acted: undefined,
  processes: undefined,
  rejected: undefined,
  borrowed: false,
  usage: nothing,
  own: nothing,
});

/** How many events in a row may be folded again for the state between them. */
const kept = 32;

/** The state at a place, computed from the nearest places that know theirs; parents first, without recursion. */
export function stateOf(node: Node): State {
  const waiting: Node[] = node.state === undefined ? [node] : [];
  for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
    // Most of a log is a straight line: back along it, then forth.
    const line: Node[] = [];
    let at = next;
    while (at.state === undefined && at.parents.length === 1 && at.prior === at.parents[0]) {
      line.push(at);
      at = at.prior as Node;
    }
    // Where logs begin and meet.
    const missing = at.state === undefined ? needs(at).filter((place) => place.state === undefined) : [];
    if (missing.length > 0) {
      waiting.push(...missing);
      continue;
    }
    at.state ??= step(foundation(at), at);
    let state = at.state as State;
    // A long line that nobody walks place by place keeps some states on the way; from those the others are made when somebody looks.
    const every = line.length > kept ? kept : 1;
    for (let index = line.length - 1; index >= 0; index--) {
      const place = line[index] as Node;
      state = step(state, place);
      if (index % every === 0) place.state = state;
    }
    waiting.pop();
  }
  return node.state as State;
}

/** The places whose state must be known before this one's. */
function needs(node: Node): readonly Node[] {
  const places = new Set(node.parents);
  if (node.prior !== undefined) places.add(node.prior);
  else if (node.log.origin !== undefined) places.add(node.log.origin);
  return [...places];
}

/** What the event builds on: its first parent's state or a detached session's content, with this log's own usage so far. */
function foundation(node: Node): State {
  const own = node.prior === undefined ? nothing : (node.prior.state as State).own;
  if (node.parent !== undefined) {
    const state = node.parent.state as State;
    return state.own === own ? state : { ...state, own };
  }
  const origin = node.log.origin?.state as State | undefined;
  return origin === undefined
    ? empty
    : { ...origin, open: none, inherited: none, processes: undefined, rejected: undefined, borrowed: true, usage: nothing, own: nothing };
}

/** The next state. */
function step(state: State, node: Node): State {
  const next: Draft = { ...state };
  count(next, node);
  turn(next, node);
  const { acted, files, processes } = node.facts;
  if ((acted === undefined && files === undefined) || node.kind === "placement.changed") return next;
  if (acted !== undefined) next.acted = node;
  if (files !== undefined) next.files = node;
  if (processes !== undefined) next.processes = chain(node, next.processes);
  return next;
}

/** A state that nobody has seen yet: one copy for each event, however much of it changes. */
type Draft = { -readonly [K in keyof State]: State[K] };

function turn(next: Draft, node: Node): void {
  const kind: EventKind = node.kind;
  switch (kind) {
    case "session.created":
    case "session.detached":
    case "note.added":
    case "record.linked":
    case "workflow.entered":
    case "workflow.left":
    case "run.started":
    case "run.resumed":
    case "run.spawned":
    case "run.asked":
    case "run.forked":
    case "run.parked":
    case "run.ended":
    case "run.signed":
    case "sandbox.opened":
    case "sandbox.closed":
    case "workspace.captured":
    case "memory.published":
    case "budget.crossed":
    case "answer.given":
    case "signal.sent":
    case "data.erased":
      return;
    case "session.imported":
      // Others wrote all that follows.
      next.tainted ??= node;
      return;
    case "message.added":
      say(next, node);
      taint(next, node, node.facts.outside === true);
      next.stopped = undefined;
      next.rejected = undefined;
      return;
    case "session.forked":
      next.inherited = inherit(next, node);
      next.open = none;
      // A background process belongs to the branch that started it.
      next.processes = undefined;
      next.rejected = undefined;
      if (node.facts.past === true) next.asOf = newestOf(next.reads, next.writes);
      return;
    case "session.merged":
      merge(next, node);
      return;
    case "session.rejected":
      next.rejected = node;
      return;
    case "placement.changed":
      next.placement = node;
      next.acted = undefined;
      // One that names a directory begins anew; another one takes the files along.
      if (node.facts.files !== true) return;
      next.base = node;
      next.files = undefined;
      return;
    case "do.called":
    case "check.called":
    case "ask.called":
    case "wait.called":
    case "receive.called":
    case "tool.called":
    case "route.called":
    case "recall.called":
    case "remember.called":
    case "forget.called":
      call(next, node);
      return;
    case "model.called":
      call(next, node);
      next.stopped = undefined;
      next.turns = { ...next.turns, [node.by]: turnsOf(next, node.by) + 1 };
      return;
    case "do.started":
    case "tool.started": {
      const called = callOf(node);
      next.open = next.open.map((open) => (callUnder(open) === called ? node : open));
      return;
    }
    case "do.returned":
      close(next, node);
      takeIn(next, node);
      next.output = node;
      return;
    case "ask.returned":
    case "receive.returned":
      close(next, node);
      next.output = node;
      return;
    case "check.returned":
      close(next, node);
      next.checks = chain(node, next.checks);
      return;
    case "wait.returned":
      close(next, node);
      return;
    case "model.returned":
      close(next, node);
      next.output = node;
      if (node.facts.outcome !== "ok") return;
      say(next, node);
      taint(next, node, node.facts.outside === true);
      next.said = node;
      return;
    case "tool.returned":
      close(next, node);
      say(next, node);
      takeIn(next, node);
      next.calls = chain(node, next.calls);
      taint(next, node, node.facts.trusted !== true);
      next.output = node;
      return;
    case "recall.returned":
      close(next, node);
      next.output = node;
      if (node.facts.outcome !== "ok") return;
      // In the past, what was read last is read again.
      if (next.asOf !== undefined) next.asOf = node;
      // Whoever recalled it may have made anything of it that comes after.
      taint(next, node, node.facts.trusted !== true);
      next.reads = chain(node, next.reads);
      if (node.facts.injected === true) next.context = chain(node, next.context);
      return;
    case "remember.returned":
    case "forget.returned":
      close(next, node);
      if (node.facts.outcome === "ok") next.writes = chain(node, next.writes);
      return;
    case "context.compressed":
      next.context = chain(node, next.context);
      next.compressed = chain(node, next.compressed);
      return;
    case "route.returned":
      close(next, node);
      next.routes = chain(node, next.routes);
      next.output = node;
      return;
    case "agent.stopped":
      next.stopped = node;
      next.output = node;
      return;
    default:
      kind satisfies never;
  }
}

/** What an event brings may be text from outside. */
function taint(next: Draft, node: Node, outside: boolean): void {
  if (outside) next.tainted ??= node;
}

/** What was recalled and remembered inside an effect that went well belongs to the branch that called it; an attempt that failed leaves nothing. */
function takeIn(next: Draft, node: Node): void {
  if (node.parents.length < 2 || node.facts.outcome !== "ok") return;
  const called = callOf(node).id;
  const inner = node.parents.slice(1).find((parent) => {
    const scope = parent.log.fork?.scope;
    return scope === undefined || !("call" in scope) || scope.call !== called || scope.attempt >= (node.facts.attempts ?? 1);
  });
  const theirs = inner?.state as State | undefined;
  if (theirs === undefined) return;
  next.reads = joined(next.reads, theirs.reads);
  // A rejected branch teaches nothing.
  if (theirs.rejected === undefined) next.writes = joined(next.writes, theirs.writes);
}

function newestOf(a: Chain | undefined, b: Chain | undefined): Node | undefined {
  if (a === undefined || b === undefined) return (a ?? b)?.node;
  return a.node.step >= b.node.step ? a.node : b.node;
}

/** How many model calls an agent has made; one may be named like what every object has. */
export function turnsOf({ turns }: State, by: string): number {
  return Object.hasOwn(turns, by) ? (turns[by] as number) : 0;
}

/** The call that a result belongs to: named in its facts inside a batch, else the one before it, in the branch it was moved from if need be. */
export function callOf(returned: Node): Node {
  const named = returned.facts.call;
  for (let node = returned.parent; node !== undefined; node = node.prior ?? node.parent) {
    if (named === undefined ? isCalled(node.kind) : node.id === named) return node;
  }
  throw new Error(`${returned.kind} ${returned.id} has no call before it`);
}

/** Adds an event to what was said and to what a model reads. */
function say(next: Draft, node: Node): void {
  next.talk = chain(node, next.talk);
  next.context = chain(node, next.context);
}

/** Results of one round lie in the order they came; people and models read them in the order of their calls. */
export function inCallOrder(nodes: readonly Node[]): Node[] {
  const ordered: Node[] = [];
  for (let from = 0; from < nodes.length; ) {
    let to = from + 1;
    const first = nodes[from] as Node;
    if (first.kind === "tool.returned") while (nodes[to]?.kind === "tool.returned" && nodes[to]?.log === first.log) to++;
    const round = nodes.slice(from, to);
    ordered.push(...(round.length > 1 ? round.sort((a, b) => callOf(a).seq - callOf(b).seq) : round));
    from = to;
  }
  return ordered;
}

function call(next: Draft, node: Node): void {
  next.open = [...next.open, node];
  next.rejected = undefined;
}

function close(next: Draft, node: Node): void {
  const called = callOf(node);
  const others = (marks: readonly Node[]): readonly Node[] =>
    marks.some((mark) => callUnder(mark) === called) ? marks.filter((mark) => callUnder(mark) !== called) : marks;
  next.open = others(next.open);
  next.inherited = others(next.inherited);
}

/** An open effect is listed under its call, or under the mark that it was started after waiting. */
export function callUnder(mark: Node): Node {
  return isStarted(mark.kind) ? callOf(mark) : mark;
}

function inherit(state: State, node: Node): readonly Node[] {
  const scope = node.log.fork?.scope;
  const inside = scope !== undefined && "call" in scope ? scope.call : undefined;
  return [...state.inherited, ...state.open].filter((open) => callUnder(open).id !== inside);
}

/** The receiver's own, then what each further parent has that is not there yet, in their order. An adopting merge follows its first parent alone. */
function merge(next: Draft, node: Node): void {
  const [first, ...others] = node.parents;
  next.rejected = undefined;
  if (first === undefined || node.prior !== first) {
    next.open = none;
    return;
  }
  const before: State = { ...next };
  next.stopped = undefined;
  next.borrowed ||= others.some((other) => (other.state as State).borrowed);
  const shown = next.borrowed ? new Set(merged.flatMap((of) => list(before[of]))) : undefined;
  const taken: Node[] = [first];
  for (const other of others) {
    const theirs = other.state as State;
    for (const of of merged) {
      // A rejected branch teaches nothing.
      if (of === "writes" && theirs.rejected !== undefined) continue;
      for (const candidate of suffix(theirs[of], before[of])) {
        if (shown?.has(candidate) || taken.some((place) => isAncestor(candidate, place))) continue;
        next[of] = linked(candidate, next[of]);
      }
    }
    next.tainted ??= theirs.tainted ?? resultOfCode(theirs);
    if (shown !== undefined) for (const of of merged) for (const node of list(theirs[of])) shown.add(node);
    taken.push(other);
  }
  const only = others.length === 1 ? (others[0]?.state as State) : undefined;
  // A receiver that said nothing since the branches parted reads what the other one read.
  if (only !== undefined && isPrefix(before.context, only.context)) {
    next.context = only.context;
    next.said = only.said;
    next.compressed = only.compressed;
  } else next.context = chain(node, before.context);
  // A receiver that was never placed takes the place of the branch it takes in.
  const placed = before.placement === undefined ? others.map((other) => other.state as State).find((other) => other.placement) : undefined;
  if (placed !== undefined) {
    next.placement = placed.placement;
    next.base = placed.base;
    next.files = placed.files;
  }
  // The merge itself may say which of two writes holds.
  if (node.facts.memory === true) next.writes = chain(node, next.writes);
}

/** What a merge brings of its branches. */
const merged = ["talk", "checks", "calls", "routes", "reads", "writes"] as const;

/** Where a branch ended with a result of user code, that is its answer, which models read after the merge. */
function resultOfCode({ output }: State): Node | undefined {
  return output?.kind === "do.returned" && output.facts.outcome === "ok" ? output : undefined;
}

function count(next: Draft, node: Node): void {
  if (node.parents.length > 1) next.usage = joinedUsage(next, node);
  const { usage } = node.facts;
  if (usage === undefined || !(isReturned(node.kind) || node.kind === "session.imported")) return;
  next.usage = addTotals(next.usage, usage);
  next.own = addTotals(next.own, usage);
}

/** Every ancestor once: what the further parents know that the first does not, log by log. */
function joinedUsage(state: State, node: Node): Totals {
  let total = state.usage;
  let known = ancestorsOf(node.parents[0] as Node);
  for (const other of node.parents.slice(1)) {
    const theirs = ancestorsOf(other);
    for (const { key: log, newest, before } of theirs.since(known)) {
      // A replay goes on with a branch in a log of its own, which begins where the recorded one is left.
      for (let at = placeIn(log, newest); at?.log === log && at.seq > before; at = at.prior) {
        if (at.facts.usage !== undefined) total = addTotals(total, at.facts.usage);
      }
    }
    known = known.join(theirs);
  }
  return total;
}

function placeIn(log: Log, seq: number): Node | undefined {
  let node = log.tip;
  while (node !== undefined && node.seq > seq) node = node.prior;
  return node;
}

export function addTotals(a: Totals, b: Totals): Totals {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
    usd: a.usd + b.usd,
  };
}

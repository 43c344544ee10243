/**
 * State is a fold over events: `step(state, event)` gives the next state, sharing all that did not change, so that an event
 * costs what is new. Places keep their state; lists are chains that views turn into arrays when somebody looks.
 * Conversation, checks and placement follow first parents and merges; usage follows all parents.
 */
import { type EventKind, isCalled, isReturned, isStarted } from "./event.ts";
import { ancestorsOf, isAncestor, type Log, type Node } from "./log.ts";
import type { Totals } from "./session.ts";

/** A chain, newest first. */
export interface Chain {
  readonly node: Node;
  readonly before: Chain | undefined;
  readonly length: number;
}

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
  open: [],
  inherited: [],
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
    for (let index = line.length - 1; index >= 0; index--) {
      const place = line[index] as Node;
      state = step(state, place);
      place.state = state;
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
    : { ...origin, open: [], inherited: [], processes: undefined, rejected: undefined, borrowed: true, usage: nothing, own: nothing };
}

/** The next state. Returns the same object for events that change nothing. */
function step(state: State, node: Node): State {
  const counted = count(state, node);
  const kind: EventKind = node.kind;
  const { acted, files, processes } = node.facts;
  if ((acted === undefined && files === undefined) || kind === "placement.changed") return turn(counted, node, kind);
  const next = turn(counted, node, kind);
  return {
    ...next,
    acted: acted === undefined ? next.acted : node,
    files: files === undefined ? next.files : node,
    processes: processes === undefined ? next.processes : chain(node, next.processes),
  };
}

function turn(counted: State, node: Node, kind: EventKind): State {
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
      return counted;
    case "session.imported":
      // Others wrote all that follows.
      return { ...counted, tainted: counted.tainted ?? node };
    case "message.added":
      return { ...spoken(counted, node), tainted: taintedBy(counted, node), stopped: undefined, rejected: undefined };
    case "session.forked":
      // A background process belongs to the branch that started it.
      return {
        ...counted,
        open: [],
        inherited: inherit(counted, node),
        processes: undefined,
        rejected: undefined,
        asOf: node.facts.past === true ? newestOf(counted.reads, counted.writes) : counted.asOf,
      };
    case "session.merged":
      return merge(counted, node);
    case "session.rejected":
      return { ...counted, rejected: node };
    case "placement.changed":
      // One that names a directory begins anew; another one takes the files along.
      return node.facts.files === true
        ? { ...counted, placement: node, base: node, files: undefined, acted: undefined }
        : { ...counted, placement: node, acted: undefined };
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
      return { ...counted, open: [...counted.open, node], rejected: undefined };
    case "model.called": {
      const turns = { ...counted.turns, [node.by]: turnsOf(counted, node.by) + 1 };
      return { ...counted, open: [...counted.open, node], rejected: undefined, stopped: undefined, turns };
    }
    case "do.started":
    case "tool.started": {
      const call = callOf(node);
      return { ...counted, open: counted.open.map((open) => (callUnder(open) === call ? node : open)) };
    }
    case "do.returned":
      return { ...within(close(counted, node), node), output: node };
    case "ask.returned":
    case "receive.returned":
      return { ...close(counted, node), output: node };
    case "check.returned":
      return { ...close(counted, node), checks: chain(node, counted.checks) };
    case "wait.returned":
      return close(counted, node);
    case "model.returned": {
      const closed = { ...close(counted, node), output: node };
      return node.facts.outcome === "ok" ? { ...spoken(closed, node), tainted: taintedBy(counted, node), said: node } : closed;
    }
    case "tool.returned":
      return {
        ...within(spoken(close(counted, node), node), node),
        calls: chain(node, counted.calls),
        tainted: node.facts.trusted === true ? counted.tainted : (counted.tainted ?? node),
        output: node,
      };
    case "recall.returned": {
      const closed = { ...close(counted, node), output: node };
      if (node.facts.outcome !== "ok") return closed;
      // In the past, what was read last is read again.
      const asOf = closed.asOf === undefined ? undefined : node;
      // Whoever recalled it may have made anything of it that comes after.
      const tainted = node.facts.trusted === true ? closed.tainted : (closed.tainted ?? node);
      const read = { ...closed, asOf, tainted, reads: chain(node, closed.reads) };
      return node.facts.injected === true ? { ...read, context: chain(node, read.context) } : read;
    }
    case "remember.returned":
    case "forget.returned": {
      const closed = close(counted, node);
      return node.facts.outcome === "ok" ? { ...closed, writes: chain(node, closed.writes) } : closed;
    }
    case "context.compressed":
      return { ...counted, context: chain(node, counted.context), compressed: chain(node, counted.compressed) };
    case "route.returned":
      return { ...close(counted, node), routes: chain(node, counted.routes), output: node };
    case "agent.stopped":
      return { ...counted, stopped: node, output: node };
    default:
      return kind satisfies never;
  }
}

/** What a reply or a message says may be text from outside. */
function taintedBy({ tainted }: State, node: Node): Node | undefined {
  return tainted ?? (node.facts.outside === true ? node : undefined);
}

/** What was recalled and remembered inside an effect that went well belongs to the branch that called it; an attempt that failed leaves nothing. */
function within(state: State, node: Node): State {
  if (node.parents.length < 2 || node.facts.outcome !== "ok") return state;
  const call = callOf(node).id;
  const inner = node.parents.slice(1).find((parent) => {
    const scope = parent.log.fork?.scope;
    return scope === undefined || !("call" in scope) || scope.call !== call || scope.attempt >= (node.facts.attempts ?? 1);
  });
  const theirs = inner?.state as State | undefined;
  if (theirs === undefined) return state;
  // A rejected branch teaches nothing.
  const writes = theirs.rejected === undefined ? joined(state.writes, theirs.writes) : state.writes;
  return { ...state, reads: joined(state.reads, theirs.reads), writes };
}

function joined(ours: Chain | undefined, theirs: Chain | undefined): Chain | undefined {
  let all = ours;
  for (const node of suffix(theirs, ours)) all = chain(node, all);
  return all;
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
function spoken(state: State, node: Node): State {
  return { ...state, talk: chain(node, state.talk), context: chain(node, state.context) };
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

/** From a chain to an array, oldest first. */
export function list(chain: Chain | undefined): Node[] {
  const nodes = new Array<Node>(chain?.length ?? 0);
  for (let link = chain; link !== undefined; link = link.before) nodes[link.length - 1] = link.node;
  return nodes;
}

function chain(node: Node, before: Chain | undefined): Chain {
  return { node, before, length: (before?.length ?? 0) + 1 };
}

function close(state: State, node: Node): State {
  const call = callOf(node);
  const inherited = state.inherited.length === 0 ? state.inherited : state.inherited.filter((open) => callUnder(open) !== call);
  return { ...state, open: state.open.filter((open) => callUnder(open) !== call), inherited };
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
function merge(state: State, node: Node): State {
  const [first, ...others] = node.parents;
  if (first === undefined || node.prior !== first) return { ...state, open: [], rejected: undefined };
  let { talk, checks, calls, routes, reads, writes, tainted } = state;
  const taken: Node[] = [first];
  const borrowed = state.borrowed || others.some((other) => (other.state as State).borrowed);
  const shown = borrowed ? new Set([talk, checks, calls, routes, reads, writes].flatMap(list)) : undefined;
  for (const other of others) {
    const theirs = other.state as State;
    const join = (ours: Chain | undefined, of: "talk" | "checks" | "calls" | "routes" | "reads" | "writes"): Chain | undefined => {
      let joined = ours;
      for (const candidate of suffix(theirs[of], state[of])) {
        if (shown?.has(candidate) || taken.some((place) => isAncestor(candidate, place))) continue;
        joined = chain(candidate, joined);
      }
      return joined;
    };
    talk = join(talk, "talk");
    checks = join(checks, "checks");
    calls = join(calls, "calls");
    routes = join(routes, "routes");
    reads = join(reads, "reads");
    // A rejected branch teaches nothing.
    if (theirs.rejected === undefined) writes = join(writes, "writes");
    tainted ??= theirs.tainted ?? resultOfCode(theirs);
    if (shown !== undefined)
      for (const of of [theirs.talk, theirs.checks, theirs.calls, theirs.routes, theirs.reads, theirs.writes])
        for (const node of list(of)) shown.add(node);
    taken.push(other);
  }
  const only = others.length === 1 ? (others[0]?.state as State) : undefined;
  // A receiver that said nothing since the branches parted reads what the other one read.
  const verbatim = only !== undefined && isPrefix(state.context, only.context);
  const context = verbatim ? only.context : chain(node, state.context);
  const said = verbatim ? only.said : state.said;
  // A receiver that was never placed takes the place of the branch it takes in.
  const placed = state.placement === undefined ? others.map((other) => other.state as State).find((other) => other.placement) : undefined;
  const where = placed === undefined ? {} : { placement: placed.placement, base: placed.base, files: placed.files };
  // The merge itself may say which of two writes holds.
  if (node.facts.memory === true) writes = chain(node, writes);
  const compressed = verbatim ? only.compressed : state.compressed;
  return {
    ...state,
    ...where,
    talk,
    context,
    said,
    checks,
    calls,
    routes,
    reads,
    writes,
    compressed,
    tainted,
    borrowed,
    rejected: undefined,
    stopped: undefined,
  };
}

/** Where a branch ended with a result of user code, that is its answer, which models read after the merge. */
function resultOfCode({ output }: State): Node | undefined {
  return output?.kind === "do.returned" && output.facts.outcome === "ok" ? output : undefined;
}

/** True when one chain goes on where another ended. */
function isPrefix(short: Chain | undefined, long: Chain | undefined): boolean {
  let at = long;
  while (at !== undefined && at.length > (short?.length ?? 0)) at = at.before;
  return at === short;
}

/** What one chain has since it parted from another, oldest first: forks share their links, so this costs what is new. */
function suffix(theirs: Chain | undefined, ours: Chain | undefined): Node[] {
  const fresh: Node[] = [];
  let [a, b] = [theirs, ours];
  while (a !== undefined && a !== b) {
    if (b !== undefined && b.length > a.length) b = b.before;
    else {
      fresh.push(a.node);
      if (b !== undefined && b.length === a.length) b = b.before;
      a = a.before;
    }
  }
  return fresh.reverse();
}

function count(state: State, node: Node): State {
  const usage = isReturned(node.kind) || node.kind === "session.imported" ? node.facts.usage : undefined;
  const joined = node.parents.length > 1 ? joinedUsage(state, node) : state.usage;
  if (usage === undefined) return joined === state.usage ? state : { ...state, usage: joined };
  return { ...state, usage: addTotals(joined, usage), own: addTotals(state.own, usage) };
}

/** Every ancestor once: what the further parents know that the first does not, log by log. */
function joinedUsage(state: State, node: Node): Totals {
  let total = state.usage;
  let known = ancestorsOf(node.parents[0] as Node);
  for (const other of node.parents.slice(1)) {
    const theirs = ancestorsOf(other);
    for (const { key: log, newest, before } of theirs.since(known)) {
      for (let at = placeIn(log, newest); at !== undefined && at.seq > before; at = at.prior) {
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

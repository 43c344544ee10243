/** A branch was continued by somebody else before what we made was written: our part becomes an implicit fork of the last common event. */
import { withTrees } from "../session/acted.ts";
import { renamed } from "../session/context.ts";
import { stateOf } from "../session/fold.ts";
import { forkId, type Scope } from "../session/id.ts";
import { SharedText } from "../session/json.ts";
import { current, Log, type Node, placesBefore } from "../session/log.ts";
import { digestOf } from "../session/request.ts";
import { type Linking, link } from "./link.ts";
import type { Services } from "./services.ts";

/** What moved, by the events as they were and by their ids. */
class Moved {
  readonly #nodes = new Map<Node, Node>();
  readonly #ids = new Map<string, Node>();

  set(node: Node, to: Node): void {
    this.#nodes.set(node, to);
    this.#ids.set(node.id, to);
  }
  get(node: Node): Node | undefined {
    return this.#nodes.get(node);
  }
  byId(id: string | undefined): Node | undefined {
    return id === undefined ? undefined : this.#ids.get(id);
  }
  scope(scope: Scope): Scope {
    return "call" in scope ? { ...scope, call: this.byId(scope.call)?.id ?? scope.call } : scope;
  }
}

/** Counts the implicit forks of a place. */
type Ordinal = (base: Node, scope: Scope) => number;

/**
 * Links unwritten events of `log` again, and whatever stands on them; the given ones come back in their new form, the fork's first
 * event before them.
 */
export function relink(runtime: Services, log: Log, nodes: readonly Node[], runScope: Scope, ordinalAt: Ordinal): Node[] {
  const { platform } = runtime;
  const ours = lineOf(log, nodes);
  const base = ours[0]?.prior as Node;
  // Work inside an effect stays inside it, so that a resumed program finds it there; what others hold of it is theirs.
  const atEnd = ours.at(-1) === log.tip;
  const scope = atEnd && log.owner !== undefined && log.fork !== undefined && "call" in log.fork.scope ? log.fork.scope : runScope;
  const ordinal = ordinalAt(base, scope);
  const fork = new Log(forkId(platform, { session: log.id, head: base.id }, scope, "implicit", ordinal));
  fork.fork = { scope, label: "", ordinal, implicit: true, nested: false };
  // Whoever works on the log goes on with the fork; what lies beside its end is nobody's.
  if (atEnd) log.owner?.movedTo(log, fork);
  fork.movedFrom = log;
  const first = link(runtime, {
    log: fork,
    parents: [base],
    kind: "session.forked",
    data: { implicit: true, ordinal, scope },
    by: base.by,
    pure: true,
  });

  const moved = new Moved();
  const homes = new Map([[log, fork]]);
  const again = (node: Node): void => {
    if (node.prior === undefined) homes.set(node.log, homeOf(runtime, node, moved));
    const target = homes.get(node.log) ?? node.log;
    const parents = node.parents.map((parent) => moved.get(parent) ?? (parent === base && target === fork ? first : parent));
    const next = link(runtime, {
      log: target,
      parents,
      kind: node.kind,
      by: node.by,
      facts: factsOf(node, moved),
      at: node.at,
      ...contentOf(runtime, node, parents, moved),
    });
    next.run = node.run;
    next.order = node.order;
    next.queued = node.queued;
    node.moved = next;
    node.queued = undefined;
    moved.set(node, next);
    node.log.owner?.renamed(node, next);
  };

  const others = standingOn(runtime, log, ours, nodes);
  if (atEnd) log.rewind(base);
  for (const line of others.values()) line[0]?.log.rewind(line[0].prior);
  log.catchUp();
  for (const node of inOrder([...ours, ...[...others.values()].flat()])) again(node);
  return [first, ...nodes.map((node) => moved.get(node) ?? node)];
}

/**
 * Where a log goes that begins on something that moved. What a workflow made is named by where it was made, so that it finds it there when
 * it is executed again; what others hold keeps its name.
 */
function homeOf({ platform, effects }: Services, first: Node, moved: Moved): Log {
  const { log } = first;
  const { fork } = log;
  const from = fork === undefined ? log.origin : first.parent;
  const made = fork ?? log.detached;
  if (from === undefined || made === undefined) return log;
  const to = moved.get(from) ?? from;
  if (log.origin !== undefined) log.origin = to;
  if ("run" in made.scope && made.scope.run === effects.id) return log;
  const scope = moved.scope(made.scope);
  const name = fork === undefined ? "detach" : fork.implicit ? "implicit" : fork.nested ? "nested" : `label ${fork.label}`;
  const home = new Log(forkId(platform, { session: to.log.id, head: to.id }, scope, name, made.ordinal));
  home.fork = fork && { ...fork, scope };
  home.detached = log.detached && { ...log.detached, scope };
  home.origin = log.origin;
  home.within = log.within && scope;
  home.about = log.about;
  log.owner?.movedTo(log, home);
  return home;
}

/** Links one event again whose parents have moved: behind its prior where that is the end of its log now, else as a fork of it. */
export function linkAgain(runtime: Services, node: Node, scope: Scope, ordinalAt: Ordinal): Node {
  const moved = new Moved();
  const behind = [...placesBefore(node)];
  for (const place of behind) {
    if (place.moved === undefined) continue;
    moved.set(place, current(place));
    behind.push(...placesBefore(place));
  }
  const { prior, log } = node;
  const before = prior && current(prior);
  const isHeld = log.tip?.atStep(node.step) === node;
  if (isHeld) log.rewind(prior);
  let place = before;
  if (before !== undefined && (before.log.tip !== before || before.log.owner !== undefined)) {
    const ordinal = ordinalAt(before, scope);
    const fork = new Log(forkId(runtime.platform, { session: before.log.id, head: before.id }, scope, "implicit", ordinal));
    fork.fork = { scope, label: "", ordinal, implicit: true, nested: false };
    const data = { implicit: true, ordinal, scope };
    place = link(runtime, { log: fork, parents: [before], kind: "session.forked", data, by: before.by, pure: true });
  }
  const target = place?.log ?? log;
  if (prior === undefined && log.origin !== undefined) log.origin = current(log.origin);
  const parents = node.parents.map((parent) => (parent === prior && place !== undefined ? place : current(parent)));
  const facts = factsOf(node, moved);
  const next = link(runtime, {
    log: target,
    parents,
    kind: node.kind,
    by: node.by,
    facts,
    at: node.at,
    ...contentOf(runtime, node, parents, moved),
  });
  node.moved = next;
  return next;
}

/** What an event stands on comes before it. What a run says of itself names the others, and comes last. */
function inOrder(nodes: readonly Node[]): Iterable<Node> {
  const moving = new Set(nodes);
  const done = new Set<Node>();
  const runs = (node: Node): number => (node.log.kind === "run" ? 1 : 0);
  // Mostly the steps tell; a detached session begins with the first.
  const path = [...nodes].sort((a, b) => runs(b) - runs(a) || b.step - a.step);
  for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
    const before = placesBefore(node).filter((place) => moving.has(place) && !done.has(place));
    if (before.length > 0 && !done.has(node)) path.push(...before);
    else done.add(path.pop() as Node);
  }
  return done;
}

/** What moves together: the end of the log that is not written, or a line of these beside it that its log has gone on without. */
function lineOf(log: Log, nodes: readonly Node[]): readonly Node[] {
  const lines = new Map<Node, Node[]>();
  const firsts = new Map<Node, Node>();
  for (const node of nodes) {
    if (node.log !== log) continue;
    const first = (node.prior && firsts.get(node.prior)) ?? node;
    firsts.set(node, first);
    const line = lines.get(first);
    if (line === undefined) lines.set(first, [node]);
    else line.push(node);
  }
  const [one, two] = lines.keys();
  const astray = [...lines.keys()].find(({ prior }) => prior !== log.storedHead) ?? two ?? one;
  const end = log.unwritten();
  return astray === undefined || end.includes(astray) ? end : (lines.get(astray) as Node[]);
}

/** The ends of other logs from the first event on that follows one that moves, however far away; a run began with its input. */
function standingOn(runtime: Services, log: Log, moving: readonly Node[], nodes: readonly Node[]): ReadonlyMap<Log, readonly Node[]> {
  const all = new Set(moving);
  const ids = new Set(moving.map(({ id }) => id));
  const follows = (node: Node): boolean =>
    placesBefore(node).some((place) => all.has(place)) ||
    (node.kind === "run.started" && ids.has(node.data<"run.started">(runtime.platform).input.head));
  const lines = new Map<Log, readonly Node[]>();
  const known = new Set([log, ...nodes.map((node) => node.log)]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const other of known) {
      for (const follower of other.followers) known.add(follower);
      if (other === log) continue;
      const unwritten = other.unwritten();
      const from = unwritten.findIndex((node) => all.has(node) || follows(node));
      const line = from < 0 ? [] : unwritten.slice(from);
      if (line.length === (lines.get(other)?.length ?? 0)) continue;
      grown = true;
      lines.set(other, line);
      for (const node of line) {
        all.add(node);
        ids.add(node.id);
      }
    }
  }
  return lines;
}

/** In a batch a result names its call. */
function factsOf(node: Node, moved: Moved): Node["facts"] {
  const call = moved.byId(node.facts.call);
  return call === undefined ? node.facts : { ...node.facts, call: call.id };
}

/** What an event says; where it names events that moved, under their new ids. */
function contentOf(runtime: Services, node: Node, parents: readonly Node[], moved: Moved): Pick<Linking, "data" | "encoded"> {
  const { platform } = runtime;
  const placed = <P extends { readonly session: string; readonly head: string }>(place: P): P => {
    const to = moved.byId(place.head);
    return to === undefined ? place : { ...place, session: to.log.id, head: to.id };
  };
  const renamedId = (id: string): string => moved.byId(id)?.id ?? id;
  const isMoved = (id: string): boolean => moved.byId(id) !== undefined;
  switch (node.kind) {
    case "workflow.left": {
      const to = moved.byId(node.data<"workflow.left">(platform).entered);
      if (to !== undefined) return { data: { entered: to.id } };
      break;
    }
    case "session.merged": {
      const data = node.data<"session.merged">(platform);
      const memory = data.memory?.map((settled) => ({ ...settled, event: renamedId(settled.event) }));
      const said = { ...data, branches: data.branches.map(placed), ...(memory === undefined ? {} : { memory }) };
      return { data: withTrees(node.kind, said, node.blobs) };
    }
    case "session.forked": {
      const data = node.data<"session.forked">(platform);
      return { data: { ...data, scope: moved.scope(data.scope) } };
    }
    case "session.detached": {
      const { scope, ...data } = node.data<"session.detached">(platform);
      return { data: { ...data, from: placed(data.from), ...(scope === undefined ? {} : { scope: moved.scope(scope) }) } };
    }
    case "context.compressed":
      return { data: renamed(node.data<"context.compressed">(platform), renamedId) };
    case "remember.called": {
      const { because, ...data } = node.data<"remember.called">(platform);
      if (because?.some(isMoved) !== true) break;
      return { data: { ...data, because: because.map(renamedId) } };
    }
    case "remember.returned":
    case "forget.returned": {
      const { item, ...data } = node.data<"remember.returned">(platform);
      if (item?.because.some(isMoved) !== true) break;
      return { data: { ...data, item: { ...item, because: item.because.map(renamedId) } } };
    }
    case "recall.returned": {
      const { value, ...data } = node.data<"recall.returned">(platform);
      if (value?.some(({ event, because }) => isMoved(event) || because.some(isMoved)) !== true) break;
      const hits = value.map((hit) => ({
        ...hit,
        event: renamedId(hit.event),
        because: hit.because.map(renamedId),
        ...(hit.session === undefined ? {} : { session: moved.byId(hit.event)?.log.id ?? hit.session }),
      }));
      return { data: { ...data, value: hits } };
    }
    case "run.started": {
      const data = node.data<"run.started">(platform);
      return { data: { ...data, input: placed(data.input) } };
    }
    case "model.called": {
      // What is read is digested over ids, which are others now.
      const { changed, configuration, ...data } = node.data<"model.called">(platform);
      const hook = moved.byId(changed)?.id ?? changed;
      const request = digestOf(stateOf(parents[0] as Node).context, platform);
      const shared = SharedText.of(configuration, platform);
      return { data: { ...data, ...(hook === undefined ? {} : { changed: hook }), configuration: shared, request } };
    }
    default:
      break;
  }
  const data = node.data(platform);
  return { data, encoded: { text: runtime.textOf(node), value: data, redacted: 0, blobs: node.blobs } };
}

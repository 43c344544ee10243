/** A branch was continued by somebody else before what we made was written: our part becomes an implicit fork of the last common event. */
import { withTrees } from "../session/acted.ts";
import { renamed } from "../session/context.ts";
import { stateOf } from "../session/fold.ts";
import { forkId, type Scope } from "../session/id.ts";
import { SharedText } from "../session/json.ts";
import { Log, type Node } from "../session/log.ts";
import { digestOf } from "../session/request.ts";
import { type Linking, link } from "./link.ts";
import type { Services } from "./services.ts";

/** Links the unwritten events of `log` again, and whatever stands on them; the given ones come back in their new form, the fork's first event before them. */
export function relink(runtime: Services, log: Log, nodes: readonly Node[], scope: Scope, ordinal: number): Node[] {
  const { platform } = runtime;
  const ours = new Set([...nodes.filter((node) => node.log === log), ...unwrittenOf(log)]);
  const base = [...ours][0]?.prior as Node;
  const fork = new Log(forkId(platform, { session: log.id, head: base.id }, scope, "implicit", ordinal));
  fork.fork = { scope, label: "", ordinal, implicit: true, nested: false };
  fork.owner = log.owner;
  const first = link(runtime, {
    log: fork,
    parents: [base],
    kind: "session.forked",
    data: { implicit: true, ordinal, scope },
    by: base.by,
    pure: true,
  });

  const moved = new Map<Node, Node>();
  const again = (node: Node, target: Log): void => {
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
  };

  const others = standingOn(runtime, ours, new Set(nodes.map((node) => node.log)));
  for (const { log: affected } of [...others, { log }]) affected.rewind();
  // Branches that were merged stand on one another: whatever is before an event has a smaller step. What a run says of itself names them.
  const last = ({ log: { kind } }: Node): number => (kind === "run" ? 1 : 0);
  for (const node of [...ours, ...others].sort((a, b) => last(a) - last(b) || a.step - b.step))
    again(node, node.log === log ? fork : node.log);
  return [first, ...nodes.map((node) => moved.get(node) ?? node)];
}

function unwrittenOf(log: Log): Node[] {
  const nodes: Node[] = [];
  for (let node = log.tip; node !== undefined && !node.stored; node = node.prior) nodes.push(node);
  return nodes.reverse();
}

/** The unwritten events of all other logs of which any follows one that moves, however far away; a run began with its input. */
function standingOn(runtime: Services, moving: ReadonlySet<Node>, logs: ReadonlySet<Log>): readonly Node[] {
  const all = new Set(moving);
  const ids = new Set([...moving].map(({ id }) => id));
  const found: Node[] = [];
  const waiting = new Map([...logs].map((log) => [log, unwrittenOf(log)]));
  const follows = (node: Node): boolean =>
    node.parents.some((parent) => all.has(parent)) ||
    (node.kind === "run.started" && ids.has(node.data<"run.started">(runtime.platform).input.head));
  for (let grown = true; grown; ) {
    grown = false;
    for (const [log, nodes] of waiting) {
      if (!nodes.some((node) => !moving.has(node) && follows(node))) continue;
      waiting.delete(log);
      grown = true;
      for (const node of nodes) {
        if (all.has(node)) continue;
        found.push(node);
        all.add(node);
        ids.add(node.id);
      }
    }
  }
  return found;
}

function movedTo(id: string | undefined, moved: ReadonlyMap<Node, Node>): Node | undefined {
  return id === undefined ? undefined : [...moved].find(([from]) => from.id === id)?.[1];
}

/** In a batch a result names its call. */
function factsOf(node: Node, moved: ReadonlyMap<Node, Node>): Node["facts"] {
  const call = movedTo(node.facts.call, moved);
  return call === undefined ? node.facts : { ...node.facts, call: call.id };
}

/** What an event says; where it names events that moved, under their new ids. */
function contentOf(
  runtime: Services,
  node: Node,
  parents: readonly Node[],
  moved: ReadonlyMap<Node, Node>,
): Pick<Linking, "data" | "encoded"> {
  const { platform } = runtime;
  const placed = <P extends { readonly session: string; readonly head: string }>(place: P): P => {
    const to = movedTo(place.head, moved);
    return to === undefined ? place : { ...place, session: to.log.id, head: to.id };
  };
  const renamedId = (id: string): string => movedTo(id, moved)?.id ?? id;
  const isMoved = (id: string): boolean => movedTo(id, moved) !== undefined;
  switch (node.kind) {
    case "workflow.left": {
      const to = movedTo(node.data<"workflow.left">(platform).entered, moved);
      if (to !== undefined) return { data: { entered: to.id } };
      break;
    }
    case "session.merged": {
      const data = node.data<"session.merged">(platform);
      const memory = data.memory?.map((settled) => ({ ...settled, event: renamedId(settled.event) }));
      const said = { ...data, branches: data.branches.map(placed), ...(memory === undefined ? {} : { memory }) };
      return { data: withTrees(node.kind, said, node.blobs) };
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
        ...(hit.session === undefined ? {} : { session: movedTo(hit.event, moved)?.log.id ?? hit.session }),
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
      const hook = movedTo(changed, moved)?.id ?? changed;
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

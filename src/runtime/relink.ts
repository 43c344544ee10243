/** A branch was continued by somebody else before what we made was written: our part becomes an implicit fork of the last common event. */
import { forkId, type Scope } from "../session/id.ts";
import { Log, type Node } from "../session/log.ts";
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
      facts: node.facts,
      at: node.at,
      ...contentOf(runtime, node, moved),
    });
    next.run = node.run;
    next.order = node.order;
    next.queued = node.queued;
    node.moved = next;
    node.queued = undefined;
    moved.set(node, next);
  };

  log.rewind();
  for (const node of ours) again(node, fork);
  for (const affected of new Set(nodes.map((node) => node.log))) {
    const unwritten = unwrittenOf(affected);
    if (affected === log || !unwritten.some((node) => node.parents.some((parent) => moved.has(parent)))) continue;
    affected.rewind();
    for (const node of unwritten) again(node, affected);
  }
  return [first, ...nodes.map((node) => moved.get(node) ?? node)];
}

function unwrittenOf(log: Log): Node[] {
  const nodes: Node[] = [];
  for (let node = log.tip; node !== undefined && !node.stored; node = node.prior) nodes.push(node);
  return nodes.reverse();
}

/** What an event says; where it names events that moved, under their new ids. */
function contentOf(runtime: Services, node: Node, moved: ReadonlyMap<Node, Node>): Pick<Linking, "data" | "encoded"> {
  const movedTo = (id: string): Node | undefined => [...moved].find(([from]) => from.id === id)?.[1];
  if (node.kind === "workflow.left") {
    const to = movedTo(node.data<"workflow.left">(runtime.platform).entered);
    if (to !== undefined) return { data: { entered: to.id } };
  }
  if (node.kind === "session.merged") {
    const data = node.data<"session.merged">(runtime.platform);
    const branches = data.branches.map((place) => {
      const to = movedTo(place.head);
      return to === undefined ? place : { session: to.log.id, head: to.id };
    });
    return { data: { ...data, branches } };
  }
  const data = node.data(runtime.platform);
  return { data, encoded: { text: runtime.textOf(node), value: data, redacted: 0, blobs: node.blobs } };
}

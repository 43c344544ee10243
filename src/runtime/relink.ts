/** A branch was continued by somebody else before what we made was written: our part becomes an implicit fork of the last common event. */
import { forkId, type Scope } from "../session/id.ts";
import { Log, type Node } from "../session/log.ts";
import { link } from "./link.ts";
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
    const encoded = { text: runtime.textOf(node), value: node.data(platform), redacted: 0, blobs: node.blobs };
    const next = link(runtime, {
      log: target,
      parents,
      kind: node.kind,
      data: encoded.value,
      by: node.by,
      facts: node.facts,
      at: node.at,
      encoded,
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

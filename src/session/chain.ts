/** Lists of events that share what they have in common: a fork goes on from the links of what it was forked from. */
import type { Chain, Node } from "./log.ts";

export type { Chain };

/** From a chain to an array, oldest first. */
export function list(chain: Chain | undefined): Node[] {
  const nodes = new Array<Node>(chain?.length ?? 0);
  for (let link = chain; link !== undefined; link = link.before) nodes[link.length - 1] = link.node;
  return nodes;
}

/**
 * A chain with one more. Folding an event again gives the link it gave before: whether one chain goes on where another ended is seen
 * by their links, whenever each of them was made.
 */
export function chain(node: Node, before: Chain | undefined): Chain {
  let link = node.links?.find((made) => made.before === before);
  if (link === undefined) {
    link = linked(node, before);
    node.links = node.links === undefined ? [link] : [...node.links, link];
  }
  return link;
}

/** The same with an event of elsewhere, which many may take in: merges are folded once. */
export function linked(node: Node, before: Chain | undefined): Chain {
  return { node, before, length: (before?.length ?? 0) + 1 };
}

/** One chain, then what another has that it has not. */
export function joined(ours: Chain | undefined, theirs: Chain | undefined): Chain | undefined {
  let all = ours;
  for (const node of suffix(theirs, ours)) all = linked(node, all);
  return all;
}

/** True when one chain goes on where another ended. */
export function isPrefix(short: Chain | undefined, long: Chain | undefined): boolean {
  let at = long;
  while (at !== undefined && at.length > (short?.length ?? 0)) at = at.before;
  return at === short;
}

/** What one chain has since it parted from another, oldest first: forks share their links, so this costs what is new. */
export function suffix(theirs: Chain | undefined, ours: Chain | undefined): Node[] {
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

/**
 * What one place has in its past and another has not, found by walking back from it: the cost is that of what differs. The order
 * depends on what happened alone, never on ids or on which result of a batch came first.
 */
import { isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import { isAncestor, type Node, placesBefore, rootsOf } from "../session/log.ts";

/** The past of a place, over the beginnings of detached sessions too. */
export class Past {
  readonly #places: Node[];

  constructor(place: Node) {
    this.#places = [place];
    const seen = new Set<Node>();
    for (const at of this.#places) {
      // Grows while it is walked.
      for (const { origin } of rootsOf(at)) {
        if (origin === undefined || seen.has(origin)) continue;
        seen.add(origin);
        this.#places.push(origin);
      }
    }
  }

  has(node: Node): boolean {
    return this.#places.some((place) => isAncestor(node, place));
  }
  /** Without going over the beginning of any detached session. */
  hasDirectly(node: Node): boolean {
    return isAncestor(node, this.#places[0] as Node);
  }
}

/** What one side has for itself, and where it left what both have. */
export interface Own {
  readonly nodes: readonly Node[];
  /** The newest common places, newest first. */
  readonly met: readonly Node[];
}

/** Parents before children: the line itself, what was merged or done inside before the event that took it in, batches in call order. */
export function ownEvents(place: Node, other: Past): Own {
  if (other.has(place)) return { nodes: [], met: [place] };
  const nodes: Node[] = [];
  const met = new Set<Node>();
  const batches = new Batches();
  const seen = new Set<Node>([place]);
  const path: { readonly node: Node; readonly before: readonly Node[]; next: number; start: number }[] = [];
  const enter = (node: Node): void => void path.push({ node, before: placesBefore(node), next: 0, start: nodes.length });
  enter(place);
  for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
    if (at.next === 1) at.start = nodes.length; // the line is there: what follows was taken in by this event
    const parent = at.before[at.next++];
    if (parent === undefined) {
      nodes.push(at.node);
      batches.add(at.node, at.start, nodes.length);
      path.pop();
    } else if (other.has(parent)) met.add(parent);
    else if (!seen.has(parent)) {
      seen.add(parent);
      enter(parent);
    }
  }
  batches.order(nodes);
  return { nodes, met: newest(met) };
}

/** Those that are no ancestors of one another. */
function newest(places: ReadonlySet<Node>): readonly Node[] {
  const best: { readonly place: Node; readonly past: Past }[] = [];
  for (const place of [...places].sort((a, b) => b.step - a.step || (a.id < b.id ? -1 : 1)))
    if (!best.some(({ past }) => past.has(place))) best.push({ place, past: new Past(place) });
  // Steps begin anew where a session was detached: there an older place may have come first.
  return best.flatMap(({ place }) => (best.some((other) => other.place !== place && other.past.has(place)) ? [] : [place]));
}

/** Results of one batch lie in the order they came. */
class Batches {
  readonly #open = new Map<Node, { readonly parts: Part[] }>();
  readonly #all: { readonly parts: Part[] }[] = [];

  /** An event, with what it took in: `start` to `end` of the list. */
  add(node: Node, start: number, end: number): void {
    if (!isReturned(node.kind) && !isStarted(node.kind)) return;
    const part = { start, end, call: callOf(node).seq };
    const batch = node.prior === undefined ? undefined : this.#open.get(node.prior);
    const last = batch?.parts.at(-1);
    if (batch !== undefined && last?.end === start) batch.parts.push(part);
    const mine = batch !== undefined && last?.end === start ? batch : { parts: [part] };
    if (mine !== batch) this.#all.push(mine);
    this.#open.set(node, mine);
  }

  order(nodes: Node[]): void {
    // What is inside another one is ordered first.
    const batches = this.#all.filter(({ parts }) => parts.length > 1).sort((a, b) => extent(a.parts) - extent(b.parts));
    for (const { parts } of batches) {
      const ordered = [...parts].sort((a, b) => a.call - b.call).flatMap(({ start, end }) => nodes.slice(start, end));
      const from = (parts[0] as Part).start;
      for (const [index, node] of ordered.entries()) nodes[from + index] = node;
    }
  }
}

interface Part {
  readonly start: number;
  readonly end: number;
  readonly call: number;
}

function extent(parts: readonly Part[]): number {
  return (parts.at(-1)?.end ?? 0) - (parts[0]?.start ?? 0);
}

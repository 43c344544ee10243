/**
 * What a program asked for at each place. Of equal requests the n-th is the n-th again when the program is executed again, whatever became of
 * the others: what causes no effect and leads to none is not on record. Requests are equal as a driver compares them, by kind and data; the
 * name of a workflow says who acts, not what.
 */
import type { EventKind } from "../session/event.ts";
import type { Node } from "../session/log.ts";

/** What a driver compares. */
export interface Request {
  readonly kind: EventKind;
  /** Its data in canonical form. */
  readonly text: string;
}

interface Place {
  /** What was asked for first: mostly all there is. */
  readonly first: Node;
  /** How often what was asked for, where there was more. */
  counts?: Map<string, number>;
}

export class Asked {
  /** Gone with the values that stand there. */
  readonly #places = new WeakMap<Node, Place>();
  readonly #keyOf: (request: Request) => string;
  readonly #textOf: (node: Node) => string;

  constructor(sha256: (text: string) => string, textOf: (node: Node) => string) {
    this.#keyOf = ({ kind, text }) => (kind === "workflow.entered" ? kind : `${kind} ${sha256(text)}`);
    this.#textOf = textOf;
  }

  /** How many equal ones were asked for before. */
  before(head: Node, request: Request): number {
    const place = this.#places.get(head);
    return place === undefined ? 0 : (this.#countsOf(place).get(this.#keyOf(request)) ?? 0);
  }

  /** Takes note of what a request became. */
  add(head: Node, node: Node): void {
    const place = this.#places.get(head);
    if (place === undefined) this.#places.set(head, { first: node });
    else this.#count(this.#countsOf(place), node);
  }

  /** A place is the same one after it moved. */
  moved(from: Node, to: Node): void {
    const place = this.#places.get(from);
    if (place !== undefined) this.#places.set(to, place);
  }

  #countsOf(place: Place): Map<string, number> {
    place.counts ??= this.#count(new Map(), place.first);
    return place.counts;
  }

  #count(counts: Map<string, number>, node: Node): Map<string, number> {
    const key = this.#keyOf({ kind: node.kind, text: this.#textOf(node) });
    return counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}

/**
 * Version vectors that share what is equal: a persistent trie from logs to positions. Adding one log copies a path, joining
 * two vectors looks only where they differ, so long chains of forks and merges cost what is new.
 */

/** What a vector is about: anything with a number of its own. */
export interface Numbered {
  readonly number: number;
}
export interface Entry<T extends Numbered> {
  readonly key: T;
  readonly newest: number;
}
type Slot<T extends Numbered> = Entry<T> | Branch<T> | undefined;
class Branch<T extends Numbered> {
  readonly slots: readonly Slot<T>[];
  constructor(slots: readonly Slot<T>[]) {
    this.slots = slots;
  }
}

const bits = 4;
const width = 2 ** bits;

/** Immutable. */
export class Vector<T extends Numbered> {
  readonly #root: Slot<T>;

  private constructor(root: Slot<T>) {
    this.#root = root;
  }

  static empty<T extends Numbered>(): Vector<T> {
    return new Vector<T>(undefined);
  }

  get(key: T): number {
    let slot = this.#root;
    for (let shift = 0; slot instanceof Branch; shift += bits) slot = slot.slots[(key.number >>> shift) % width];
    return slot?.key === key ? slot.newest : -1;
  }

  /** With this position, unless a newer one is there. */
  with(key: T, newest: number): Vector<T> {
    const root = joined(this.#root, { key, newest }, 0);
    return root === this.#root ? this : new Vector(root);
  }

  /** The newer position of each. */
  join(other: Vector<T>): Vector<T> {
    const root = joined(this.#root, other.#root, 0);
    return root === this.#root ? this : root === other.#root ? other : new Vector(root);
  }

  /** What this one has newer than another, with the other's position. */
  *since(other: Vector<T>): Iterable<Entry<T> & { readonly before: number }> {
    yield* newer(this.#root, other.#root, 0, other);
  }

  [Symbol.iterator](): Iterator<Entry<T>> {
    const found: Entry<T>[] = [];
    collect(this.#root, found);
    return found[Symbol.iterator]();
  }
}

function joined<T extends Numbered>(a: Slot<T>, b: Slot<T>, shift: number): Slot<T> {
  if (a === b || b === undefined) return a;
  if (a === undefined) return b;
  if (!(a instanceof Branch) && !(b instanceof Branch) && a.key === b.key) return b.newest > a.newest ? b : a;
  const [left, right] = [spread(a, shift), spread(b, shift)];
  // Most joins give one of the two: nothing is copied before it is known that this one does not.
  let isRight = b instanceof Branch;
  let slots: Slot<T>[] | undefined;
  for (let index = 0; index < width; index++) {
    const slot = joined(left[index], right[index], shift + bits);
    isRight &&= slot === right[index];
    if (slots === undefined && slot !== left[index]) slots = left.slice();
    if (slots !== undefined) slots[index] = slot;
  }
  if (slots === undefined && a instanceof Branch) return a;
  return isRight ? b : new Branch(slots ?? left);
}

function spread<T extends Numbered>(slot: Entry<T> | Branch<T>, shift: number): readonly Slot<T>[] {
  if (slot instanceof Branch) return slot.slots;
  const slots = new Array<Slot<T>>(width).fill(undefined);
  slots[(slot.key.number >>> shift) % width] = slot;
  return slots;
}

function* newer<T extends Numbered>(
  a: Slot<T>,
  b: Slot<T>,
  shift: number,
  other: Vector<T>,
): Iterable<Entry<T> & { readonly before: number }> {
  if (a === b || a === undefined) return;
  if (!(a instanceof Branch)) {
    const before = other.get(a.key);
    if (a.newest > before) yield { ...a, before };
    return;
  }
  const right = b === undefined ? undefined : spread(b, shift);
  for (const [index, slot] of a.slots.entries()) yield* newer(slot, right?.[index], shift + bits, other);
}

function collect<T extends Numbered>(slot: Slot<T>, found: Entry<T>[]): void {
  if (slot instanceof Branch) for (const inner of slot.slots) collect(inner, found);
  else if (slot !== undefined) found.push(slot);
}

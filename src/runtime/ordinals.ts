/** Numbers for what is made at one place under one name, so that each gets an id of its own. A place that moved is the same place. */
import { type Scope, scopeName } from "../session/id.ts";
import type { Node } from "../session/log.ts";

export class Ordinals {
  readonly #next = new Map<string, number>();
  /** Of events that were linked again: under which ids they were linked first, and last. */
  readonly #firstIds = new Map<string, string>();
  readonly #newestIds = new Map<string, string>();

  /** From 0; those that are taken already are passed over. */
  take(head: Node, scope: Scope, name: string, isTaken: (ordinal: number) => boolean): number {
    const key = this.#keyOf(head, scope, name);
    let ordinal = this.#next.get(key) ?? 0;
    while (isTaken(ordinal)) ordinal++;
    this.#next.set(key, ordinal + 1);
    return ordinal;
  }

  renamed(before: Node, now: Node): void {
    const first = this.#firstIds.get(before.id) ?? before.id;
    this.#firstIds.set(now.id, first);
    for (const id of [first, before.id]) this.#newestIds.set(id, now.id);
  }

  /** The scope under the name that its call has now. */
  scopeNow(scope: Scope): Scope {
    return "call" in scope ? { ...scope, call: this.#newestIds.get(scope.call) ?? scope.call } : scope;
  }

  /** By the names that they had first. */
  #keyOf(head: Node, scope: Scope, name: string): string {
    const first = "call" in scope ? { ...scope, call: this.#firstIds.get(scope.call) ?? scope.call } : scope;
    return `${this.#firstIds.get(head.id) ?? head.id} ${scopeName(first)} ${name}`;
  }
}

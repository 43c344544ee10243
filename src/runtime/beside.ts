/**
 * What was stopped and is not waited for: it comes to its end beside the program. When that is, depends on time, so nothing of the
 * program may; only the end of the work around it gives it a moment, to say on record what became of it.
 */
import { type Scope, sameScope } from "../session/id.ts";

/** Enough turns of the event loop to hand over the results of what was stopped, and too short for a run to be parked meanwhile. */
const aMoment = 100;

export class Beside {
  readonly #going = new Set<{ readonly scope: Scope }>();

  add(scope: Scope, work: Promise<unknown>): void {
    const going = { scope };
    this.#going.add(going);
    const over = (): void => void this.#going.delete(going);
    work.then(over, over);
  }

  /** Work that has a scope of its own, and what goes on in that. */
  async during<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.ended(scope);
    }
  }

  /** Waits for what goes on in a scope that is about to end: a moment, after what `lingers`. What cannot be stopped is left as it is. */
  async ended(scope: Scope, lingers: () => boolean = () => false): Promise<void> {
    for (let turn = 0; turn < aMoment && this.#goesOn(scope); turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      for (; this.#goesOn(scope) && lingers(); turn = 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  #goesOn(scope: Scope): boolean {
    return [...this.#going].some((going) => sameScope(going.scope, scope));
  }
}

/** What is being started while a Rath is open: whoever closes it waits for that, since what begins afterwards is left by nobody. */
import { closedRath } from "./closed.ts";

export class Starts {
  readonly #underWay = new Set<Promise<unknown>>();
  closed = false;

  async add<T>(start: () => Promise<T>): Promise<T> {
    this.assertOpen();
    const starting = start();
    this.#underWay.add(starting);
    try {
      return await starting;
    } finally {
      this.#underWay.delete(starting);
    }
  }

  assertOpen(): void {
    if (this.closed) throw closedRath();
  }

  /** Nothing is started from here on. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.allSettled(this.#underWay);
  }
}

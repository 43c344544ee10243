/** What is being started while a Rath is open: whoever closes it waits for that, since what begins afterwards is left by nobody. */
import { closedBefore } from "./closed.ts";

export class Starts {
  readonly #underWay = new Set<Promise<unknown>>();
  closed = false;

  async add<T>(workflow: string, start: () => Promise<T>): Promise<T> {
    this.assertOpen(workflow);
    const starting = start();
    this.#underWay.add(starting);
    try {
      return await starting;
    } finally {
      this.#underWay.delete(starting);
    }
  }

  /** Whoever closes a Rath at once may have forgotten to wait for it. */
  assertOpen(workflow: string): void {
    if (this.closed) throw closedBefore(`run of ${JSON.stringify(workflow)}`, "started");
  }

  /** Nothing is started from here on. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.allSettled(this.#underWay);
  }
}

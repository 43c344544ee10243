/** The logs that are in memory, as long as somebody uses them: opening one again finds the same. */
import type { Log } from "../session/log.ts";
import type { InMemory } from "./load.ts";

export class KnownLogs implements InMemory {
  readonly moveAside: InMemory["moveAside"];
  readonly #logs = new Map<string, WeakRef<Log>>();
  readonly #forgotten = new FinalizationRegistry<string>((id) => {
    if (this.get(id) === undefined) this.#logs.delete(id);
  });

  constructor(moveAside: InMemory["moveAside"]) {
    this.moveAside = moveAside;
  }

  get(id: string): Log | undefined {
    return this.#logs.get(id)?.deref();
  }

  add(log: Log): void {
    if (this.get(log.id) === log) return;
    this.#logs.set(log.id, new WeakRef(log));
    this.#forgotten.register(log, log.id);
  }

  /** What these events say is forgotten, and every view that was made of it. */
  erase(events: ReadonlySet<string>): void {
    for (const known of this.#logs.values())
      for (let node = known.deref()?.tip; node !== undefined; node = node.prior) {
        node.state = undefined;
        if (events.has(node.id)) node.erase();
      }
  }
}

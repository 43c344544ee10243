/** A session and all that comes from it: its forks and theirs, nested work, and the runs at work on any of them. */
import type { Store } from "../store/store.ts";
import type { FedEvent } from "./feed-hub.ts";

export class SessionFamily {
  readonly #logs: Set<string>;
  /** Runs that wrote to one of the logs, or were started on it: their own logs belong to it. */
  readonly #runs = new Set<string>();

  private constructor(session: string) {
    this.#logs = new Set([session]);
  }

  /** As it is now; what comes is added as its events are looked at. */
  static async of(store: Store, session: string): Promise<SessionFamily> {
    const family = new SessionFamily(session);
    // A set that grows while it is walked is walked to its end.
    for (const parent of family.#logs) for await (const { id } of store.sessions({ parent })) family.#logs.add(id);
    for (const status of ["queued", "running", "waiting"])
      for await (const run of store.runs({ status })) if (family.#logs.has(run.session)) family.#runs.add(run.id);
    return family;
  }

  /** The logs and runs it is known to have. */
  names(): readonly string[] {
    return [...this.#logs, ...this.#runs];
  }

  has(session: string): boolean {
    return this.#logs.has(session) || this.#runs.has(session);
  }

  /** Whether an event belongs to it. Asked of all in the order of the feed, so that forks are known before what lies in them. */
  takes({ stored: { session, run }, from }: FedEvent): boolean {
    if (from !== undefined && this.#logs.has(from)) this.#logs.add(session);
    if (!this.#logs.has(session)) return this.#runs.has(session);
    if (run !== undefined) this.#runs.add(run);
    return true;
  }
}

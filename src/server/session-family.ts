/** A session and all that comes from it: its forks and theirs, nested work, and the runs that work or worked on any of them. */
import { hasEnded } from "../runtime/run-row.ts";
import type { Store } from "../store/store.ts";
import type { FedEvent } from "./feed-hub.ts";

export class SessionFamily {
  readonly #logs: Set<string>;
  /** Runs that wrote to one of the logs, or were started on it: their own logs belong to it. */
  readonly #runs = new Set<string>();
  /** Those of them that had ended before anybody followed: they are told of where somebody reads the past, and do nothing more. */
  readonly #ended = new Set<string>();

  private constructor(session: string) {
    this.#logs = new Set([session]);
  }

  /** As it is now; what comes is added as its events are looked at. Who reads the past needs the runs that have ended too. */
  static async of(store: Store, session: string, reads: "past" | "now"): Promise<SessionFamily> {
    const family = new SessionFamily(session);
    // A set that grows while it is walked is walked to its end.
    for (const parent of family.#logs) for await (const { id } of store.sessions({ parent })) family.#logs.add(id);
    const status = reads === "past" ? undefined : ["queued", "running", "waiting"];
    for await (const run of store.runs({ session: [...family.#logs], status }))
      (hasEnded(run.status) ? family.#ended : family.#runs).add(run.id);
    return family;
  }

  /** The logs and runs it is known to have, and in which something may still happen. */
  names(): readonly string[] {
    return [...this.#logs, ...this.#runs];
  }

  has(session: string): boolean {
    return this.#logs.has(session) || this.#runs.has(session) || this.#ended.has(session);
  }

  /** Whether an event belongs to it. Asked of all in the order of the feed, so that forks are known before what lies in them. */
  takes({ stored: { session, run }, kind, from, wrote }: FedEvent): boolean {
    if (from !== undefined && this.#logs.has(from) && !this.#ended.has(session))
      (kind === "run.started" ? this.#runs : this.#logs).add(session);
    // Whoever goes on after a cursor did not see it write.
    if (wrote.size > 0 && !this.has(session) && shareAny(wrote, this.#logs)) this.#runs.add(session);
    if (!this.#logs.has(session)) return this.has(session);
    if (run !== undefined && !this.#ended.has(run)) this.#runs.add(run);
    return true;
  }
}

function shareAny(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  for (const one of few) if (many.has(one)) return true;
  return false;
}

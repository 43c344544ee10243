/** What was passed on of a stream and has no cursor of its own: said again after a cut, it is put right or left out. */
import type { PendingResource } from "../wire/api/pending.ts";
import type { PendingPart } from "../wire/api/stream.ts";

type Data = Readonly<Record<string, unknown>>;

export interface Shown {
  /** The connection broke. */
  cut(): void;
  /** The parts that a message stands for. */
  parts(data: Data): readonly Data[];
}

/** Of sessions and runs: replies of which the beginning was shown, and what waits. */
export class PartsShown implements Shown {
  /** Sessions with a reply of which something was shown and that is not on record yet. */
  readonly #open = new Set<unknown>();
  readonly #waiting = new Set<unknown>();
  #cut = new Set<unknown>();

  cut(): void {
    this.#cut = new Set(this.#open);
  }

  parts(part: Data): readonly Data[] {
    const { type, session } = part;
    switch (type) {
      case "event":
        if ((part["event"] as { readonly kind?: unknown } | undefined)?.kind !== "model.returned") return [part];
        this.#open.delete(session);
        this.#cut.delete(session);
        return [part];
      case "text-delta":
        this.#open.add(session);
        // What comes next takes the place of what was shown before.
        return [this.#cut.delete(session) ? { ...part, restart: true } : part];
      case "pending": {
        const { id } = part["pending"] as PendingResource;
        if (this.#waiting.has(id)) return [];
        this.#waiting.add(id);
        return [part];
      }
      default:
        return [part];
    }
  }
}

/** Of what waits: the server tells all of it to whoever comes back, who is told the difference here. */
export class PendingShown implements Shown {
  #known: Map<string, PendingResource> | undefined;

  cut(): void {}

  parts(data: Data): readonly Data[] {
    const part = data as PendingPart;
    if (part.type === "snapshot") return this.#difference(part.pending);
    if (part.type === "pending") this.#known?.set(part.pending.id, part.pending);
    else if (part.type === "settled") this.#known?.delete(part.id);
    return [data];
  }

  #difference(pending: readonly PendingResource[]): readonly PendingPart[] {
    const before = this.#known;
    this.#known = new Map(pending.map((one) => [one.id, one]));
    if (before === undefined) return [{ type: "snapshot", pending }];
    const gone = [...before.values()].filter(({ id }) => !this.#known?.has(id));
    return [
      ...gone.map(({ id, kind, session, run }): PendingPart => ({ type: "settled", id, kind, session, run })),
      ...pending.filter(({ id }) => !before.has(id)).map((one): PendingPart => ({ type: "pending", pending: one })),
    ];
  }
}

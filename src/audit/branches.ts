/**
 * The branches of a lineage: every log that has an ancestor of a place, every branch that a run made which wrote one, and the
 * forks that left any of them on the way. So branches that were rejected or lost stay visible.
 */
import { flushBehind, runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { isReturned } from "../session/event.ts";
import { ancestorsOf, type Log, type Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";

/** A log that takes part in a lineage, as far as it counts. */
export interface Branch {
  readonly log: Log;
  readonly first: Node;
  /** The newest event that counts: the place itself in its own log, else the last one stored. */
  readonly tip: Node;
  /** The events of its own, oldest first. */
  readonly nodes: readonly Node[];
  /** The value at its tip. */
  readonly session: Session;
  /** It is the log of the session that was asked about. */
  readonly current: boolean;
}

/** One branch taking part in another. */
export interface Join {
  readonly kind: "forked" | "nested" | "detached" | "merged" | "adopted" | "returned";
  readonly from: Node;
  readonly to: Node;
}

/** In the order in which they began. */
export async function branchesOf(session: Session, signal?: AbortSignal): Promise<readonly Branch[]> {
  const runtime = runtimeOf(session);
  await flushBehind(session);
  const found = new Finding(runtime, placeOf(session).node, signal);
  await found.all();
  return found.branches();
}

class Finding {
  readonly #runtime: Runtime;
  readonly #place: Node;
  readonly #signal: AbortSignal | undefined;
  readonly #tips = new Map<string, Node>();
  readonly #asked = new Set<string>();

  constructor(runtime: Runtime, place: Node, signal: AbortSignal | undefined) {
    this.#runtime = runtime;
    this.#place = place;
    this.#signal = signal;
    this.#tips.set(place.log.id, place);
    this.#ancestors(place);
  }

  async all(): Promise<void> {
    for (const [id, tip] of this.#tips) {
      // Grows while it is walked.
      this.#signal?.throwIfAborted();
      if (tip.stored || tip.log.storedHead !== undefined) await this.#forksOf(id);
      for (const run of new Set(upTo(tip).map((node) => node.run))) if (run !== undefined) await this.#branchesOf(run);
    }
    this.#signal?.throwIfAborted();
  }

  branches(): readonly Branch[] {
    const branches = [...this.#tips.values()].map((tip): Branch => {
      const nodes = upTo(tip);
      return {
        log: tip.log,
        first: nodes[0] ?? tip,
        tip,
        nodes,
        session: this.#runtime.outside(tip),
        current: tip.log.id === this.#place.log.id,
      };
    });
    return branches.sort((a, b) => compare(a.first.at, b.first.at) || a.first.step - b.first.step || compare(a.log.id, b.log.id));
  }

  #ancestors(place: Node): void {
    for (const { key: log, newest } of ancestorsOf(place)) {
      const stored = log.storedHead?.seq ?? -1;
      if (!this.#tips.has(log.id)) this.#tips.set(log.id, (upTo(log.tip as Node)[Math.max(stored, newest)] ?? log.tip) as Node);
      if (log.origin !== undefined && !this.#tips.has(log.origin.log.id)) this.#ancestors(log.origin);
    }
  }

  /** Forks that left a branch before its tip. */
  async #forksOf(id: string): Promise<void> {
    const rows: string[] = [];
    for await (const row of (await this.#runtime.store()).sessions({ parent: id, log: "session" })) rows.push(row.id);
    await this.#add(rows, (log) => {
      const parent = log.first?.parents[0];
      return parent !== undefined && parent.seq <= (this.#tips.get(parent.log.id)?.seq ?? -1);
    });
  }

  /** All branches that a run of a workflow wrote to. The run for effects outside any workflow is shared by unrelated sessions. */
  async #branchesOf(run: string): Promise<void> {
    if (this.#asked.has(run)) return;
    this.#asked.add(run);
    const store = await this.#runtime.store();
    let begins = false;
    for await (const event of store.events({ session: run, to: 1 }))
      begins = this.#runtime.platform.text(event.envelope).includes('"kind":"run.started"');
    if (!begins) return;
    const rows: string[] = [];
    for await (const row of store.sessions({ run, log: "session" })) rows.push(row.id);
    await this.#add(rows, () => true);
  }

  async #add(ids: readonly string[], fits: (log: Log) => boolean): Promise<void> {
    const unknown = ids.filter((id) => !this.#tips.has(id));
    if (unknown.length === 0) return;
    const logs = await this.#runtime.load(unknown);
    for (const id of unknown) {
      const log = logs.get(id);
      const tip = log?.storedHead ?? log?.tip;
      if (log === undefined || tip === undefined || this.#tips.has(id) || !fits(log)) continue;
      this.#tips.set(id, tip);
      this.#ancestors(tip);
    }
  }
}

/** How branches take part in each other, in the order of the branches. */
export function joinsOf(branches: readonly Branch[]): readonly Join[] {
  return branches.flatMap(({ log, nodes }) =>
    nodes.flatMap((node): Join[] => {
      const foreign = node.parents.filter((parent) => parent.log.id !== log.id);
      switch (node.kind) {
        case "session.forked":
          return foreign.map((from) => ({ kind: log.fork?.nested === true ? "nested" : "forked", from, to: node }));
        case "session.detached":
          return log.origin === undefined ? [] : [{ kind: "detached", from: log.origin, to: node }];
        case "session.merged":
          // An adopted head is the first parent; a merge continues the branch itself.
          return foreign.map((from) => ({ kind: node.parents[0] === from ? "adopted" : "merged", from, to: node }));
        default:
          return isReturned(node.kind) ? foreign.map((from) => ({ kind: "returned", from, to: node })) : [];
      }
    }),
  );
}

function upTo(tip: Node): Node[] {
  const nodes: Node[] = [];
  for (let node: Node | undefined = tip; node !== undefined; node = node.prior) nodes.push(node);
  return nodes.reverse();
}

/** The order of texts by their characters, the same everywhere. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

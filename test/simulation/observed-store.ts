/** The store as somebody sees it who watches what it does: what it acknowledged, whom it gave leases, whose writes it took. */
import type { Lease, Store } from "../../src/store/store.ts";

interface Holder {
  readonly worker: string;
  readonly epoch: number;
  expires: number;
}

export class Observations {
  /** When each acknowledged event was stored. */
  readonly stored = new Map<string, number>();
  /** When the row of each run was first written as ended. */
  readonly ended = new Map<string, number>();
  /** When each run was handed out. */
  readonly grants: { readonly run: string; readonly at: number; readonly epoch: number }[] = [];
  /** Writes that were refused because somebody else had taken over. */
  fenced = 0;
  readonly problems: string[] = [];
  readonly #epochs = new Map<string, number>();
  readonly #holders = new Map<string, Holder>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  granted(lease: Lease, worker: string, from?: string): void {
    const { run, epoch } = lease;
    const holder = this.#holders.get(run);
    if (holder !== undefined && holder.worker !== worker && holder.worker !== from && holder.expires > this.#now())
      this.problems.push(`exclusion: ${run} was given to ${worker} while the lease of ${holder.worker} lasted`);
    if (epoch <= (this.#epochs.get(run) ?? 0)) this.problems.push(`exclusion: ${run} was given to ${worker} without a new epoch`);
    this.#epochs.set(run, epoch);
    this.#holders.set(run, { worker, epoch, expires: Date.parse(lease.expires) });
    this.grants.push({ run, at: this.#now(), epoch });
  }

  renewed({ run, epoch }: Lease, renewed: Lease | undefined): void {
    const holder = this.#holders.get(run);
    if (renewed === undefined) return;
    if (epoch !== this.#epochs.get(run)) this.problems.push(`fencing: ${run} was renewed for epoch ${epoch}, which is over`);
    else if (holder !== undefined) holder.expires = Date.parse(renewed.expires);
  }

  wrote(lease: Lease | undefined): void {
    if (lease !== undefined && lease.epoch !== this.#epochs.get(lease.run))
      this.problems.push(`fencing: a write of epoch ${lease.epoch} of ${lease.run} was taken, which is over`);
  }

  released({ run, epoch }: Lease): void {
    if (this.#epochs.get(run) === epoch) this.#holders.delete(run);
  }
}

export const isEnd: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

export function observedStore(store: Store, seen: Observations, now: () => number): Store {
  return {
    ...store,
    append: async (write) => {
      const written = await store.append(write);
      if (!written.ok) {
        if (written.reason === "epoch") seen.fenced++;
        return written;
      }
      seen.wrote(write.lease);
      for (const { events } of write.branches) for (const { id } of events) seen.stored.set(id, now());
      const { run, lease, release } = write;
      if (release === true && lease !== undefined) seen.released(lease);
      if (run !== undefined && isEnd.has(run.status) && !seen.ended.has(run.id)) seen.ended.set(run.id, now());
      return written;
    },
    claim: async (run, worker, forMs, options) => {
      const lease = await store.claim(run, worker, forMs, options);
      if (lease !== undefined) seen.granted(lease, worker, options?.from);
      return lease;
    },
    take: async (query, worker, forMs) => {
      const taken = await store.take(query, worker, forMs);
      for (const { lease } of taken) seen.granted(lease, worker);
      return taken;
    },
    renew: async (lease, forMs) => {
      const renewed = await store.renew(lease, forMs);
      seen.renewed(lease, renewed);
      return renewed;
    },
    release: async (lease) => {
      await store.release(lease);
      seen.released(lease);
    },
  };
}

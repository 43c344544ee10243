/** Leases as this process may rely on them: by its own clock, from before it asked. */
import type { Lease } from "../store/store.ts";
import { patiently } from "./patience.ts";
import type { Services } from "./services.ts";
import { fenced } from "./writer.ts";

/** Before `sureUntil`, on the clock of `platform.elapsed`, nobody else can have the run, however late the store's answers come. */
export interface HeldLease extends Lease {
  readonly sureUntil: number;
}

/** What executes a run. */
interface Holder {
  readonly id: string;
  readonly mode: string;
  readonly closed: boolean;
  readonly runtime: Services;
  lease: HeldLease | undefined;
  fence(epoch: number): void;
  onRenewed(): void;
}

/** A lease that is asked for now. */
export async function held<T extends Lease | undefined>(runtime: Services, ask: () => Promise<T>): Promise<HeldLease | undefined> {
  const sureUntil = runtime.platform.elapsed() + runtime.times.leaseMs;
  const lease = await ask();
  return lease && { ...lease, sureUntil };
}

/** Asks the store whether the run is still this execution's own; whoever lost it stops here. */
export async function assertHeld(execution: Holder): Promise<void> {
  const { lease, runtime } = execution;
  if (lease === undefined) return;
  const store = await runtime.store();
  const renewed = await held(runtime, () => store.renew(lease, runtime.times.leaseMs));
  // It was taken again here meanwhile: that this lease is over says nothing of the new one.
  if (execution.lease !== undefined && execution.lease.epoch > lease.epoch) return assertHeld(execution);
  if (renewed === undefined) {
    execution.fence(lease.epoch + 1);
    throw fenced(execution.id, lease.epoch + 1);
  }
  execution.lease = renewed;
  execution.onRenewed();
}

/**
 * Before something that must not happen twice: the store's word that its intent is written may have come so late that the run is
 * somebody else's by now, who says that nobody knows whether it happened.
 */
export async function announced(execution: Beginner): Promise<void> {
  execution.beginning++;
  try {
    await patiently(execution, () => execution.writer.flush());
    const { lease, runtime } = execution;
    if (lease !== undefined && runtime.platform.elapsed() >= lease.sureUntil) await patiently(execution, () => assertHeld(execution));
  } finally {
    execution.beginning--;
  }
}

interface Beginner extends Holder {
  beginning: number;
  readonly writer: { flush(): Promise<unknown> };
}

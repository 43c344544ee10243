/**
 * Whose data a runtime works on, and how to reach others': what a server needs that lets in many. Apart from the runtime itself, which
 * knows one tenant and project and no other.
 */
import type { AccessStore, Scope } from "../access/access.ts";
import type { Rath } from "./rath.ts";
import type { Runtime } from "./runtime.ts";

export interface Tenancy {
  readonly scope: Scope;
  /** Keys and the access log, beside the store; where the store keeps nothing, in memory, and the same for all who ask. */
  openAccess(): Promise<AccessStore>;
  /** Runs are executed here, wait here, or are worked on: it must not be closed. */
  isBusy(): boolean;
  /** A Rath with the same options for another tenant or project; undefined where the store was opened by somebody else, for one. */
  open(scope: Scope): Rath | undefined;
}

const tenancies = new WeakMap<Runtime, Tenancy>();

/** Said once, by whoever puts a runtime together. */
export function tenanted(runtime: Runtime, tenancy: Tenancy): void {
  tenancies.set(runtime, tenancy);
}

export function tenancyOf(runtime: Runtime): Tenancy {
  const tenancy = tenancies.get(runtime);
  if (tenancy === undefined) throw new Error("this runtime was not made by openrath()");
  return tenancy;
}

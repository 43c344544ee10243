/** Who makes a call, and whose data it may see. */
import type { Permission, Role, Scope } from "../access/access.ts";

export interface Caller extends Scope {
  /** The id of the key; undefined where calls from this machine need none. */
  readonly key: string | undefined;
  /** Like "human:ada": what records name. */
  readonly identity: string;
  readonly roles: readonly Role[];
  readonly permissions: ReadonlySet<Permission>;
  /** When the key ends, an ISO time. */
  readonly expires?: string | undefined;
}

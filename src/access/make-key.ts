/** Making keys and replacing them: the same whether a call asks for it or somebody at the machine. */
import { RathError } from "../session/errors.ts";
import { unsupported } from "../session/given.ts";
import type { AccessStore, Permission, Role, Scope, StoredKey } from "./access.ts";
import { isValidAt, newKey } from "./key.ts";
import { allPermissions, roles as allRoles, permissionsFor } from "./permissions.ts";

/** A key as it is asked for. */
export interface KeyRequest extends Scope {
  readonly identity: string;
  readonly roles: readonly Role[];
  readonly permissions?: readonly Permission[] | undefined;
  /** An ISO time. */
  readonly expires?: string | undefined;
  /** Who asks. */
  readonly by: string;
}

/** A key, and what is shown of it once. */
export interface MadeKey {
  readonly token: string;
  readonly key: StoredKey;
}

export async function makeKey(access: AccessStore, asked: KeyRequest, now: Date, replaces?: string): Promise<MadeKey> {
  const { tenant, project, identity, roles, permissions, expires, by } = checkedKey(asked, now);
  const { token, id, hash } = newKey();
  const never = { revoked: undefined, used: undefined };
  const created = now.toISOString();
  const key = { ...{ id, tenant, project, hash, identity, roles, permissions, created, expires, replaces, by }, ...never };
  await access.addKey(key);
  return { token, key };
}

export interface Rotation {
  /** How long the old key still counts, in milliseconds. */
  readonly graceMs: number;
  /** Left out: when the old one does. */
  readonly expires?: string | undefined;
  readonly by: string;
}

/** Another key that may do the same, as long unless told otherwise; the old one ends after a while. The new one is there before the old one is ended. */
export async function rotateKey(
  access: AccessStore,
  old: StoredKey,
  { graceMs, expires = old.expires, by }: Rotation,
  now: Date,
): Promise<MadeKey> {
  if (!isValidAt(old, now.toISOString()))
    throw new RathError("access.conflict", `Key ${old.id} has ended, so there is nothing to replace: make another.`, {
      details: { key: old.id },
    });
  const { tenant, project, identity, roles, permissions } = old;
  const made = await makeKey(access, { tenant, project, identity, roles, permissions, expires, by }, now, old.id);
  // Revoked from then on: when it would have expired stays known, for whoever rotates it once more meanwhile.
  await access.endKey(old.id, { revoked: new Date(now.getTime() + graceMs).toISOString() });
  return made;
}

/** Whoever makes a key with a key of their own. */
export interface Maker {
  readonly identity: string;
  readonly roles: readonly Role[];
  readonly permissions: ReadonlySet<Permission>;
}

/** Nobody gives what they do not have; nor a name or a role, by which questions and memories are somebody's, unless they act for people. */
export function refuseMore(asked: Pick<StoredKey, "identity" | "roles" | "permissions">, own: Maker): void {
  const more = [...permissionsFor(asked)].filter((one) => !own.permissions.has(one));
  if (more.length > 0)
    throw new RathError("access.forbidden", `A key cannot be given more than its maker has: ${more.join(", ")}.`, { details: { more } });
  if (own.permissions.has("people:act")) return;
  const other = asked.identity === own.identity ? asked.roles.find((role) => !own.roles.includes(role)) : asked.identity;
  if (other === undefined) return;
  throw new RathError("access.forbidden", `This key makes keys of ${own.identity} and their roles alone: ${other} needs people:act.`, {
    details: { needs: "people:act" },
  });
}

/** Nobody makes what outlives them: it would be a way to stay. When a key ends that was asked for; left out, as usual or with its maker. */
export function endNoLater(asked: string | undefined, own: string | undefined, usual?: string): string | undefined {
  const end = asked ?? usual;
  if (own === undefined || (end !== undefined && new Date(end) <= new Date(own))) return end;
  if (asked === undefined) return own;
  throw new RathError("access.forbidden", `A key cannot outlive its maker, which ends at ${own}: give an earlier time, or leave it out.`, {
    details: { expires: own },
  });
}

const longest = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a name
const odd = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\p{Cs}]/u;

function checkedKey(asked: KeyRequest, now: Date): KeyRequest {
  for (const field of ["tenant", "project", "identity"] as const) {
    const value = asked[field];
    if (value === "" || value.length > longest || value.trim() !== value || odd.test(value))
      throw unsupported(field, "is no name", `give 1 to ${longest} characters that can be seen`);
  }
  if (!/^[a-z]+:./.test(asked.identity)) throw unsupported("identity", "does not say who", 'give one like "human:ada" or "service:ci"');
  if (asked.roles.length === 0) throw unsupported("roles", "are none", `give one of ${allRoles.join(", ")}`);
  for (const role of asked.roles)
    if (!allRoles.includes(role)) throw unsupported("role", `is ${JSON.stringify(role)}`, `give one of ${allRoles.join(", ")}`);
  for (const one of asked.permissions ?? [])
    if (!allPermissions.includes(one))
      throw unsupported("permission", `is ${JSON.stringify(one)}`, `give one of ${allPermissions.join(", ")}`);
  const allowed = permissionsFor({ roles: asked.roles, permissions: undefined });
  const without = (asked.permissions ?? []).filter((one) => !allowed.has(one));
  if (without.length > 0)
    throw unsupported("permissions", `have ${without.join(", ")}, which the roles do not`, "permissions narrow what roles allow");
  return { ...asked, roles: [...new Set(asked.roles)], expires: asked.expires === undefined ? undefined : laterThan(asked.expires, now) };
}

/** In one form, so that times can be compared as texts. */
function laterThan(expires: string, now: Date): string {
  const time = new Date(expires);
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9999)
    throw unsupported("expires", "is no time", "give one like 2027-01-01T00:00:00Z");
  if (time <= now) throw unsupported("expires", "is in the past", "give a later time");
  return time.toISOString();
}

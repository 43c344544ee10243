/** What roles allow. A call needs one permission; a key has those of its roles, perhaps narrowed. */
import type { Permission, Role, StoredKey } from "./access.ts";

const reading: readonly Permission[] = ["sessions:read", "runs:read", "pending:read", "memory:read"];

const permissionsOf: Readonly<Record<Role, readonly Permission[]>> = {
  viewer: reading,
  operator: [...reading, "sessions:write", "runs:write", "memory:write", "metrics:read"],
  // Whoever starts work is not by that somebody who may approve it.
  approver: [...reading, "pending:decide"],
  admin: [
    ...reading,
    ...([
      "sessions:write",
      "sessions:erase",
      "runs:write",
      "pending:decide",
      "memory:write",
      "keys:read",
      "keys:write",
      "metrics:read",
      "people:act",
    ] as const),
  ],
};

export function permissionsFor({ roles, permissions }: Pick<StoredKey, "roles" | "permissions">): ReadonlySet<Permission> {
  const allowed = new Set(roles.flatMap((role) => permissionsOf[role]));
  return permissions === undefined ? allowed : new Set(permissions.filter((one) => allowed.has(one)));
}

export const roles = Object.keys(permissionsOf) as readonly Role[];
export const allPermissions: readonly Permission[] = permissionsOf.admin;

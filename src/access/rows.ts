/** Keys and entries as rows of a database have them: in both kinds of database alike. */
import type { NotedEntry, Permission, Role, StoredKey } from "./access.ts";

export interface KeyRow {
  readonly no: number | string;
  readonly id: string;
  readonly tenant: string;
  readonly project: string;
  readonly hash: string;
  readonly identity: string;
  readonly roles: string;
  readonly permissions: string | null;
  readonly created: string;
  readonly made_by: string;
  readonly replaces: string | null;
  readonly expires: string | null;
  readonly revoked: string | null;
  readonly used: string | null;
}

export interface EntryRow {
  readonly no: number | string;
  readonly tenant: string | null;
  readonly project: string | null;
  readonly at: string;
  readonly request: string;
  readonly key: string | null;
  readonly identity: string | null;
  readonly method: string;
  readonly route: string;
  readonly about: string | null;
  readonly status: number;
  readonly code: string | null;
}

/** In the order of `keyValues`. */
export const keyColumns =
  "id, tenant, project, hash, identity, roles, permissions, created, made_by, replaces, expires, revoked, used" as const;

export function keyValues(key: StoredKey): (string | null)[] {
  const { id, tenant, project, hash, identity, roles, permissions, created, by, replaces, expires, revoked, used } = key;
  const lists = [JSON.stringify(roles), permissions === undefined ? null : JSON.stringify(permissions)];
  return [id, tenant, project, hash, identity, ...lists, created, by, replaces ?? null, expires ?? null, revoked ?? null, used ?? null];
}

export function keyOf(row: KeyRow): StoredKey {
  const { id, tenant, project, hash, identity, created } = row;
  return {
    ...{ id, tenant, project, hash, identity },
    roles: JSON.parse(row.roles) as Role[],
    permissions: row.permissions === null ? undefined : (JSON.parse(row.permissions) as Permission[]),
    created,
    expires: row.expires ?? undefined,
    revoked: row.revoked ?? undefined,
    replaces: row.replaces ?? undefined,
    by: row.made_by,
    used: row.used ?? undefined,
  };
}

/** In the order of the columns of an entry, which has the number last. */
export const entryColumns = "tenant, project, at, request, key, identity, method, route, about, status, code" as const;

export function entryOf({ no, at, request, method, route, status, ...row }: EntryRow): NotedEntry {
  return {
    no: Number(no),
    ...(row.tenant === null ? {} : { tenant: row.tenant }),
    ...(row.project === null ? {} : { project: row.project }),
    ...{ at, request, method, route, status },
    key: row.key ?? undefined,
    identity: row.identity ?? undefined,
    about: row.about ?? undefined,
    code: row.code ?? undefined,
  };
}

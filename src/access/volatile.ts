/** Keys and the access log in memory: for tests, and beside stores that keep nothing. They go with the process. */
import type { AccessStore, NotedEntry, Scope, StoredKey } from "./access.ts";
import { keyConflict } from "./key.ts";

/** Of each project's access log so many are kept; it is looked through when so many more were written. */
const mostEntries = 10_000;
const trimAfter = 1000;

export function volatileAccess(): AccessStore {
  const keys = new Map<string, StoredKey>();
  let entries: NotedEntry[] = [];
  let [noted, untrimmed] = [0, 0];
  const trim = (since: string, most: number): void => {
    const counts = new Map<string, number>();
    const kept: NotedEntry[] = [];
    for (const entry of entries.toReversed()) {
      if (entry.at < since) continue;
      const scope = JSON.stringify([entry.tenant, entry.project]);
      const count = (counts.get(scope) ?? 0) + 1;
      counts.set(scope, count);
      if (count <= most) kept.push(entry);
    }
    [entries, untrimmed] = [kept.reverse(), 0];
  };
  return {
    addKey: async (key) => {
      if (keys.has(key.id)) throw keyConflict(key.id);
      keys.set(key.id, { ...key });
    },
    keys: async function* ({ after, ...scope }) {
      const all = [...keys.values()];
      for (const key of all.slice(after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1 || all.length))
        if (isWithin(key, scope)) yield key;
    },
    key: async (id) => keys.get(id),
    endKey: async (id, end) => {
      const key = keys.get(id);
      if (key === undefined) return false;
      keys.set(id, { ...key, revoked: earlier(key.revoked, end.revoked), expires: earlier(key.expires, end.expires) });
      return true;
    },
    used: async (uses) => {
      for (const { id, at } of uses) {
        const key = keys.get(id);
        if (key !== undefined && (key.used === undefined || key.used < at)) keys.set(id, { ...key, used: at });
      }
    },
    note: async (given) => {
      for (const entry of given) entries.push({ ...entry, no: ++noted });
      untrimmed += given.length;
      if (untrimmed >= trimAfter) trim("", mostEntries);
    },
    entries: async function* ({ limit, before = Number.POSITIVE_INFINITY, ...scope }) {
      const found: NotedEntry[] = [];
      for (let at = entries.length - 1; at >= 0 && found.length < limit; at--) {
        const entry = entries[at] as NotedEntry;
        if (entry.no < before && isWithin(entry, scope)) found.push(entry);
      }
      yield* found;
    },
    trim: async ({ since, most }) => trim(since, most),
    [Symbol.asyncDispose]: async () => {},
  };
}

function isWithin(one: Partial<Scope>, { tenant, project }: Partial<Scope>): boolean {
  return (tenant === undefined || one.tenant === tenant) && (project === undefined || one.project === project);
}

function earlier(a: string | undefined, b: string | undefined): string | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a;
}

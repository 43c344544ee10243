/** What every access store must do, asked of each: in memory, in a file, in PostgreSQL. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dropSchemas, freshSchema, sharedPostgres } from "../../test/support/postgres.ts";
import { collect } from "../testing/store-case.ts";
import type { AccessEntry, AccessStore, StoredKey } from "./access.ts";
import { newKey } from "./key.ts";
import { postgresAccess } from "./postgres.ts";
import { sqliteAccess } from "./sqlite.ts";
import { volatileAccess } from "./volatile.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-access-"));
const schemas: string[] = [];
let url = "";
beforeAll(async () => {
  url = await sharedPostgres();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await dropSchemas(url, schemas);
});

const hour = (n: number): string => new Date(Date.UTC(2026, 0, 1, n)).toISOString();

function key(given: Partial<StoredKey> = {}): StoredKey {
  const { id, hash } = newKey();
  const who = { tenant: "acme", project: "shop", identity: "human:ada", roles: ["operator"], permissions: undefined } as const;
  const when = { created: hour(1), expires: undefined, revoked: undefined, replaces: undefined, by: "human:root", used: undefined };
  return { id, hash, ...who, ...when, ...given };
}

function entry(given: Partial<AccessEntry> = {}): AccessEntry {
  const what = { method: "POST", route: "/v1/runs", about: undefined, status: 201, code: undefined };
  return { at: hour(1), request: "r", key: "rath_a", identity: "human:ada", tenant: "acme", project: "shop", ...what, ...given };
}

interface Kind {
  /** A new one, and others on the same data. */
  make(): () => AccessStore;
}

let files = 0;
const kinds: Readonly<Record<string, Kind>> = {
  volatile: {
    make: () => {
      const one = volatileAccess();
      return () => one;
    },
  },
  sqlite: {
    make: () => {
      const path = join(folder, `access-${files++}.db`);
      return () => sqliteAccess(path);
    },
  },
  postgres: {
    make: () => {
      const schema = freshSchema();
      schemas.push(schema);
      return () => postgresAccess(url, { schema, max: 2 });
    },
  },
};

describe.each(Object.entries(kinds))("%s", (_, { make }) => {
  test("a key is there as it was given, for whoever opens it next", async () => {
    const open = make();
    await using access = open();
    const whole = key({
      ...{ identity: 'human:"ädä\u202e" 🦉', permissions: ["runs:read"], expires: hour(9), replaces: "rath_b", used: hour(2) },
      roles: ["viewer", "approver"],
    });
    const given = [key(), whole, key({ permissions: [], revoked: hour(3), roles: [] })];
    expect([await access.key("rath_none"), await collect(access.keys({}))]).toEqual([undefined, []]);
    for (const one of given) await access.addKey(one);
    await using other = open();
    for (const one of given) expect(await other.key(one.id)).toEqual(one);
    expect(await collect(other.keys({}))).toEqual(given);
    await expect(other.addKey({ ...whole, hash: "00" })).rejects.toMatchObject({ code: "access.conflict" });
    expect(await access.key(whole.id)).toEqual(whole);
    expect(await access.key("\0")).toBe(undefined);
  });

  test("keys are listed by scope, oldest first, on from one of them", async () => {
    await using access = make()();
    const scopes = [
      { tenant: "acme", project: "shop" },
      { tenant: "acme", project: "lab" },
      { tenant: "other", project: "shop" },
    ];
    // More than a page of them.
    const keys = Array.from({ length: 108 }, (_, i) => key({ ...scopes[i % 3], identity: `human:${i}` }));
    for (const one of keys) await access.addKey(one);
    for (const scope of [...scopes, { tenant: "acme" }, { project: "shop" }, {}]) {
      const expected = keys.filter((one) => (scope.tenant ?? one.tenant) === one.tenant && (scope.project ?? one.project) === one.project);
      const ids = expected.map(({ id }) => id);
      expect((await collect(access.keys(scope))).map(({ id }) => id)).toEqual(ids);
      expect((await collect(access.keys({ ...scope, after: ids[20] }))).map(({ id }) => id)).toEqual(ids.slice(21));
    }
    expect(await collect(access.keys({ after: "rath_none" }))).toEqual([]);
    expect(await collect(access.keys({ tenant: "acme' OR 1=1 --" }))).toEqual([]);
  });

  test("of two ends the earlier stays, and nothing else changes", async () => {
    await using access = make()();
    const [one, other] = [key(), key()];
    await access.addKey(one);
    await access.addKey(other);
    expect(await access.endKey("rath_none", { revoked: hour(1) })).toBe(false);
    expect(await access.endKey(one.id, { expires: hour(5) })).toBe(true);
    expect(await access.key(one.id)).toEqual({ ...one, expires: hour(5) });
    await access.endKey(one.id, { expires: hour(7), revoked: hour(6) });
    await access.endKey(one.id, { revoked: hour(4) });
    await access.endKey(one.id, { revoked: hour(8) });
    await access.endKey(one.id, {});
    expect(await access.key(one.id)).toEqual({ ...one, expires: hour(5), revoked: hour(4) });
    expect(await access.key(other.id)).toEqual(other);
  });

  test("the last use stays the last, whoever says it first", async () => {
    await using access = make()();
    const [one, other] = [key(), key()];
    await access.addKey(one);
    await access.addKey(other);
    await access.used([
      { id: one.id, at: hour(3) },
      { id: "rath_none", at: hour(3) },
    ]);
    await access.used([{ id: one.id, at: hour(2) }]);
    await access.used([]);
    expect(await access.key(one.id)).toEqual({ ...one, used: hour(3) });
    expect(await access.key(other.id)).toEqual(other);
  });

  // Mutants: only one page goes; the number or the time is not looked at.
  test("the log is trimmed from its oldest entry on, by time and by number", async () => {
    await using access = make()();
    await access.trim({ since: hour(1), most: 10 });
    await access.note(Array.from({ length: 2500 }, (_, i) => entry({ at: hour(i < 2200 ? 1 : 3), request: `r${i}` })));
    const left = async (): Promise<string[]> => (await collect(access.entries({ limit: 5000 }))).map(({ request }) => request);
    await access.trim({ since: hour(0), most: Number.POSITIVE_INFINITY });
    expect(await left()).toHaveLength(2500);
    await access.trim({ since: hour(0), most: 2400 });
    expect([(await left()).length, (await left()).at(-1)]).toEqual([2400, "r100"]);
    await access.trim({ since: hour(2), most: 1000 });
    expect([(await left()).length, (await left()).at(-1)]).toEqual([300, "r2200"]);
    await access.trim({ since: hour(2), most: 5 });
    expect(await left()).toEqual(["r2499", "r2498", "r2497", "r2496", "r2495"]);
  });

  // Mutants: the number is that of all projects; callers nobody knows are not counted.
  test("the log of one project is not trimmed for what another makes", async () => {
    await using access = make()();
    await access.note(Array.from({ length: 3 }, (_, i) => entry({ project: "quiet", request: `q${i}` })));
    const { tenant: _tenant, project: _project, ...unknown } = entry({ status: 401 });
    await access.note(Array.from({ length: 1500 }, (_, i) => ({ ...unknown, request: `u${i}` })));
    await access.note(Array.from({ length: 1500 }, (_, i) => entry({ project: "noisy", request: `n${i}` })));
    await access.trim({ since: hour(0), most: 5 });
    const left = (await collect(access.entries({ limit: 5000 }))).map(({ request }) => request).reverse();
    expect(left).toEqual(["q0", "q1", "q2", ...[5, 6, 7, 8, 9].map((i) => `u149${i}`), ...[5, 6, 7, 8, 9].map((i) => `n149${i}`)]);
  });

  test("the log is read backwards by scope, page by page, without a gap or a double at equal times", async () => {
    const open = make();
    await using access = open();
    expect(await collect(access.entries({ limit: 5 }))).toEqual([]);
    const { tenant: _tenant, project: _project, ...known } = entry({ status: 401, code: "access.unauthenticated" });
    const unknown: AccessEntry = { ...known, key: undefined, identity: undefined };
    const all = Array.from({ length: 25 }, (_, i) =>
      i % 5 === 4 ? unknown : entry({ project: i % 2 === 0 ? "shop" : "lab", request: `r${i}`, about: `session=${i} "ü`, status: 200 + i }),
    );
    await access.note(all.slice(0, 10));
    await access.note([]);
    await access.note(all.slice(10));
    await using other = open();
    const paged = async (scope: object): Promise<unknown[]> => {
      const found: unknown[] = [];
      for (let before: number | undefined; ; ) {
        const page = await collect(other.entries({ ...scope, limit: 4, before }));
        found.push(...page.map(({ no: _no, ...rest }) => rest));
        if (page.length < 4) return found;
        before = page.at(-1)?.no;
      }
    };
    const bare = ({ tenant, project, ...rest }: AccessEntry): object => ({
      ...rest,
      ...(tenant === undefined ? {} : { tenant, project }),
    });
    expect(await paged({})).toEqual(all.map(bare).reverse());
    const shop = all.filter((one) => one.tenant === "acme" && one.project === "shop");
    expect(await paged({ tenant: "acme", project: "shop" })).toEqual(shop.map(bare).reverse());
    expect(await paged({ tenant: "nobody", project: "shop" })).toEqual([]);
  });
});

test("a file that nobody wrote to is not made, and one that somebody did is its owner's alone", async () => {
  const path = join(folder, "new", "access.db");
  await using access = sqliteAccess(path);
  await access.key("rath_a");
  await access.endKey("rath_a", { revoked: hour(1) });
  await access.used([{ id: "rath_a", at: hour(1) }]);
  await access.note([]);
  expect(statSync(path, { throwIfNoEntry: false })).toBe(undefined);
  await access.addKey(key());
  expect([statSync(path).mode & 0o777, statSync(join(folder, "new")).mode & 0o777]).toEqual([0o600, 0o700]);
});

test("of a secret nothing but its hash is on disk", async () => {
  const path = join(folder, "secret.db");
  const { token, id, hash } = newKey();
  {
    await using access = sqliteAccess(path);
    await access.addKey(key({ id, hash }));
  }
  const bytes = readFileSync(path, "latin1");
  expect([bytes.includes(id), bytes.includes(hash), bytes.includes(token.slice(id.length + 1))]).toEqual([true, true, false]);
});

/** Adds keys without end, and tells each that was acknowledged. */
const adding = `
  const { sqliteAccess } = await import(${JSON.stringify(new URL("./sqlite.ts", import.meta.url).href)});
  const { newKey } = await import(${JSON.stringify(new URL("./key.ts", import.meta.url).href)});
  const access = sqliteAccess(process.argv[1]);
  const rest = { tenant: "acme", project: "shop", identity: "service:x", roles: [], created: "2026", by: "x" };
  for (;;) {
    const { id, hash } = newKey();
    await access.addKey({ id, hash, ...rest });
    console.log(id);
    await new Promise(setImmediate);
  }
`;

test("what another process was told is there stays there when it is killed, and both see each other's keys at once", async () => {
  const path = join(folder, "shared.db");
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", adding, path];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await using access = sqliteAccess(path);
  const acknowledged: string[] = [];
  const revoked: string[] = [];
  for await (const id of createInterface({ input: child.stdout })) {
    acknowledged.push(id);
    expect(await access.key(id)).toMatchObject({ id, revoked: undefined });
    expect(await access.endKey(id, { revoked: hour(1) })).toBe(true);
    revoked.push(id);
    if (acknowledged.length === 20) child.kill("SIGKILL");
  }
  await using later = sqliteAccess(path);
  const keys = await collect(later.keys({}));
  expect(keys.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
  expect(keys.filter((one) => one.revoked === hour(1)).map(({ id }) => id)).toEqual(revoked);
  expect(acknowledged.length).toBeGreaterThanOrEqual(20);
});

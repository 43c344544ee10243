/** Fencing across connections of a real server: what a takeover may and may not see, and the mutants that get it wrong. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dropSchemas, freshSchema, sharedPostgres, withClient } from "../../test/support/postgres.ts";
import { collect } from "../testing/store-case.ts";
import { leaseCases } from "../testing/store-lease-cases.ts";
import { storedChain, storedEvent } from "../testing/stored-event.ts";
import { append as firstAppend } from "./migrations/postgres-first.ts";
import { append } from "./migrations/postgres-wakes.ts";
import { type PostgresPool, postgresStore } from "./postgres.ts";
import type { Lease, RunRow, Store, Write, Written } from "./store.ts";

const run: RunRow = { id: "r", key: undefined, session: "s", workflow: "w", status: "running", wakeAt: undefined };
const long = 60_000;
let url = "";
const schemas: string[] = [];
beforeAll(async () => {
  url = await sharedPostgres();
});
afterAll(() => dropSchemas(url, schemas));

/** A store in a schema of its own whose function for appends was altered. */
async function altered(alter: (sql: string) => string): Promise<{ store: Store; schema: string }> {
  const schema = freshSchema();
  schemas.push(schema);
  const store = postgresStore(url, { schema, max: 4 });
  await collect(store.runs({}));
  const sql = alter(append);
  if (sql !== append) await withClient(url, (client) => client.query(sql.replaceAll("openrath.", `"${schema}".`)));
  return { store, schema };
}

/** Resolves when a statement of the schema, of one kind, waits for a lock, or when it turns out that none does. */
async function blocked(schema: string, kind = "", unless?: Promise<unknown>): Promise<void> {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  unless?.then(end, end);
  await withClient(url, async (client) => {
    const sql = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, $1) > 0 AND strpos(query, $2) > 0";
    while (!ended && (await client.query(sql, [`"${schema}"`, kind])).rows.length === 0);
  });
}

/** A pool of one connection whose statements are altered. */
async function connected(alter: (sql: string) => string): Promise<PostgresPool & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return { query: (sql, values) => client.query(alter(sql), values), [Symbol.asyncDispose]: () => client.end() };
}

describe("an append in flight during takeover", () => {
  /** How many events the new owner finds right after it took over, while the old owner's append is about to commit. */
  async function foundAtTakeover(alter: (sql: string) => string): Promise<number> {
    const { store, schema } = await altered(alter);
    await using fresh = store;
    await fresh.append({ branches: [], run });
    const lease = (await fresh.claim("r", "old", long)) as Lease;
    return await withClient(url, async (client) => {
      // A pool that is one connection inside a transaction: the append is done and its commit still to come.
      await using old = postgresStore({ query: (sql, values) => client.query(sql, values) }, { schema });
      await client.query("BEGIN");
      const [event] = storedChain([{}], "s");
      expect(await old.append({ branches: [{ session: "s", expectedHead: undefined, events: [event as never] }], lease })).toEqual({
        ok: true,
      });
      const found = fresh.claim("r", "new", long, { from: "old" }).then(() => collect(fresh.events({ session: "s" })));
      await blocked(schema, "", found);
      await client.query("COMMIT");
      return (await found).length;
    });
  }

  test("is waited for, so that the new owner sees it", async () => {
    expect(await foundAtTakeover((sql) => sql)).toBe(1);
  });

  test("mutant: without the row lock it lands behind the new owner's back", async () => {
    expect(await foundAtTakeover((sql) => sql.replace(" FOR SHARE", ""))).toBe(0);
  });
});

describe("a wake that is about to be committed while an earlier one is heard", () => {
  type Hear = (store: Store, lease: Lease) => Promise<unknown>;
  const take: Hear = (store) => store.take({ workflows: ["w"], limit: 1 }, "new", long);
  const claim: Hear = (store) => store.claim("r", "new", long, { from: "old" });
  const renew: Hear = (store, lease) => store.renew(lease, long);

  /** What whoever heard finds in the logs then, and which runs are still woken. */
  async function heard(hear: Hear, alter = (sql: string): string => sql): Promise<{ found: number; woken: string[] }> {
    const { store, schema } = await altered(alter);
    await using hears = store;
    await hears.append({ branches: [], run });
    const lease = (await hears.claim("r", "old", long)) as Lease;
    if (hear === take) await hears.release(lease);
    await hears.append({ branches: [], wake: ["r"] });
    return await withClient(url, async (client) => {
      await using wakes = postgresStore({ query: (sql, values) => client.query(sql, values) }, { schema });
      await client.query("BEGIN");
      await wakes.append({ branches: [{ session: "answer", expectedHead: undefined, events: storedChain([{}], "answer") }], wake: ["r"] });
      const hearing = hear(hears, lease).then(() => collect(hears.events({ session: "answer" })));
      await blocked(schema, "", hearing);
      await client.query("COMMIT");
      const found = (await hearing).length;
      return { found, woken: (await collect(hears.runs({ woken: true }))).map(({ id }) => id) };
    });
  }

  test("is waited for by who claims or renews", async () => {
    for (const hear of [claim, renew]) expect(await heard(hear)).toEqual({ found: 1, woken: [] });
  });

  test("is passed over by who takes, and heard by whoever takes next", async () => {
    expect(await heard(take)).toEqual({ found: 0, woken: ["r"] });
  });

  test("mutant: as the first format woke, nobody hears of it", async () => {
    for (const hear of [take, claim, renew]) expect(await heard(hear, () => firstAppend)).toEqual({ found: 0, woken: [] });
  });
});

/** An epoch for each branch instead of one for the run. */
function epochPerBranch(store: Store): Store {
  const newest = new Map<string, number>();
  const append = async (write: Write): Promise<Written> => {
    const epoch = write.lease?.epoch ?? 0;
    const stale = write.branches.find(({ session }) => (newest.get(session) ?? 0) > epoch);
    if (stale !== undefined) return { ok: false, reason: "epoch", epoch: newest.get(stale.session) ?? 0 };
    for (const { session } of write.branches) newest.set(session, epoch);
    return store.append({ ...write, lease: undefined });
  };
  return { ...store, append };
}

describe("a zombie that appends to a fork after takeover", () => {
  const found = leaseCases.find(({ name }) => name === "a takeover fences every branch of the run, forks and new logs too");
  const judged = async (alter: (sql: string) => string, wrap: (store: Store) => Store) => {
    const { store } = await altered(alter);
    await using opened = store;
    return await found?.run(wrap(opened), async () => opened);
  };
  const same = <T>(value: T): T => value;

  test("is fenced", () => judged(same, same));
  test("mutant: an epoch per branch lets it in", () => expect(judged(same, epochPerBranch)).rejects.toThrow());
  test("mutant: an epoch that nobody checks lets it in", () =>
    expect(judged((sql) => sql.replace("r.epoch IS DISTINCT FROM l.epoch", "false"), same)).rejects.toThrow());
});

describe("two processes that append after the same head at the same moment", () => {
  test("exactly one wins, and the other is told the head that won", async () => {
    const { store, schema } = await altered((sql) => sql);
    await using second = store;
    const [root] = storedChain([{}], "s");
    await second.append({ branches: [{ session: "s", expectedHead: undefined, events: [root as never] }] });
    const rivals = ["a", "b"].map((data) => storedEvent({ session: "s", step: 1, parents: [(root as { id: string }).id], data }));
    const write = (i: number): Write => ({ branches: [{ session: "s", expectedHead: root?.id, events: [rivals[i] as never] }] });
    await withClient(url, async (client) => {
      await using first = postgresStore({ query: (sql, values) => client.query(sql, values) }, { schema });
      await client.query("BEGIN");
      expect(await first.append(write(0))).toEqual({ ok: true });
      const lost = second.append(write(1));
      await blocked(schema);
      await client.query("COMMIT");
      expect(await lost).toEqual({ ok: false, reason: "head", session: "s", head: rivals[0]?.id });
    });
    expect(await collect(second.events({ session: "s" }))).toHaveLength(2);
  });
});

describe("a log that is removed while somebody appends to it", () => {
  /** What is there once both have ended: the append has looked at the heads, and waits before it stores. */
  async function bothEnded(held: boolean): Promise<{ written: unknown; removed: unknown; lost: number; events: number }> {
    const { store, schema } = await altered((sql) => sql);
    await using removes = store as Required<Store>;
    const lock = /pg_advisory_xact_lock_shared\(.*\)\)/;
    await using pool = await connected((sql) => (held ? sql : sql.replace(lock, "1)")));
    await using appends = postgresStore(pool, { schema });
    const [root, next] = storedChain([{}, {}], "s") as [ReturnType<typeof storedEvent>, ReturnType<typeof storedEvent>];
    await appends.append({ branches: [{ session: "s", expectedHead: undefined, events: [root] }] });
    return await withClient(url, async (client) => {
      // Somebody else is about to make the log that the append makes beside it.
      await client.query(`BEGIN; INSERT INTO "${schema}".logs (tenant, project, id, log, tags, created)
        VALUES ('default', 'default', 'beside', 'session', '{}', now())`);
      const beside = { session: "beside", expectedHead: undefined, events: storedChain([{}], "beside") };
      const write: Write = { branches: [{ session: "s", expectedHead: root.id, events: [next] }, beside] };
      const writing = appends.append(write);
      await blocked(schema, ".append(");
      const removing = removes.remove([{ session: "s", head: root.id }]);
      await blocked(schema, "pg_advisory_xact_lock(", removing);
      await client.query("ROLLBACK");
      const [written, removed] = [await writing, await removing];
      const lost = `SELECT 1 FROM "${schema}".frames f WHERE NOT EXISTS (SELECT 1 FROM "${schema}".logs l WHERE l.no = f.log)`;
      return {
        written,
        removed,
        lost: (await client.query(lost)).rows.length,
        events: (await collect(appends.events({ session: "s" }))).length,
      };
    });
  }

  test("stays, with what was appended", async () => {
    expect(await bothEnded(true)).toEqual({ written: { ok: true }, removed: false, lost: 0, events: 2 });
  });

  test("mutant: without the lock the append is acknowledged, and nobody finds its event", async () => {
    expect(await bothEnded(false)).toEqual({ written: { ok: true }, removed: true, lost: 1, events: 0 });
  });
});

describe("a log that is removed while somebody stores what needs it", () => {
  /** The new log stands on no head of the old one: what tells is that it came after the place. Its commit is still to come. */
  async function bothEnded(alter: (sql: string) => string): Promise<{ removed: unknown; logs: number }> {
    const { store, schema } = await altered((sql) => sql);
    await using appends = store;
    await using pool = await connected(alter);
    await using removes = postgresStore(pool, { schema }) as Required<Store>;
    const [old] = storedChain([{}], "old") as [ReturnType<typeof storedEvent>];
    await appends.append({ branches: [{ session: "old", expectedHead: undefined, events: [old] }] });
    const after = await fedPast(removes, old.id);
    return await withClient(url, async (client) => {
      await using stores = postgresStore({ query: (sql, values) => client.query(sql, values) }, { schema });
      await client.query("BEGIN");
      await stores.append({ branches: [{ session: "new", expectedHead: undefined, events: storedChain([{}], "new") }] });
      const removing = removes.remove([{ session: "old", head: old.id }], { after });
      await blocked(schema, "pg_advisory_xact_lock(", removing);
      await client.query("COMMIT");
      return { removed: await removing, logs: (await collect(appends.sessions({}))).length };
    });
  }

  /** The place after an event, once the feed tells of it. */
  async function fedPast(store: Store, id: string): Promise<string> {
    for (;;) for await (const { place, events } of store.feed({})) if (events.at(-1)?.id === id) return place;
  }

  test("stays", async () => {
    expect(await bothEnded((sql) => sql)).toEqual({ removed: false, logs: 2 });
  });

  test("mutant: without the lock it goes", async () => {
    const unlocked = (sql: string): string => sql.replace(/pg_advisory_xact_lock\(.*\);/, "1;");
    expect(await bothEnded(unlocked)).toEqual({ removed: true, logs: 1 });
  });

  test("what other projects append keeps no log", async () => {
    const { store, schema } = await altered((sql) => sql);
    await using mine = store as Required<Store>;
    await using others = postgresStore(url, { schema, project: "other", max: 2 });
    const [old] = storedChain([{}], "old") as [ReturnType<typeof storedEvent>];
    await mine.append({ branches: [{ session: "old", expectedHead: undefined, events: [old] }] });
    const after = await fedPast(mine, old.id);
    await others.append({ branches: [{ session: "theirs", expectedHead: undefined, events: storedChain([{}], "theirs") }] });
    expect(await mine.remove([{ session: "old", head: old.id }], { after })).toBe(true);
  });
});

describe("runs that many take at once", () => {
  test("each goes to one worker, and one whose holder is appending is passed over", async () => {
    const { store, schema } = await altered((sql) => sql);
    await using first = store;
    await using second = postgresStore(url, { schema, max: 4 });
    const due = { ...run, wakeAt: "2020-01-01T00:00:00.000Z" };
    await Promise.all(Array.from({ length: 60 }, (_, i) => first.append({ branches: [], run: { ...due, id: `r${i}`, priority: i % 3 } })));
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const client = await pool.connect();
    await client.query(`BEGIN; SELECT 1 FROM "${schema}".runs WHERE id = 'r2' FOR SHARE`);
    const takers = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? first : second).take({ workflows: ["w"], limit: 7 }, `w${i}`, long));
    const taken = (await Promise.all(takers)).flat();
    expect(new Set(taken.map(({ row }) => row.id)).size).toBe(taken.length);
    await client.query("COMMIT");
    client.release();
    await pool.end();
    const rest = await first.take({ workflows: ["w"], limit: 100 }, "last", long);
    expect(rest.map(({ row }) => row.id)).toContain("r2");
    expect(taken.length + rest.length).toBe(60);
  });
});

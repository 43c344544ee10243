/** Retention while a transaction that somebody left open on the server holds the feed back: what was appended since is stored, and not fed. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kept } from "../../test/support/other-process.ts";
// A server of its own: on the shared one, whatever reads the feed in other tests would wait too.
import { freshSchema, ownPostgres, type PostgresServer, withClient } from "../../test/support/postgres.ts";
import { composeRath } from "../openrath.ts";
import { postgresStore } from "../store/postgres.ts";
import type { Store } from "../store/store.ts";
import { nodePlatform } from "./platform.ts";
import type { Rath } from "./rath.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await ownPostgres();
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

interface World {
  /** Old enough to go, if nobody needs it. */
  readonly old: string;
  readonly cleaner: Rath;
  readonly client: pg.Client;
  /** How often the old session was read. */
  reads(): number;
}

/** An old session, a transaction that was begun since, and something that was saved after that. */
async function inWorld(begin: string, work: (world: World) => Promise<void>): Promise<void> {
  await using store = postgresStore(server.url, { schema: freshSchema() });
  let now = Date.now();
  let reads = 0;
  const events: Store["events"] = (query) => {
    if ("session" in query && query.session === old) reads++;
    return store.events(query);
  };
  const process = (on: Store): Rath =>
    composeRath({ store: kept(on) }, { platform: { ...nodePlatform, time: () => new Date(now++).toISOString() } });
  const saved = async (text: string): Promise<string> => {
    await using rath = process(store);
    return (await rath.save(rath.session(text))).id;
  };
  const old = await saved("old");
  now += 100 * 86_400_000;
  await withClient(server.url, async (client) => {
    await client.query(`BEGIN; ${begin}`);
    await saved("new");
    await using cleaner = process({ ...store, events });
    await work({ old, cleaner, client, reads: () => reads });
  });
}

const writes = "SELECT pg_current_xact_id()";
const older = { sessionsOlderThan: "90d" } as const;

describe("while somebody's transaction is open on the server, retention", () => {
  test("says so soon, removes nothing, and succeeds when it has ended (mutant: everything is read again at each try)", async () => {
    await inWorld(writes, async ({ old, cleaner, client, reads }) => {
      await expect(cleaner.gc(older)).rejects.toMatchObject({
        code: "store.conflict",
        retryable: true,
        message: expect.stringContaining("transaction"),
      });
      expect(reads()).toBe(2);
      expect((await cleaner.open(old)).messages).toHaveLength(1);
      await client.query("COMMIT");
      // Nothing is left for whoever finishes erasures: what was announced was taken back.
      expect(await cleaner.gc(older)).toMatchObject({ sessions: [old], finished: [] });
    });
  });

  test("waits a little for it to end (mutant: it gives up at once)", async () => {
    await inWorld(writes, async ({ old, cleaner, client }) => {
      const collecting = cleaner.gc(older);
      await sleep(1000);
      await client.query("COMMIT");
      expect((await collecting).sessions).toEqual([old]);
    });
  });

  test("does not care for one that only reads, as a dump does (mutant: whatever is open counts)", async () => {
    await inWorld("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1", async ({ old, cleaner }) => {
      expect((await cleaner.gc(older)).sessions).toEqual([old]);
    });
  });
});

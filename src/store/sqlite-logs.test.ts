/** What a store remembers of its list of logs: it is never told from the list that a store sees that remembers nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { collect } from "../testing/store-case.ts";
import { storedChain } from "../testing/stored-event.ts";
import { sqliteStore } from "./sqlite.ts";
import type { LogQuery, Store, StoredEvent } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-logs-"));
afterAll(() => rmSync(folder, { recursive: true }));

const queries: readonly LogQuery[] = [{}, { newestFirst: true, log: "session" }, { id: "log-1" }, { tag: "kept" }];
const step = fc.record({ by: fc.nat({ max: 1 }), log: fc.nat({ max: 2 }), what: fc.constantFrom("append", "append", "erase", "remove") });

test("whoever writes, each of two stores lists what a new one does", async () => {
  let files = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const file = join(folder, `${files++}.db`);
      await using one = sqliteStore(file, { durability: "relaxed" });
      await using two = sqliteStore(file, { durability: "relaxed" });
      const logs = new Map<string, StoredEvent[]>();
      for (const { by, log, what } of steps) {
        await change([one, two][by] as Required<Store>, `log-${log}`, what, logs);
        await using fresh = sqliteStore(file);
        for (const query of queries) {
          const rows = await collect(fresh.sessions(query));
          for (const store of [one, two]) expect(await collect(store.sessions(query))).toEqual(rows);
        }
      }
    }),
    { numRuns: 25 },
  );
}, 30_000);

async function change(store: Required<Store>, session: string, what: string, logs: Map<string, StoredEvent[]>): Promise<void> {
  const known = logs.get(session) ?? [];
  const last = known.at(-1);
  if (what === "append" || last === undefined) {
    const events = storedChain([{}], session, last);
    const about = { log: "session", title: `Title of ${session}`, tags: ["kept"] } as const;
    expect(await store.append({ relaxed: true, branches: [{ session, expectedHead: last?.id, events, about }] })).toEqual({ ok: true });
    logs.set(session, [...known, ...events]);
  } else if (what === "erase") await store.erase([known[0]?.id ?? ""], last.id);
  else {
    expect(await store.remove([{ session, head: last.id }])).toBe(true);
    logs.delete(session);
  }
}

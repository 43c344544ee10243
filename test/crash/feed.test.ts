/** Two processes append at once: whoever reads the feed meanwhile, or goes on from any place in it, gets every event once, parents first. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store, StoredEvent } from "../../src/store/store.ts";
import { bundled } from "../support/bundled.ts";
import { ownSchemas } from "../support/postgres.ts";

let url = "";
const schema = ownSchemas((given) => {
  url = given;
});
const folder = mkdtempSync(join(tmpdir(), "rath-feed-"));
afterAll(() => rmSync(folder, { recursive: true }));

const program = await bundled(new URL("feed-writer.ts", import.meta.url));
const count = 40;
const total = 2 * 3 * (count + Math.ceil(count / 3));

async function writer(...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
}

/** Reads as it comes, a piece at a time, always going on where it was. */
async function readMeanwhile(store: Store): Promise<{ readonly events: StoredEvent[]; readonly places: Map<string, number> }> {
  const events: StoredEvent[] = [];
  const places = new Map<string, number>();
  let after: string | undefined;
  for (const until = Date.now() + 30_000; events.length < total && Date.now() < until; ) {
    const end = await store.fedTo();
    let pieces = 0;
    let left = false;
    for await (const fed of store.feed({ after })) {
      events.push(...fed.events);
      after = fed.place;
      places.set(after, events.length);
      left = ++pieces === 7;
      if (left) break;
    }
    if (!left && (after === undefined || end > after)) {
      after = end;
      places.set(after, events.length);
    }
  }
  return { events, places };
}

for (const [name, open] of [
  [
    "SQLite",
    () => ({ store: sqliteStore(join(folder, "feed.db")), args: (who: string) => ["sqlite", join(folder, "feed.db"), who, `${count}`] }),
  ],
  [
    "PostgreSQL",
    () => {
      const own = schema();
      return { store: postgresStore(url, { schema: own, max: 2 }), args: (who: string) => ["postgres", url, who, `${count}`, own] };
    },
  ],
] as const)
  test(`the feed of two processes has every event once, parents first, from every place: ${name}`, async () => {
    const { store, args } = open();
    await using reading = store;
    const [{ events, places }] = await Promise.all([readMeanwhile(reading), writer(...args("one")), writer(...args("two"))]);
    const at = new Map(events.map(({ id }, index) => [id, index]));
    expect([events.length, at.size]).toEqual([total, total]);
    for (const [index, { envelope }] of events.entries()) {
      const { parents } = JSON.parse(Buffer.from(envelope).toString()) as { parents: string[] };
      for (const parent of parents) expect(at.get(parent)).toBeLessThan(index);
    }
    // What was a place while they wrote still is one, with the same behind it.
    const ids = events.map(({ id }) => id);
    for (const [place, seen] of [...places].filter((_, index) => index % 9 === 0)) {
      const rest: string[] = [];
      for await (const fed of reading.feed({ after: place })) rest.push(...fed.events.map(({ id }) => id));
      expect(rest).toEqual(ids.slice(seen));
    }
  }, 60_000);

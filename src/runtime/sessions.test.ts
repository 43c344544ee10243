/** Listing the sessions of a store in which one cannot be read, or is removed meanwhile. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openrath } from "../openrath.ts";
import { openDatabase } from "../sqlite/driver.ts";
import { sqliteStore } from "../store/sqlite.ts";
import { collect } from "../testing/store-case.ts";
import type { Rath } from "./rath.ts";

const folder = mkdtempSync(join(tmpdir(), "openrath-sessions-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function threeIn(store: string): Promise<readonly string[]> {
  await using rath = openrath({ store });
  const ids: string[] = [];
  for (const name of ["first", "second", "third"]) ids.push((await rath.save(rath.session(name))).id);
  return ids;
}

/** What is listed, and how it ends. */
async function listed(rath: Rath): Promise<{ readonly ids: string[]; readonly error: unknown }> {
  const ids: string[] = [];
  try {
    for await (const { id } of rath.sessions()) ids.push(id);
    return { ids, error: undefined };
  } catch (error) {
    return { ids, error };
  }
}

// Mutants: the first damaged one ends the list; it is left out without a word.
test("where one is damaged the others are given, and then it is told which", async () => {
  const store = join(folder, "damaged.db");
  const [first, second, third] = (await threeIn(store)) as [string, string, string];
  const database = openDatabase(store);
  database.exec(`UPDATE frames SET body = zeroblob(length(body)) WHERE place / 16777216 = (SELECT no FROM logs WHERE id = '${second}')`);
  database.close();
  await using rath = openrath({ store });
  const { ids, error } = await listed(rath);
  expect(ids).toEqual([first, third]);
  expect(error).toMatchObject({ code: "store.corrupt", details: { path: store, sessions: [second] } });
  expect(String(error)).toMatch(`1 session cannot be read, the others were given: ${second}. ${store} is damaged: `);
});

// Mutant: a session that is gone by the time it is opened ends the list.
test("one that is removed while the list is read is left out", async () => {
  const store = join(folder, "removed.db");
  const [first, second, third] = (await threeIn(store)) as [string, string, string];
  await using rath = openrath({ store });
  const ids: string[] = [];
  for await (const { id } of rath.sessions()) {
    ids.push(id);
    if (id !== first) continue;
    await using other = sqliteStore(store);
    expect(await other.remove?.((await collect(other.sessions({ id: second }))).map(({ id: session, head }) => ({ session, head })))).toBe(
      true,
    );
  }
  expect(ids).toEqual([first, third]);
});

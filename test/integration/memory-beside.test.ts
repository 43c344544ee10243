/** What is remembered is kept where the sessions are, however their store was given. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openrath } from "../../src/index.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { listFiles } from "../../src/tool/builtin/tools.ts";
import { freshDatabase } from "../support/postgres.ts";

async function remembered(store: Store | string, tenant?: string): Promise<readonly string[]> {
  await using rath = openrath({ store, tenant });
  return (await rath.memory.search("deploys")).map(({ content }) => content);
}

async function remember(store: Store): Promise<void> {
  await using rath = openrath({ store });
  await rath.session().remember({ key: "deploys", content: "Deploys happen on Tuesdays.", publish: "now" });
}

test("a store object of SQLite has its memory beside its file, for its own tenant", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openrath-beside-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  await remember(sqliteStore(path, { tenant: "acme" }));
  expect(await remembered(sqliteStore(path, { tenant: "acme" }))).toEqual(["Deploys happen on Tuesdays."]);
  expect(await remembered(path, "acme")).toEqual(["Deploys happen on Tuesdays."]);
  expect(await remembered(path)).toEqual([]);
});

test("what a store object of SQLite has on disk is no part of a workspace", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openrath-beside-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "mine.txt"), "mine");
  const path = join(folder, "agents.db");
  await remember(sqliteStore(path));
  await using rath = openrath({ store: sqliteStore(path) });
  const session = await rath.session().to("memory", { workspace: folder }).call(listFiles, { path: "." });
  const listed: string[] = [];
  for await (const file of session.files.list()) listed.push(file);
  expect(listed).toEqual(["mine.txt"]);
});

test("a store object of PostgreSQL has its memory in the same database", async () => {
  await using database = await freshDatabase();
  await remember(postgresStore(database.url, { tenant: "acme", max: 2 }));
  expect(await remembered(postgresStore(database.url, { tenant: "acme", max: 2 }))).toEqual(["Deploys happen on Tuesdays."]);
  expect(await remembered(database.url, "acme")).toEqual(["Deploys happen on Tuesdays."]);
  expect(await remembered(database.url)).toEqual([]);
});

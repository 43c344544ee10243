import fs, { mkdtempSync, rmSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { storeFormat } from "../store/migrations/migrations.ts";
import { type Database, openDatabase } from "./driver.ts";
import { openFile } from "./open.ts";

// Mutant: what was missing a moment ago is still missing.
test("a file that another process makes while this one is about to is opened, and is not taken for a lost one", () => {
  const folder = mkdtempSync(join(tmpdir(), "rath-open-"));
  const path = join(folder, "new", "store.db");
  const { mkdirSync } = fs;
  let other: Database | undefined;
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    other?.close();
    rmSync(folder, { recursive: true });
  });
  // The file was looked for, and its folder is about to be made: the other one is faster, and writes.
  vi.spyOn(fs, "mkdirSync").mockImplementationOnce(((...given: Parameters<typeof mkdirSync>) => {
    other = openFile(path, openDatabase, storeFormat);
    other.exec("CREATE TABLE written (no INTEGER)");
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    return mkdirSync(...given);
  }) as typeof mkdirSync);
  syncBuiltinESMExports();
  const database = openFile(path, openDatabase, storeFormat);
  expect(database.prepare("SELECT count(*) AS n FROM written").get()).toEqual({ n: 0 });
  database.close();
});

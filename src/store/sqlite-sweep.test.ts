import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openDatabase } from "../sqlite/driver.ts";
import { collect } from "../testing/store-case.ts";
import { sqliteStore } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-sweep-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a blob that another process puts between the look and the removal stays", async () => {
  const path = join(folder, "store.db");
  await using store = sqliteStore(path, { clock: () => 1000 });
  const blobs = ["first", "second"].map((text) => ({ hash: hash("sha256", text), bytes: Buffer.from(text) }));
  await store.append({ branches: [], blobs });
  const other = openDatabase(path);
  // Asked of each blob after it was found to be old.
  const keeping = async () => (name: string) => {
    if (name === blobs[0]?.hash) other.prepare("UPDATE blobs SET touched_at = 5000 WHERE hash = ?").run(Buffer.from(name, "hex"));
    return false;
  };
  const swept = await collect((store as Required<typeof store>).sweep({ before: new Date(2000).toISOString(), dryRun: false, keeping }));
  other.close();
  expect(swept.map((one) => one.hash)).toEqual([blobs[1]?.hash]);
  expect(await store.blob(blobs[0]?.hash ?? "")).toBeDefined();
});

test("more blobs than one page holds all go", async () => {
  await using store = sqliteStore(join(folder, "many.db"), { clock: () => 1000 });
  const blobs = Array.from({ length: 600 }, (_, index) => ({ hash: hash("sha256", `${index}`), bytes: Buffer.from(`${index}`) }));
  await store.append({ branches: [], blobs });
  const kept = new Set(blobs.filter((_, index) => index % 3 === 0).map((blob) => blob.hash));
  const options = { before: new Date(2000).toISOString(), dryRun: false, keeping: async () => (name: string) => kept.has(name) };
  expect(await collect((store as Required<typeof store>).sweep(options))).toHaveLength(400);
  for (const blob of blobs) expect((await store.blob(blob.hash)) !== undefined).toBe(kept.has(blob.hash));
});

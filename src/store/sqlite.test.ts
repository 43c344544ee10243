import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { storeConformance } from "../testing/store-conformance.ts";
import { sqliteStore } from "./sqlite.ts";
import type { Store } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-sqlite-"));
const paths = new Map<Store, string>();
afterAll(() => rmSync(folder, { recursive: true }));

storeConformance({
  name: "sqlite",
  create() {
    const path = join(folder, `${paths.size}.db`);
    const store = sqliteStore(path);
    paths.set(store, path);
    return store;
  },
  reopen: async (store) => sqliteStore(paths.get(store) ?? ""),
});

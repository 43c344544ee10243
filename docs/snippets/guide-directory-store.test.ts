import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "openrath/store";
import { storeConformance } from "openrath/testing";
import { afterAll } from "vitest";
import { directoryStore } from "./guide-directory-store.ts";

const folder = mkdtempSync(join(tmpdir(), "directory-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
const folders = new Map<Store, string>();

storeConformance({
  name: "directory",
  create() {
    const own = join(folder, String(folders.size));
    const store = directoryStore(own);
    folders.set(store, own);
    return store;
  },
  reopen: async (store) => directoryStore(folders.get(store) ?? ""),
});

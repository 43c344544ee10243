import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { memoryConformance } from "../testing/memory-conformance.ts";
import type { MemoryStore } from "./memory.ts";
import { sqliteMemory } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-memory-"));
const paths = new Map<MemoryStore, string>();
afterAll(() => rmSync(folder, { recursive: true }));

memoryConformance({
  name: "sqlite",
  create() {
    const path = join(folder, `${paths.size}.db`);
    const store = sqliteMemory(path);
    paths.set(store, path);
    return store;
  },
  reopen: async (store) => sqliteMemory(paths.get(store) ?? ""),
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemoryStore } from "openrath/memory";
import { memoryConformance } from "openrath/testing";
import { afterAll } from "vitest";
import { directoryMemory } from "./guide-directory-memory.ts";

const folder = mkdtempSync(join(tmpdir(), "directory-memory-"));
afterAll(() => rmSync(folder, { recursive: true }));
const folders = new Map<MemoryStore, string>();

memoryConformance({
  name: "directory",
  create() {
    const own = join(folder, String(folders.size));
    const memory = directoryMemory(own);
    folders.set(memory, own);
    return memory;
  },
  reopen: async (memory) => directoryMemory(folders.get(memory) ?? ""),
});

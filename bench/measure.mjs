// Small tools of measurement, shared by all subjects.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export const now = () => performance.now();

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Gives `use` a fresh directory beside this file (the system's temporary one may be in memory, where fsync is free). */
export async function inDirectory(use) {
  const home = join(import.meta.dirname, ".tmp");
  mkdirSync(home, { recursive: true });
  const directory = mkdtempSync(join(home, "run-"));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Bytes of all files under a directory. */
export function bytesOnDisk(directory) {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Collects garbage, so that one candidate does not pay for another's; returns the bytes still in use. */
export function settleHeap() {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export function progress(text) {
  process.stderr.write(`  ${text}\n`);
}

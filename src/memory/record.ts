/** Items as stores keep them: as JSON, so that what comes back is nobody else's, and is what any other store would give. */
import { RathError } from "../session/errors.ts";
import type { MemoryItem } from "../session/memory.ts";
import type { MemoryRecord, MemoryWrite } from "./memory.ts";

export function encodeItem(item: MemoryItem): string {
  return JSON.stringify(item);
}

export function decodeItem(text: string): MemoryItem {
  return JSON.parse(text) as MemoryItem;
}

export function decodeRecord(text: string, revision: number): MemoryRecord {
  return { ...decodeItem(text), revision };
}

/** What is left of an item whose content was erased. */
export function erasedItem(item: MemoryItem, entry: string): MemoryItem {
  const { value: _, reason: __, ...rest } = item;
  return { ...rest, content: "", erased: entry };
}

/** Refuses what no store can keep, before anything is written. */
export function checkWrites(writes: readonly MemoryWrite[]): void {
  for (const { item, based } of writes) {
    if (item.state === "staged")
      throw new RathError("store.conflict", `${item.uri} is staged: sessions hold it until it is published. Write it as "published".`);
    if (!Number.isSafeInteger(item.version) || item.version <= based)
      throw new RathError(
        "store.conflict",
        `Version ${item.version} of ${item.uri} does not follow version ${based}: each write raises the version.`,
      );
  }
}

/** Names under which something that was read is found: "uri@version" and the uri. */
export function readNames(from: readonly string[]): string[] {
  return [...new Set(from.flatMap((name) => [name, name.replace(/@\d+$/, "")]))];
}

/** Writing to the memory store for a branch: what others wrote is in its way, what the branch itself wrote before is not. */
import type { MemoryWrite, MemoryWritten } from "../memory/memory.ts";
import { callOf, list, type State } from "../session/fold.ts";
import type { MemoryItem } from "../session/memory.ts";
import type { Memories } from "./memories.ts";

/** Compares with the version that each write was based on, or with a later one that came from the branch itself. */
export async function writeMemory(memories: Memories, state: State, writes: readonly MemoryWrite[]): Promise<MemoryWritten> {
  const store = await memories.store();
  const done = await store.write(writes);
  const own = done.refused.flatMap(({ item, current }) => {
    const write = writes.find((one) => one.item === item || (one.item.event === item.event && one.item.uri === item.uri));
    const follows = current !== undefined && current.version < item.version && isOwn(state, current);
    return follows && write !== undefined ? [{ ...write, based: current.version }] : [];
  });
  if (own.length === 0) return done;
  const again = await writeMemory(memories, state, own);
  const retried = new Set(own.map(({ item }) => item.event));
  return {
    revision: again.written.length > 0 ? again.revision : done.revision,
    written: [...done.written, ...again.written],
    refused: [...done.refused.filter(({ item }) => !retried.has(item.event)), ...again.refused],
  };
}

/** Whether a version is a write of this branch. */
export function isOwn({ writes }: State, { event }: Pick<MemoryItem, "event">): boolean {
  return list(writes).some((node) => node.kind !== "session.merged" && callOf(node).id === event);
}

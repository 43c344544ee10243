/** Writing to the memory store for a branch: what others wrote is in its way, what the branch itself wrote before is not. */
import type { MemoryWrite, MemoryWritten } from "../memory/memory.ts";
import { callOf, list, type State } from "../session/fold.ts";
import type { MemoryItem } from "../session/memory.ts";
import type { Memories } from "./memories.ts";

/** Compares with the version that each write was based on, or with a later one that came from the branch itself. */
export async function writeMemory(memories: Memories, own: OwnWrites, writes: readonly MemoryWrite[]): Promise<MemoryWritten> {
  const store = await memories.store();
  const done = await store.write(writes);
  const byEvent = new Map(writes.map((write) => [write.item.event, write]));
  const behind = done.refused.flatMap(({ item, current }) => {
    const write = byEvent.get(item.event);
    const follows = current !== undefined && current.version < item.version && own.has(current);
    return follows && write !== undefined ? [{ ...write, based: current.version }] : [];
  });
  if (behind.length === 0) return done;
  const again = await writeMemory(memories, own, behind);
  const retried = new Set(behind.map(({ item }) => item.event));
  return {
    revision: again.written.length > 0 ? again.revision : done.revision,
    written: [...done.written, ...again.written],
    refused: [...done.refused.filter(({ item }) => !retried.has(item.event)), ...again.refused],
  };
}

/** The writes of a branch, looked through once, when somebody asks. */
export class OwnWrites {
  readonly #state: State;
  #events: ReadonlySet<string> | undefined;

  constructor(state: State) {
    this.#state = state;
  }

  has({ event }: Pick<MemoryItem, "event">): boolean {
    this.#events ??= new Set(list(this.#state.writes).flatMap((node) => (node.kind === "session.merged" ? [] : callOf(node).id)));
    return this.#events.has(event);
  }
}

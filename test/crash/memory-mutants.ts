/** Broken memories and runtimes, by name: each breaks a law that the memory kill test checks. */
import type { MemoryItem, MemoryStore, MemoryWrite } from "../../src/memory/memory.ts";
import { Execution } from "../../src/runtime/execution.ts";
import { Memories } from "../../src/runtime/memories.ts";
import { Runtime } from "../../src/runtime/runtime.ts";

export type Mutant = "none" | "no idempotency" | "early publication" | "no pin" | "no comparison";

/** Memories as a careless adapter would be. Whoever reads a broken one must read through this too. */
export function mutated(mutant: string, memory: MemoryStore): MemoryStore {
  if (mutant === "no idempotency") return forgetful(memory);
  if (mutant === "no comparison") return { ...memory, write: (writes) => overwrite(memory, writes) };
  return memory;
}

const mark = "~";

/** Does not know what it has written: each write is another one, though it names the same event. */
function forgetful(memory: MemoryStore): MemoryStore {
  const named = <T extends MemoryItem>(item: T): T => ({ ...item, event: item.event.replace(/~.*$/, "") });
  return {
    ...memory,
    write: async (writes) => {
      const fresh = writes.map((write) => ({ ...write, item: { ...write.item, event: `${write.item.event}${mark}${Math.random()}` } }));
      const { revision, written, refused } = await overwrite(memory, fresh);
      return { revision, written: written.map(named), refused: refused.map(({ item, current }) => ({ item: named(item), current })) };
    },
    list: (query) => mapped(query.events === undefined ? memory.list(query) : none(), named),
  };
}

async function* none(): AsyncGenerator<never> {}

async function* mapped<T>(items: AsyncIterable<T>, map: (item: T) => T): AsyncGenerator<T> {
  for await (const item of items) yield map(item);
}

/** Whatever is there is what it was based on. */
async function overwrite(memory: MemoryStore, writes: readonly MemoryWrite[]): ReturnType<MemoryStore["write"]> {
  const based = await Promise.all(
    writes.map(async (write) => {
      let newest = 0;
      for await (const { version } of memory.list({ uri: write.item.uri })) newest = version;
      return { ...write, item: { ...write.item, version: Math.max(write.item.version, newest + 1) }, based: newest };
    }),
  );
  return memory.write(based);
}

/** Runtimes that publish too early or forget what they had read. */
export function breakRuntime(mutant: string): void {
  if (mutant === "early publication") publishEarly();
  if (mutant === "no pin") forgetPin();
}

/** Nothing is written by itself, and the end of a run publishes before it is on disk. */
function publishEarly(): void {
  Execution.prototype.background = () => {};
  const { closeSandboxes, publishMemory } = Runtime.prototype;
  Runtime.prototype.closeSandboxes = function (this: Runtime, owner, reason) {
    if (reason === "the run ended") (owner as Execution).writer.flush = async () => {};
    return closeSandboxes.call(this, owner, reason);
  };
  Runtime.prototype.publishMemory = async function (this: Runtime, execution, place) {
    const published = await publishMemory.call(this, execution, place);
    Reflect.deleteProperty(execution.writer, "flush");
    return published;
  };
}

/** A resumed run reads what is there now. */
function forgetPin(): void {
  const { revisionAt } = Memories.prototype;
  const newest = new WeakMap<object, Promise<number>>();
  Memories.prototype.revisionAt = function (this: Memories, place, latest) {
    const execution = place.context.execution as Execution;
    if (execution.recorded === undefined) return revisionAt.call(this, place, latest);
    const revision = newest.get(execution) ?? this.store().then((store) => store.revision());
    newest.set(execution, revision);
    return revision;
  };
}

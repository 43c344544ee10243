import type { MemoryStore, MemoryUse, MemoryWrite, MemoryWritten } from "openrath/memory";
import { volatileMemory } from "openrath/memory/volatile";
import { journal } from "./guide-journal.ts";

type Command = { readonly writes: readonly MemoryWrite[]; readonly whole?: boolean | undefined } | { readonly used: readonly MemoryUse[] };

/** Memory in a directory: a journal of what was written and used, over the memory in this process, which searches. */
export function directoryMemory(folder: string): MemoryStore {
  const state = volatileMemory();
  const commands = journal<Command>(folder, async (command) =>
    "used" in command ? state.used(command.used) : state.write(command.writes, { whole: command.whole }),
  );
  const fresh = async (): Promise<MemoryStore> => {
    await commands.catchUp();
    return state;
  };
  return {
    revision: async () => (await fresh()).revision(),
    write: (writes, { whole } = {}) => commands.add<MemoryWritten>({ writes, whole }),
    used: (used) => commands.add({ used }),
    search: async (query) => (await fresh()).search(query),
    list: (query) => reading(fresh, (memory) => memory.list(query)),
    uses: (uri) => reading(fresh, (memory) => memory.uses(uri)),
    async [Symbol.asyncDispose]() {
      await commands[Symbol.asyncDispose]();
      await state[Symbol.asyncDispose]();
    },
  };
}

/** What is there when reading begins. */
async function* reading<T>(fresh: () => Promise<MemoryStore>, read: (memory: MemoryStore) => AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* read(await fresh());
}

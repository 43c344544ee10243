import type { Lease, Store, TakenRun, TakeQuery, Write, Written } from "openrath/store";
import { memoryStore } from "openrath/store/memory";
import { journal } from "./guide-journal.ts";

/** Everything that changes a store, with the time at which it was asked. */
type Command = { readonly at: number } & (
  | { readonly append: Write }
  | { readonly claim: readonly [run: string, worker: string, forMs: number, from: string | undefined] }
  | { readonly take: readonly [query: TakeQuery, worker: string, forMs: number] }
  | { readonly renew: readonly [lease: Lease, forMs: number] }
  | { readonly release: Lease }
);

/**
 * A store in a directory: a journal of commands over the store in memory. Its clock is the time in the command, so that leases run out
 * where they ran out before, in whatever process the journal is read.
 */
export function directoryStore(folder: string): Store {
  let then: number | undefined;
  const state = memoryStore({ clock: () => then ?? Date.now() });
  const commands = journal<Command>(folder, async (command) => {
    then = command.at;
    try {
      return await applied(state, command);
    } finally {
      then = undefined;
    }
  });
  const fresh = async (): Promise<Store> => {
    await commands.catchUp();
    return state;
  };
  return {
    kind: "directory",
    append: (write) => commands.add<Written>({ at: Date.now(), append: write }),
    claim: (run, worker, forMs, { from } = {}) => commands.add({ at: Date.now(), claim: [run, worker, forMs, from] }),
    take: (query, worker, forMs) => commands.add<readonly TakenRun[]>({ at: Date.now(), take: [query, worker, forMs] }),
    renew: (lease, forMs) => commands.add({ at: Date.now(), renew: [lease, forMs] }),
    release: (lease) => commands.add({ at: Date.now(), release: lease }),
    events: (query) => reading(fresh, (store) => store.events(query)),
    feed: (query) => reading(fresh, (store) => store.feed(query)),
    sessions: (query) => reading(fresh, (store) => store.sessions(query)),
    runs: (query) => reading(fresh, (store) => store.runs(query)),
    fedTo: async () => (await fresh()).fedTo(),
    branches: async (parents) => (await fresh()).branches(parents),
    blob: async (hash) => (await fresh()).blob(hash),
    async [Symbol.asyncDispose]() {
      await commands[Symbol.asyncDispose]();
      await state[Symbol.asyncDispose]();
    },
  };
}

async function applied(state: Store, command: Command): Promise<unknown> {
  if ("append" in command) return state.append(command.append);
  if ("take" in command) return state.take(...command.take);
  if ("renew" in command) return state.renew(...command.renew);
  if ("release" in command) return state.release(command.release);
  const [run, worker, forMs, from] = command.claim;
  return state.claim(run, worker, forMs, { from });
}

/** What is there when reading begins. */
async function* reading<T>(fresh: () => Promise<Store>, read: (store: Store) => AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* read(await fresh());
}

/** Clients that call a server without pause, and remember what they were told was done. */
import type { Client } from "../../src/client/client.ts";

export interface Load {
  /** What failed, though nobody should notice what happens to servers. */
  readonly failures: unknown[];
  /** Sessions and the last thing that was said in each. */
  readonly said: Map<string, string>;
  readonly runs: Set<string>;
  readonly memories: Set<string>;
  calls: number;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

/** `goesOn` says whether to go on after a failure; without it every failure is remembered. */
export function hammer(client: Client, clients: number, goesOn: (error: unknown) => boolean = () => false): Load {
  let going = true;
  const load: Load = {
    ...{ failures: [], said: new Map(), runs: new Set(), memories: new Set(), calls: 0 },
    stop: async () => {
      going = false;
      await Promise.all(loops);
    },
  };
  const attempt = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
    try {
      const given = await call();
      load.calls++;
      return given;
    } catch (error) {
      if (!goesOn(error)) load.failures.push(error);
      return undefined;
    }
  };
  const one = async (name: number): Promise<void> => {
    for (let round = 0; going; round++) {
      const made = await attempt(() => client.sessions.create({ message: `hello ${name}` }));
      if (made === undefined) continue;
      load.said.set(made.id, `hello ${name}`);
      const fork = await attempt(() => client.sessions.fork(made.id));
      if (fork !== undefined) load.said.set(fork.id, `hello ${name}`);
      const text = `round ${round} of ${name}`;
      const said = await attempt(() => client.sessions.say(made.id, text));
      if (said !== undefined) load.said.set(said.id, text);
      else load.said.delete(made.id); // it may have been said
      const run = await attempt(() => client.runs.start({ workflow: "quick", message: text, key: `${name}-${round}` }));
      if (run !== undefined) load.runs.add(run.id);
      const memory = `fact-${name}-${round}`;
      if ((await attempt(() => client.memory.remember(memory, { content: text }))) !== undefined) load.memories.add(memory);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const loops = Array.from({ length: clients }, (_, name) => one(name));
  return load;
}

/** Everything that was acknowledged is there, and every run comes to its end. */
export async function missing(client: Client, { said, runs, memories }: Load): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const [id, text] of said) {
    const { items: messages } = await client.sessions.messages(id).page();
    const last = messages.at(-1);
    if (!JSON.stringify(last ?? {}).includes(text)) lost.push(`${id}: ${text}`);
  }
  for (const run of runs) if ((await client.runs.done(run)).status !== "done") lost.push(`run ${run}`);
  for (const memory of memories) await client.memory.get(memory).catch(() => lost.push(memory));
  return lost;
}

/** What a stream told, until it was left. */
export function following(parts: AsyncIterable<object>): { readonly events: string[]; readonly failed: unknown[]; leave(): Promise<void> } {
  const [events, failed]: [string[], unknown[]] = [[], []];
  const iterator = parts[Symbol.asyncIterator]();
  const reading = (async () => {
    try {
      for (;;) {
        const { done, value } = await iterator.next();
        if (done === true) return;
        const { event } = value as { readonly event?: { readonly id: string } };
        if (event !== undefined) events.push(event.id);
      }
    } catch (error) {
      failed.push(error);
    }
  })();
  return {
    ...{ events, failed },
    leave: async () => {
      await iterator.return?.();
      await reading;
    },
  };
}

/** A world whose effects are counted, and a process that can die before or after each commit and each effect. */
import { type Script, scripted } from "../../src/model/scripted.ts";
import { composeRath } from "../../src/openrath.ts";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Model } from "../../src/session/model.ts";
import type { Store } from "../../src/store/store.ts";
import { machine } from "../../src/workspace/machine.ts";

/** What really happened outside, by the name of the effect. */
export class World {
  readonly happened = new Map<string, number>();

  do(name: string): number {
    const count = (this.happened.get(name) ?? 0) + 1;
    this.happened.set(name, count);
    return count;
  }
}

/** One life of a process: it dies at the given point and does nothing afterwards. */
export class Life {
  readonly diesAt: number;
  points = 0;
  dead = false;
  #die = (): void => {};
  readonly #death = new Promise<false>((resolve) => {
    this.#die = () => resolve(false);
  });

  constructor(diesAt = Number.POSITIVE_INFINITY) {
    this.diesAt = diesAt;
  }

  /** Resolves if it lives on; never if it is dead. */
  point(): Promise<void> | undefined {
    if (!this.dead && this.points++ !== this.diesAt) return undefined;
    this.dead = true;
    this.#die();
    return new Promise(() => {});
  }

  /** Waits for its death, or for the end of its work, however that went; tells whether it lived to see that. */
  async sees(work: Promise<unknown>): Promise<boolean> {
    const ended = (): true => true;
    const lived = await Promise.race([work.then(ended, ended), this.#death]);
    // What was under way elsewhere has its turn.
    await new Promise((resolve) => setImmediate(resolve));
    return lived;
  }
}

/** The store as a process sees that may die around each commit. */
export function mortal(store: Store, life: Life): Store {
  return {
    ...bind(store),
    append: async (write) => {
      await life.point();
      const written = await store.append(write);
      await life.point();
      return written;
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function bind(store: Store): Store {
  return {
    append: (write) => store.append(write),
    events: (query) => store.events(query),
    feed: (query) => store.feed(query),
    fedTo: () => store.fedTo(),
    sessions: (query) => store.sessions(query),
    branches: (parents) => store.branches(parents),
    runs: (query) => store.runs(query),
    claim: (run, worker, ms, options) => store.claim(run, worker, ms, options),
    take: (query, worker, ms) => store.take(query, worker, ms),
    renew: (lease, ms) => store.renew(lease, ms),
    release: (lease) => store.release(lease),
    blob: (hash) => store.blob(hash),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

let lives = 0;

/** A Rath of its own process: its worker counts as dead for whoever comes after it. */
export function rathOf(store: Store, life: Life, options: RathOptions = {}): Rath {
  return composeRath(
    { implicitForks: "allow", ...options, store: mortal(store, life) },
    { worker: `${machine()}:${2_000_000_000 + lives++}:test`, times: { parkGraceMs: 1, stillResumeMs: 500, closeMs: 200 } },
  );
}

/** A scripted model of a process that may die before it answers, and after. */
export function mortalModel(life: Life, ...replies: readonly Script[]): Model {
  const model = scripted(...replies);
  return {
    id: "mortal",
    free: true,
    async *stream(request, options) {
      await life.point();
      yield* model.stream(request, options);
      await life.point();
    },
  };
}

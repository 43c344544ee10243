/** Followers that come and go while events flow, over a store that takes its time: each is sent exactly what lies behind its place. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openrath } from "../openrath.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { memoryStore } from "../store/memory.ts";
import type { Fed, News, Store, StoredEvent } from "../store/store.ts";
import { storedChain } from "../testing/stored-event.ts";
import { type FeedHub, type Follower, hubOf } from "./feed-hub.ts";

/** Answers after so many turns of the event loop, by a list that is gone through again and again. */
function slow(store: Store, turns: readonly number[]): Store {
  const hearers = new Set<(news: News) => void>();
  let at = 0;
  const later = async (): Promise<void> => {
    for (let left = turns[at++ % turns.length] ?? 0; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ...store,
    append: async (write) => {
      const written = await store.append(write);
      for (const hear of hearers) hear({ due: false, logs: [] });
      return written;
    },
    feed: (query) =>
      (async function* (): AsyncGenerator<Fed> {
        await later();
        for await (const fed of store.feed(query)) {
          yield fed;
          await later();
        }
      })(),
    fedTo: async () => {
      await later();
      const place = await store.fedTo();
      await later();
      return place;
    },
    watch: async (hear) => {
      hearers.add(hear);
      return { [Symbol.asyncDispose]: async () => void hearers.delete(hear) };
    },
  };
}

interface Visit {
  readonly begin: number;
  readonly stay: number;
  readonly pause: number;
}

/** Follows, leaves after so many events, and comes back where it was. */
async function visitor(hub: FeedHub, { begin, stay, pause }: Visit, total: number): Promise<string[]> {
  const seen: string[] = [];
  let after: string | undefined;
  const turns = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  await turns(begin);
  while (seen.length < total) {
    const left = await new Promise<Follower>((resolve, reject) => {
      let taken = 0;
      const follower = {
        closed: false,
        wants: () => true,
        send: async ({ stored }: { stored: StoredEvent }) => {
          seen.push(stored.id);
          await turns(pause % 3);
        },
        passed: async (place: string) => {
          after = place;
          if (++taken < stay && seen.length < total) return;
          follower.closed = true;
          resolve(follower);
        },
        fail: reject,
        room: async () => {},
      };
      void hub.follow(follower, { after }).catch(reject);
    });
    hub.leave(left);
    await turns(pause);
  }
  return seen;
}

const small = fc.integer({ min: 0, max: 6 });
const visits = fc.array(fc.record({ begin: fc.integer({ min: 0, max: 40 }), stay: fc.integer({ min: 1, max: 30 }), pause: small }), {
  minLength: 2,
  maxLength: 5,
});

test("whoever joins, leaves and comes back has no gap, no duplicate and no other order", async () => {
  await fc.assert(
    fc.asyncProperty(visits, fc.array(small, { minLength: 3, maxLength: 20 }), small, async (plans, turns, rest) => {
      await using rath = openrath({ store: slow(memoryStore(), turns) });
      const runtime = runtimeOf(rath.session());
      const store = await runtime.store();
      const events = storedChain(Array(40).fill({}), "s");
      const write = async (): Promise<void> => {
        for (const [at, event] of events.entries()) {
          await store.append({ branches: [{ session: "s", expectedHead: events[at - 1]?.id, events: [event] }] });
          for (let left = rest; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const hub = hubOf(runtime);
      const [, ...seen] = await Promise.all([write(), ...plans.map((plan) => visitor(hub, plan, events.length))]);
      for (const ids of seen) expect(ids).toEqual(events.map(({ id }) => id));
      expect(hub.followers).toBe(0);
    }),
    { numRuns: 150 },
  );
}, 20_000);

// Mutant: what was sent before is passed over.
test("whoever comes back to the middle of what was stored together is asked of all of it, and sent the rest", async () => {
  await using rath = openrath({ store: "memory" });
  const runtime = runtimeOf(rath.session());
  const store = await runtime.store();
  const events = storedChain(Array(4).fill({}), "s");
  await store.append({ branches: [{ session: "s", expectedHead: undefined, events }] });
  const place = await store.fedTo();
  const [asked, sent]: [string[], string[]] = [[], []];
  const follower: Follower = {
    closed: false,
    wants: ({ stored }) => asked.push(stored.id) > 0,
    send: async ({ stored }) => void sent.push(stored.id),
    fail: () => {},
    room: async () => {},
  };
  await hubOf(runtime).follow(follower, { after: undefined, within: { place, sent: 2 } });
  hubOf(runtime).leave(follower);
  const ids = events.map(({ id }) => id);
  expect([asked, sent]).toEqual([ids, ids.slice(2)]);
});

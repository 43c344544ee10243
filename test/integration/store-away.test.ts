/** A Rath without workers whose store is away for a while: what waits here goes on when the store is back, and nobody looks for ever. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { RathError } from "../../src/session/errors.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { process, stopped, until, warned } from "../support/processes.ts";
import { standingClock } from "../support/standing-clock.ts";

afterEach(stopped);

/** A store that can be away: whoever asks is told to try again. */
class Away {
  away = false;
  /** It goes away for one read once the next run was claimed. */
  afterClaim = false;
  /** How often one run was asked for in vain. */
  asked = 0;
  readonly inner = memoryStore();
  readonly store: Store;
  #unread = false;

  constructor() {
    const { inner } = this;
    this.store = {
      ...inner,
      append: async (write) => this.#there() && inner.append(write),
      claim: async (...args) => {
        const lease = this.#there() && (await inner.claim(...args));
        this.#unread ||= this.afterClaim;
        this.afterClaim = false;
        return lease;
      },
      runs: (query) => {
        if (this.away && query.id !== undefined) this.asked++;
        return this.#given(inner.runs(query));
      },
      events: (query) => {
        const unread = this.#unread;
        this.#unread = false;
        return this.#given(inner.events(query), unread);
      },
    };
  }

  async *#given<T>(found: AsyncIterable<T>, unread = false): AsyncIterable<T> {
    this.#there(unread);
    yield* found;
  }

  #there(unread = false): true {
    if (this.away || unread) throw new RathError("store.unavailable", "the database is restarting", { retryable: true });
    return true;
  }
}

const waits = new Flow(async (session) => (await session.wait("1s")).do("up", () => "up", { repeat: "safe" }));
const asks = new Flow(async (session) => (await session.ask("Go on?")).do("up", () => "up", { repeat: "safe" }));

test("a timer that comes meanwhile is heard, and said to be late once", async () => {
  const away = new Away();
  const clock = standingClock();
  const rath = process(away.store, {}, {}, clock);
  const texts = warned();
  const run = await rath.run(waits, rath.session("go"));
  expect((await run.settle()).status).toBe("waiting");
  away.away = true;
  clock.go();
  await until(() => away.asked > 1, "it was asked for in vain, and again");
  away.away = false;
  expect((await run.result()).output).toBe("up");
  expect((await texts()).filter((text) => text.includes("could not go on"))).toEqual([
    `Run ${run.id} could not go on yet: the database is restarting`,
  ]);
});

test("an answer is heard, also when the run was claimed and could not be read", async () => {
  const away = new Away();
  const rath = process(away.store);
  const run = await rath.run(asks, rath.session("go"));
  expect((await run.settle()).status).toBe("waiting");
  const [asked] = await rath.pending();
  away.afterClaim = true;
  await process(away.inner).decide(asked?.id as string, { answer: "yes", by: "human:ada" });
  expect([(await run.result()).output, away.afterClaim]).toEqual(["up", false]);
});

test("it is asked less and less often, and not any more once the Rath is closed", async () => {
  const away = new Away();
  const clock = standingClock();
  const rath = process(away.store, {}, { lookMs: 10 }, clock);
  const run = await rath.run(waits, rath.session("go"));
  expect((await run.settle()).status).toBe("waiting");
  away.away = true;
  clock.go();
  await until(() => away.asked > 0, "it was asked for in vain");
  await sleep(1000);
  await until(() => away.asked > 2, "it was asked for again");
  const asked = away.asked;
  expect(asked).toBeGreaterThan(2);
  expect(asked).toBeLessThan(15);
  await rath.close();
  await sleep(1500);
  expect(away.asked).toBe(asked);
});

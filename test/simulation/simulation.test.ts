/**
 * The runtime's own logic in simulated worlds: a thousand schedules, each from a seed that repeats it exactly.
 *
 * SIMULATIONS=20000 lives more worlds, FROM=5000 others, SEED=17 one of them and prints everything that happens in it.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { mutants } from "./mutants.ts";
import { explain, simulate } from "./simulate.ts";

const count = Number(process.env["SIMULATIONS"] ?? 1000);
const from = Number(process.env["FROM"] ?? 1);
const one = process.env["SEED"];

describe.skipIf(one === undefined)("one world", () => {
  test("is shown", async () => {
    const world = await simulate(Number(one));
    console.log(world.trace.join("\n"));
    if (world.problems.length > 0) expect.fail(explain(world));
  });
});

describe.skipIf(one !== undefined)("simulated worlds", { timeout: 600_000 }, () => {
  test("every law holds in every world, and what can go wrong does", async () => {
    const happened: Record<string, number> = {};
    for (let seed = from; seed < from + count; seed++) {
      const world = await simulate(seed);
      if (world.problems.length > 0) expect.fail(explain(world));
      for (const [fault, times] of Object.entries({ ...world.faults, fenced: world.fenced }))
        happened[fault] = (happened[fault] ?? 0) + times;
    }
    for (const [fault, times] of Object.entries(happened)) expect(times, fault).toBeGreaterThan(count / 100);
  });

  test("a seed gives the same world again", async () => {
    for (let seed = 1; seed <= 25; seed++) expect((await simulate(seed)).digest, `seed ${seed}`).toBe((await simulate(seed)).digest);
  });

  test("nothing is left of a world", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const used = async (worlds: number): Promise<number> => {
      for (let seed = 1; seed <= worlds; seed++) await simulate(seed);
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = await used(40);
    expect((await used(120)) - before).toBeLessThan(8 * 2 ** 20);
  });
});

/** Worlds that showed a mutant when others did not come first; then all. */
const telling = [2, 11, 26, 33, 69, 145];
const seeds = [...telling, ...Array.from({ length: 400 }, (_, index) => index + 1)];

describe.skipIf(one !== undefined)("a store or runtime that", { timeout: 300_000 }, () => {
  test.for(Object.entries(mutants))("%s is caught", async ([, { breaks, patch }]) => {
    const mend = patch?.();
    try {
      for (const seed of seeds) if ((await simulate(seed, breaks)).problems.length > 0) return;
    } finally {
      mend?.();
    }
    expect.fail("400 worlds did not show it");
  });
});

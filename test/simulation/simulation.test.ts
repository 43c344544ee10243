/** The runtime's own logic in simulated worlds: thousands of schedules, each from a seed that repeats it exactly. */
import { expect, test } from "vitest";
import { explain, simulate } from "./simulate.ts";

const seeds = process.env["SEED"] === undefined ? undefined : [Number(process.env["SEED"])];
const count = Number(process.env["SIMULATIONS"] ?? 2000);

test("every law holds in every world", { timeout: 600_000 }, async () => {
  for (const seed of seeds ?? Array.from({ length: count }, (_, index) => index + 1)) {
    const world = await simulate(seed);
    if (seeds !== undefined) console.log(world.trace.join("\n"));
    if (world.problems.length > 0) expect.fail(explain(world));
  }
});

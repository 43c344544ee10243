/** Kill at every commit and every effect of generated programs, resume in another process, reach the same end; nothing happens twice. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dieAgainAndAgain, killEverywhere } from "./kill.ts";
import { type Program, programs } from "./program.ts";

const numRuns = Number(process.env["KILL_RUNS"] ?? 60);

/** What the loser of a race does goes on after its run, and its replay, have ended. */
const effect = { kind: "effect", name: "a", repeat: "once", turns: 0, fails: false } as const;
const then: Program = { kind: "then", of: [effect, effect] };
const saying: Program = { kind: "say", text: "x" };
const loserMerges: Program = { kind: "sequence", of: [{ kind: "race", of: [saying, then] }, saying] };

describe("kill at every commit and every effect", () => {
  test("programs without races reach the same final view, every once effect at most once", { timeout: 120_000 }, async () => {
    let points = 0;
    await fc.assert(
      fc.asyncProperty(programs({ equal: true }), async (program) => {
        points += await killEverywhere(program, false);
      }),
      { numRuns },
    );
    expect(points).toBeGreaterThan(200);
  });

  test("programs with races, pools and forks in .then resume the way they took", { timeout: 120_000 }, async () => {
    let points = 0;
    await fc.assert(
      fc.asyncProperty(programs({ races: true, ids: true, equal: true }), async (program) => {
        points += await killEverywhere(program, true);
      }),
      { numRuns, examples: [[loserMerges]] },
    );
    expect(points).toBeGreaterThan(200);
  });

  test("processes that die again and again still do each once effect at most once", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        programs({ races: true, ids: true, equal: true }),
        fc.array(fc.integer({ min: 0, max: 25 }), { minLength: 2, maxLength: 5 }),
        async (program, deaths) => {
          await dieAgainAndAgain(program, deaths);
        },
      ),
      { numRuns: numRuns * 3 },
    );
  });
});

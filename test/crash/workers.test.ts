/** Worker processes in a storm: killed, frozen and drained, on stores that fail. Nothing is lost, nothing happens twice, nothing is stuck. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Report, storm } from "./storm.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-storm-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function tell(name: string, { warnings: _, ...report }: Report): void {
  console.log(`${name}:`, JSON.stringify(report));
}

function expectSound({ stuck, wrong, twice, lost, unsound, unexpected }: Report): void {
  expect({ stuck, wrong, twice, lost, unsound, unexpected }).toEqual({
    stuck: [],
    wrong: [],
    twice: [],
    lost: [],
    unsound: [],
    unexpected: [],
  });
}

describe("workers on SQLite", () => {
  test("that die, freeze and go lose nothing, repeat nothing and leave nothing behind", { timeout: 90_000 }, async () => {
    const seed = Number(process.env["STORM_SEED"] ?? Date.now() % 100_000);
    const report = await storm({
      seed,
      folder,
      store: join(folder, "store.db"),
      weather: {},
      least: { kills: 4, drains: 1, zombies: 2, takeovers: 4, fenced: 1, unknown: 2, again: 1 },
      orders: 120,
      workers: 3,
      leaseMs: 700,
      patienceMs: 40_000,
    });
    tell("storm on SQLite", report);
    if (process.env["STORM_WARNINGS"]) console.log(report.warnings);
    expectSound(report);
    for (const [fault, times] of Object.entries({ kills: 4, drains: 1, zombies: 2, takeovers: 4, fenced: 1, unknown: 2, again: 1 }))
      expect(report.faults[fault as keyof Report["faults"]], fault).toBeGreaterThanOrEqual(times);
  });
});

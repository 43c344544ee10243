/** Worker processes in a storm: killed, frozen and drained, on stores that fail. Nothing is lost, nothing happens twice, nothing is stuck. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownPostgres } from "../support/postgres.ts";
import { postgresWeather } from "./postgres-weather.ts";
import { smallDisk } from "./small-disk.ts";
import { type Report, type StormPlan, storm } from "./storm.ts";
import type { Faults } from "./storm-faults.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-storm-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What every storm must have had in it. */
const least: Partial<Faults> = { kills: 2, drains: 1, zombies: 1, takeovers: 2, fenced: 1, unknown: 1 };

/** STORM_SEED repeats the order of the faults, as far as processes and clocks allow. */
async function weather(name: string, plan: Pick<StormPlan, "store" | "weather" | "least">): Promise<void> {
  const seed = Number(process.env["STORM_SEED"] ?? Date.now() % 100_000);
  const { warnings, ...report } = await storm({
    ...plan,
    seed,
    folder: await mkdtemp(join(folder, "witness-")),
    orders: 60,
    workers: 3,
    leaseMs: 1500,
    patienceMs: 60_000,
  });
  console.log(`storm on ${name}:`, JSON.stringify(report));
  if (failed(report)) console.log(warnings);
  const { stuck, wrong, twice, lost, unsound, unexpected } = report;
  expect({ stuck, wrong, twice, lost, unsound, unexpected }).toEqual({
    stuck: [],
    wrong: [],
    twice: [],
    lost: [],
    unsound: [],
    unexpected: [],
  });
  for (const [fault, times] of Object.entries(plan.least))
    expect(report.faults[fault as keyof Faults], fault).toBeGreaterThanOrEqual(times);
}

function failed({ stuck, wrong, twice, lost, unsound, unexpected }: Omit<Report, "warnings">): boolean {
  return [stuck, wrong, twice, lost, unsound, unexpected].some((found) => found.length > 0);
}

describe("workers that die, freeze and go", () => {
  test("lose nothing, repeat nothing and leave nothing behind on SQLite and a disk that is full at times", {
    timeout: 120_000,
  }, async () => {
    await using disk = await smallDisk(join(folder, "disk"), 64);
    if (disk === undefined) console.log("storm on SQLite: nothing may be mounted here, so no disk will be full");
    const place = disk?.folder ?? folder;
    await weather("SQLite", {
      store: join(place, "store.db"),
      weather: disk ?? {},
      least: disk === undefined ? least : { ...least, full: 1 },
    });
  });

  test("lose nothing, repeat nothing and leave nothing behind on a PostgreSQL that is cut and killed", { timeout: 120_000 }, async () => {
    await using server = await ownPostgres();
    await weather("PostgreSQL", { store: server.url, weather: postgresWeather(server), least: { ...least, cuts: 1, restarts: 1 } });
  });
});

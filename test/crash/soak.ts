/**
 * The storm for as long as one likes: npm run soak -- [--minutes 10] [--seed N] [--store sqlite|postgres] [--keep].
 * Says every ten seconds how it goes, and at the end what it found; ends with 1 when that is anything.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startServer } from "../support/postgres-server.ts";
import { postgresWeather } from "./postgres-weather.ts";
import { smallDisk } from "./small-disk.ts";
import { storm } from "./storm.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: `${Date.now() % 1_000_000}` },
    store: { type: "string", default: "sqlite" },
    workers: { type: "string", default: "4" },
    keep: { type: "boolean", default: false },
    lease: { type: "string", default: "700" },
  },
});
const minutes = Number(values.minutes);
const folder = await mkdtemp(join(tmpdir(), "openrath-soak-"));
const server = values.store === "postgres" ? await startServer() : undefined;
const disk = values.store === "postgres" ? undefined : await smallDisk(join(folder, "disk"), 64 + minutes * 40);
const disturbed = server !== undefined ? { cuts: 1, restarts: 1 } : disk !== undefined ? { full: 1 } : {};
const least = { kills: 3, drains: 1, zombies: 2, takeovers: 3, fenced: 1, unknown: 2, again: 1, ...disturbed };
if (values.store === "sqlite" && disk === undefined) console.log("soak: nothing may be mounted here, so no disk will be full");
console.log(`soak: seed ${values.seed}, ${minutes} minutes on ${values.store}`);
try {
  const { warnings, ...report } = await storm({
    seed: Number(values.seed),
    folder,
    store: server?.url ?? join(disk?.folder ?? folder, "store.db"),
    weather: server === undefined ? (disk ?? {}) : postgresWeather(server),
    least,
    orders: 100,
    workers: Number(values.workers),
    leaseMs: Number(values.lease),
    forMs: minutes * 60_000,
    patienceMs: minutes * 60_000 + 60_000,
    progress: (line) => console.log(line),
  });
  const { stuck, wrong, twice, lost, unsound, unexpected } = report;
  // A storm without its faults proves nothing.
  const missed = Object.entries(least).filter(([fault, times]) => report.faults[fault as keyof typeof report.faults] < times);
  const bad = missed.length > 0 || [stuck, wrong, twice, lost, unsound, unexpected].some((found) => found.length > 0);
  if (bad) console.log(warnings);
  console.log(JSON.stringify(report, undefined, 2));
  if (missed.length > 0) console.log(`soak: too few ${missed.map(([fault]) => fault).join(", ")}`);
  console.log(bad ? "soak: FAILED" : `soak: sound, ${(report.orders / (report.ms / 1000)).toFixed(1)} orders a second`);
  process.exitCode = bad ? 1 : 0;
} finally {
  await server?.[Symbol.asyncDispose]();
  await disk?.[Symbol.asyncDispose]();
  if (values.keep) console.log(`soak: kept ${folder}`);
  else await rm(folder, { recursive: true, force: true });
}

// Runs and steps a second when 1, 2 and 4 worker processes empty a queue, 16 runs at once over all of them.
import { availableParallelism } from "node:os";
import { median, now, progress } from "../../measure.mjs";
import { row } from "../../report.mjs";
import { startOurs, stopAll } from "./start.mjs";

const AT_ONCE = 16;

export async function workers({ quick, stores }) {
  const rows = [];
  const stepsPerRun = quick ? 50 : 200;
  for (const [name, store] of stores) {
    for (const count of [1, 2, 4]) {
      const passes = [];
      for (let pass = 1; pass <= (quick ? 1 : 3); pass++) {
        progress(`pass ${pass}: ${count} workers, ${name}`);
        passes.push(await rates(await store(), count, { stepsPerRun, runs: quick ? 400 : 1600 }));
      }
      const where = `openrath, ${name}, ${count} worker${count === 1 ? "" : "s"} on ${availableParallelism()} cores`;
      rows.push(
        row(`${where}, \`safe\` steps`, median(passes.map(({ steps }) => steps)), "steps/s"),
        row(`${where}, runs of one step`, median(passes.map(({ runs }) => runs)), "runs/s"),
      );
    }
  }
  return rows;
}

async function rates(store, count, { stepsPerRun, runs }) {
  const client = await startOurs(store, { stepsPerRun });
  const parts = [];
  for (let i = 0; i < count; i++) parts.push(await startOurs(store, { stepsPerRun }));
  const seconds = (workflow, queued) => emptied(client, parts, workflow, queued);
  await seconds("safe", AT_ONCE); // warm-up
  await seconds("one", runs / 4);
  const measured = { steps: (AT_ONCE * stepsPerRun) / (await seconds("safe", AT_ONCE)), runs: runs / (await seconds("one", runs)) };
  const done = await client.ask("count", { status: "done" });
  if (done !== 2 * AT_ONCE + 1.25 * runs) throw new Error(`${done} runs are done instead of ${2 * AT_ONCE + 1.25 * runs}`);
  await stopAll(client, ...parts);
  return measured;
}

/** Seconds until the workers have executed all that was queued before they began. */
async function emptied(client, parts, workflow, queued) {
  await client.ask("queue", { workflow, count: queued });
  const taken = new Map();
  const all = parts.map((part) =>
    part.hear((said) => {
      taken.set(part, said.taken);
      return [...taken.values()].reduce((sum, count) => sum + count, 0) === queued;
    }),
  );
  const begin = now();
  for (const part of parts) void part.ask("work", { concurrency: AT_ONCE / parts.length });
  await Promise.race(all); // whoever finishes last
  const seconds = (now() - begin) / 1000;
  await Promise.all(parts.map((part) => part.ask("rest")));
  return seconds;
}

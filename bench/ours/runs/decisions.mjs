// From `rath.decide` in one process until the run that waited for it has its next effect in a worker process.
import { progress } from "../../measure.mjs";
import { row } from "../../report.mjs";
import { startOurs, stopAll } from "./start.mjs";

export async function decisions({ quick, stores }) {
  const rows = [];
  const count = quick ? 32 : 320;
  for (const [name, store] of stores) {
    progress(`${count} decisions, ${name}`);
    const address = await store();
    const [worker, client] = [await startOurs(address), await startOurs(address)];
    await worker.ask("work", { concurrency: 16 });
    await client.ask("queue", { workflow: "question", count });
    const times = [];
    for (const id of await questions(client, count)) {
      const going = worker.hear(({ at }) => at !== undefined);
      const decided = await client.ask("decide", { id });
      times.push((await going).at - decided);
    }
    times.sort((a, b) => a - b);
    await worker.ask("rest");
    await stopAll(worker, client);
    rows.push(
      row(`openrath, ${name}, decision to continuation, p50`, quantile(times, 0.5), "ms"),
      row(`openrath, ${name}, decision to continuation, p99`, quantile(times, 0.99), "ms"),
    );
  }
  return rows;
}

/** The ids of the questions, once all of them are asked and their runs are parked. */
async function questions(client, count) {
  for (;;) {
    const waiting = await client.ask("count", { status: "waiting" });
    if (waiting === count) return (await client.ask("pending")).ids;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

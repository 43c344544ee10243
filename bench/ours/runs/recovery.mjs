// From the loss of a worker until another one is in the step that was cut off. A frozen worker stands for a machine that cannot be
// reached: its process is there, its connection too. On SQLite there is no such thing: all workers are on one machine, and one that
// is frozen inside a transaction keeps the file.
import { median, progress } from "../../measure.mjs";
import { row } from "../../report.mjs";
import { startOurs, stopAll } from "./start.mjs";
import { clock } from "./workflows.mjs";

/** How long a lease lasts by default (src/openrath.ts). */
const LEASE_MS = 5000;
const LOSSES = [
  ["SQLite", "SIGKILL", "kill -9 of a worker"],
  ["PostgreSQL", "SIGKILL", "kill -9 of a worker"],
  ["PostgreSQL", "SIGSTOP", "a worker frozen"],
];

export async function recovery({ quick, stores }) {
  const rows = [];
  for (const [name, signal, words] of LOSSES) {
    const times = [];
    for (let pass = 1; pass <= (quick ? 1 : 5); pass++) {
      progress(`pass ${pass}: ${words}, ${name}`);
      times.push(await takeover(await stores.get(name)(), signal));
    }
    rows.push(
      row(`openrath, ${name}, ${words} to continuation`, median(times), "ms"),
      row(`openrath, ${name}, ${words} to continuation / lease time, longest`, Math.max(...times) / LEASE_MS, "times", "<= 2"),
    );
  }
  return rows;
}

async function takeover(store, signal) {
  const [first, second, client] = [await startOurs(store), await startOurs(store), await startOurs(store)];
  const inStep = (part) => part.hear(({ at }) => at !== undefined);
  try {
    const begun = inStep(first);
    await first.ask("work", { concurrency: 1 });
    await client.ask("queue", { workflow: "endless", count: 1 });
    await begun;
    const continued = inStep(second);
    await second.ask("work", { concurrency: 1 });
    const lost = clock();
    first.signal(signal);
    return (await continued).at - lost;
  } finally {
    for (const worker of [first, second]) worker.signal("SIGKILL"); // their step never ends
    await Promise.all([first.exited, second.exited, stopAll(client)]);
  }
}

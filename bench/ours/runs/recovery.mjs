// From the death of a worker until another one is in the step that was cut off. A frozen worker stands for a machine that is cut
// off: its process is still there, so only the end of its lease tells that it is gone.
import { median, progress } from "../../measure.mjs";
import { row } from "../../report.mjs";
import { startOurs, stopAll } from "./start.mjs";
import { clock } from "./workflows.mjs";

/** How long a lease lasts by default (src/openrath.ts). */
const LEASE_MS = 5000;

export async function recovery({ quick, stores }) {
  const rows = [];
  for (const [name, store] of stores) {
    for (const [signal, words] of [
      ["SIGKILL", "kill -9 of a worker"],
      ["SIGSTOP", "a worker cut off"],
    ]) {
      const times = [];
      for (let pass = 1; pass <= (quick ? 1 : 3); pass++) {
        progress(`pass ${pass}: ${words}, ${name}`);
        times.push(await takeover(await store(), signal));
      }
      rows.push(
        row(`openrath, ${name}, ${words} to continuation`, median(times), "ms"),
        row(`openrath, ${name}, ${words} to continuation / lease time`, Math.max(...times) / LEASE_MS, "times", "<= 2"),
      );
    }
  }
  return rows;
}

async function takeover(store, signal) {
  const [first, second, client] = [await startOurs(store), await startOurs(store), await startOurs(store)];
  const inStep = (part) => part.hear(({ at }) => at !== undefined);
  const begun = inStep(first);
  await first.ask("work", { concurrency: 1 });
  await client.ask("queue", { workflow: "endless", count: 1 });
  await begun;
  const continued = inStep(second);
  await second.ask("work", { concurrency: 1 });
  const killed = clock();
  first.signal(signal);
  const { at } = await continued;
  first.signal("SIGKILL");
  second.signal("SIGKILL"); // its step never ends
  await Promise.all([first.exited, second.exited, stopAll(client)]);
  return at - killed;
}

// What runs that wait for a person cost the process that parked them, and how long it takes to list what they wait for.
import { progress } from "../../measure.mjs";
import { row } from "../../report.mjs";
import { startOurs, stopAll } from "./start.mjs";

const LANES = 250;

export async function parked({ quick, stores }) {
  const rows = [];
  const count = quick ? 1000 : 10_000;
  for (const [name, store] of stores) {
    progress(`${count} parked runs, ${name}`);
    const address = await store();
    const program = await startOurs(address);
    const bytes = await program.ask("park", { count, lanes: LANES });
    await stopAll(program);
    const client = await startOurs(address);
    const { ms, ids } = await client.ask("pending");
    await stopAll(client);
    if (ids.length !== count + LANES) throw new Error(`${ids.length} questions are open instead of ${count + LANES}`);
    rows.push(
      row(`openrath, ${name}, memory of ${count} parked runs`, bytes / 1e6, "MB", quick ? undefined : "< 50"),
      row(`openrath, ${name}, rath.pending() over ${ids.length}`, ms, "ms"),
    );
  }
  return rows;
}

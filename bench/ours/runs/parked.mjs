// What runs that wait for a person cost the process that parked them, and listing what they wait for.
import { progress } from "../../measure.mjs";
import { startProcess } from "../../process.mjs";
import { row } from "../../report.mjs";

const WORKER = new URL("./worker.mjs", import.meta.url);
const LANES = 250;

export async function parked({ quick, stores }) {
  const rows = [];
  const wanted = quick ? 1000 : 10_000;
  for (const [name, store] of stores) {
    progress(`${wanted} parked runs, ${name}`);
    const address = await store();
    const worker = await started(address);
    const { bytes, count } = await worker.ask("park", { count: wanted, lanes: LANES });
    const here = await worker.ask("pending");
    await worker.ask("close");
    await worker.stop();
    const other = await started(address);
    const there = await other.ask("pending");
    await other.ask("close");
    await other.stop();
    for (const { length } of [here, there])
      if (length !== count + LANES) throw new Error(`${length} questions are open instead of ${count + LANES}`);
    rows.push(
      row(`${name}, memory of ${count} parked runs`, bytes / 1e6, "MB", quick ? undefined : "< 50"),
      row(`${name}, rath.pending() over ${here.length}`, here.ms, "ms"),
      row(`${name}, rath.pending() over ${there.length}, new process`, there.ms, "ms"),
    );
  }
  return rows;
}

async function started(store) {
  const part = startProcess(WORKER);
  await part.ask("open", { store });
  return part;
}

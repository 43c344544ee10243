// Runs and steps a second with 16 workflows at once, started and executed in one process: ours and DBOS Transact in turns on one
// PostgreSQL server. A `safe` step of ours is not waited for, since it may be repeated; DBOS waits for every step, as ours does for `once`.
import { median, now, progress } from "../../measure.mjs";
import { startProcess } from "../../process.mjs";
import { row } from "../../report.mjs";
import { OURS } from "./start.mjs";

const AT_ONCE = 16;
const DBOS = new URL("../../peers/dbos.mjs", import.meta.url);
/** What the Python original of this library publishes for itself. */
const REFERENCE_RUNS = 38;

export async function throughput({ quick, stores }) {
  const postgres = stores.get("PostgreSQL");
  const candidates = [
    ...[...stores].map(([name, store]) => [`openrath, ${name}`, OURS, store, ["safe", "once", "one"]]),
    ["DBOS Transact", DBOS, postgres, ["steps", "one"]],
  ];
  const rates = new Map();
  for (let pass = 1; pass <= (quick ? 1 : 3); pass++) {
    for (const [name, script, store, workflows] of candidates) {
      progress(`pass ${pass}: ${name}`);
      for (const [workflow, rate] of await inOneProcess(script, await store(), workflows, quick)) {
        const key = `${name}, ${workflow}`;
        rates.set(key, [...(rates.get(key) ?? []), rate]);
      }
    }
  }
  return rowsOf(rates);
}

/** [workflow, steps or runs a second] */
async function inOneProcess(script, store, workflows, quick) {
  const part = startProcess(script);
  const stepsPerRun = quick ? 50 : 200;
  await part.ask("open", { store, stepsPerRun });
  const rates = [];
  for (const workflow of workflows) {
    const [runsPerLane, perRun] = workflow === "one" ? [quick ? 25 : 100, 1] : [1, stepsPerRun];
    const work = { workflow, lanes: AT_ONCE, runsPerLane };
    await part.ask("execute", work); // warm-up
    const begin = now();
    await part.ask("execute", work);
    rates.push([workflow, (AT_ONCE * runsPerLane * perRun) / ((now() - begin) / 1000)]);
  }
  await part.ask("close");
  await part.stop();
  return rates;
}

function rowsOf(rates) {
  const words = { safe: "`safe` steps", once: "`once` steps", steps: "steps", one: "runs of one step" };
  const ratio = (workflow, theirs) =>
    median(rates.get(`openrath, PostgreSQL, ${workflow}`).map((rate, i) => rate / rates.get(`DBOS Transact, ${theirs}`)[i]));
  const reference = median(rates.get("openrath, SQLite, one")) / REFERENCE_RUNS;
  return [
    ...[...rates].map(([key, measured]) => {
      const workflow = key.slice(key.lastIndexOf(" ") + 1);
      const name = key.slice(0, -workflow.length) + words[workflow];
      return row(`${name}, ${AT_ONCE} at once`, median(measured), workflow === "one" ? "runs/s" : "steps/s");
    }),
    row("openrath / DBOS Transact, `safe` steps", ratio("safe", "steps"), "times", ">= 3"),
    row("openrath / DBOS Transact, `once` steps", ratio("once", "steps"), "times"),
    row("openrath / DBOS Transact, runs of one step", ratio("one", "one"), "times"),
    row(`openrath, SQLite / reference's published ${REFERENCE_RUNS} runs/s (other hardware)`, reference, "times", ">= 20"),
  ];
}

// Ours in a process of its own: a program that executes what it starts, a worker on the store, or a client that only asks.
import { openrath } from "../../../dist/index.js";
import { now, settleHeap } from "../../measure.mjs";
import { answer, say } from "../../process.mjs";
import { clock, workflows } from "./workflows.mjs";

let rath;
let working;

answer({
  async open({ store, stepsPerRun = 1 }) {
    rath = openrath({ store, workflows: workflows(stepsPerRun) });
    await rath.ready();
  },

  /** So many lanes at once, each with one run after another, started and executed here. */
  execute: ({ workflow, lanes, runsPerLane }) => inLanes(lanes, lanes * runsPerLane, async () => (await start(workflow)).result()),

  /** Starts runs here that wait for a person; the memory they take then. */
  async park({ count, lanes }) {
    const settle = async () => (await (await start("question")).settle()).status;
    await inLanes(lanes, lanes, settle); // warm-up
    const before = settleHeap();
    await inLanes(lanes, count, settle);
    return settleHeap() - before;
  },

  /** Queues runs for whoever works on the store. */
  queue: ({ workflow, count }) => inLanes(16, count, () => start(workflow, { queue: true })),

  /** Takes runs until `rest`; says how many it took whenever it has nothing to do. */
  work({ concurrency }) {
    const stop = new AbortController();
    let told = 0;
    const report = ({ executing, taken }) => {
      if (executing > 0 || taken === told) return;
      told = taken;
      say({ taken });
    };
    working = { stop, ended: rath.work({ concurrency, signal: stop.signal, report }) };
  },
  async rest() {
    working.stop.abort();
    await working.ended;
  },

  async count({ status }) {
    let count = 0;
    for await (const _ of rath.runs({ status })) count++;
    return count;
  },

  /** What is open, and how long it takes to list it. */
  async pending() {
    const begin = now();
    const open = await rath.pending();
    return { ms: now() - begin, ids: open.map(({ id }) => id) };
  },

  /** When the decision was begun. */
  async decide({ id }) {
    const at = clock();
    await rath.decide(id, { answer: "yes", by: "human:bench" });
    return at;
  },

  close: () => rath.close(),
});

function start(workflow, options) {
  return rath.run(workflow, rath.session("begin"), options);
}

/** Does something so many times, as many at once as there are lanes. */
async function inLanes(lanes, times, work) {
  let begun = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (begun++ < times) await work();
    }),
  );
}

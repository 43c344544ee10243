// Ours in a process of its own: executes the runs it starts, or any of the store.
import { openrath } from "../../../dist/index.js";
import { now, settleHeap } from "../../measure.mjs";
import { answer } from "../../process.mjs";
import { workflows } from "./workflows.mjs";

let rath;

answer({
  async open({ store, stepsPerRun = 1 }) {
    rath = openrath({ store, workflows: workflows(stepsPerRun) });
    await rath.ready();
  },

  /** So many lanes at once, each with one run after another, started and executed here. */
  execute: ({ workflow, lanes, runsPerLane }) => inLanes(lanes, runsPerLane, async () => (await start(workflow)).result()),

  /** Starts runs that wait for a person; the memory they take here then. */
  async park({ count, lanes }) {
    const settle = async () => (await (await start("question")).settle()).status;
    await inLanes(lanes, 1, settle);
    const before = settleHeap();
    await inLanes(lanes, Math.ceil(count / lanes), settle);
    return { bytes: settleHeap() - before, count: lanes * Math.ceil(count / lanes) };
  },

  /** How many questions are open, and how long it takes to list them. */
  async pending() {
    const begin = now();
    const { length } = await rath.pending();
    return { ms: now() - begin, length };
  },

  close: () => rath.close(),
});

function start(workflow) {
  return rath.run(workflow, rath.session("begin"));
}

function inLanes(lanes, times, work) {
  return Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let i = 0; i < times; i++) await work();
    }),
  );
}

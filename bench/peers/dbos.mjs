// DBOS Transact as an executor in a process of its own, at its defaults; started by ours/runs.mjs.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { result } from "../payload.mjs";
import { answer } from "../process.mjs";

/** As many steps as asked for, each with a result of 1 000 bytes. */
const steps = DBOS.registerWorkflow(
  async (count) => {
    for (let i = 0; i < count; i++) await DBOS.runStep(async () => result(i), { name: "lookup" });
    return count;
  },
  { name: "steps" },
);

let stepsPerRun;

answer({
  async open(given) {
    stepsPerRun = given.stepsPerRun;
    DBOS.setConfig({
      name: "bench",
      systemDatabaseUrl: given.store,
      logLevel: "error",
      applicationVersion: "1",
      executorID: `${process.pid}`,
    });
    await DBOS.launch();
  },

  /** So many lanes at once, each with one workflow after another. */
  async execute({ workflow, lanes, runsPerLane }) {
    const count = workflow === "one" ? 1 : stepsPerRun;
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (let i = 0; i < runsPerLane; i++) {
          const handle = await DBOS.startWorkflow(steps)(count);
          if ((await handle.getResult()) !== count) throw new Error("DBOS returned something else");
        }
      }),
    );
  },

  close: () => DBOS.shutdown(),
});

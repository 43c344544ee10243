// Ours in a process of its own: executes runs it starts, or those of the store.
import { openrath, Workflow } from "../../../dist/index.js";
import { result } from "../../payload.mjs";
import { answer } from "../../process.mjs";

/** As many `safe` steps as asked for, each with a result of 1 000 bytes. */
class Steps extends Workflow {
  #count;
  constructor(count) {
    super();
    this.#count = count;
  }
  async forward(session) {
    let current = session;
    for (let i = 0; i < this.#count; i++) current = await current.do("lookup", () => result(i), { repeat: "safe" });
    return current;
  }
}

let rath;
const workflows = { one: new Steps(1), many: new Steps(200) };

answer({
  async open({ store }) {
    rath = openrath({ store, workflows });
    await rath.ready();
  },

  /** So many lanes at once, each with one run after another. */
  async execute({ lanes, runsPerLane, stepsPerRun }) {
    const name = stepsPerRun === 1 ? "one" : "many";
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (let i = 0; i < runsPerLane; i++) await (await rath.run(name, rath.session("begin"))).result();
      }),
    );
  },

  close: () => rath.close(),
});

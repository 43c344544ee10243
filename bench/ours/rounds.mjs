// Our side of every comparison, through the public doors only.
// A round is a `safe` effect that stands in for the model call and a `once` effect that is the tool: four events.
import { join } from "node:path";
import { openrath, Workflow } from "../../dist/index.js";
import { call, result } from "../payload.mjs";

export const EVENTS_PER_ROUND = 4;

/** One tool round. */
export async function toolRound(session, index) {
  const asked = await session.do("model", () => call(index), { repeat: "safe", input: { round: index } });
  return asked.do("lookup", () => result(index), { repeat: "once", input: { round: index } });
}

/** One durable effect. */
export function effect(session, index) {
  return session.do("lookup", () => result(index), { repeat: "once", input: { round: index } });
}

/** Repeats one step. `before` runs ahead of each, outside the time that goes into `spent` (ms per step). */
export class Repeated extends Workflow {
  #settings;
  constructor(times, step = toolRound, options = {}) {
    super();
    this.#settings = { times, step, ...options };
  }
  async forward(session) {
    const { times, step, before, spent } = this.#settings;
    let current = session;
    for (let i = 0; i < times; i++) {
      before?.();
      const begin = performance.now();
      current = await step(current, i);
      spent?.push(performance.now() - begin);
    }
    return current;
  }
}

/** Opens a runtime on a SQLite file in `directory`. */
export async function openDurable(directory) {
  const rath = openrath({ store: join(directory, "rath.db") });
  await rath.ready();
  return rath;
}

/** Runs a workflow on a new session to its end. */
export async function finish(rath, workflow) {
  const run = await rath.run(workflow, rath.session("begin"));
  return run.result();
}

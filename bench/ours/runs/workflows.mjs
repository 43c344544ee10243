// The workflows of the benchmark, the same in every process that may execute them.
import { Workflow } from "../../../dist/index.js";
import { result } from "../../payload.mjs";
import { say } from "../../process.mjs";

/** Times that two processes of one machine may compare. */
export const clock = () => Number(process.hrtime.bigint()) / 1e6;

/** So many steps, each with a result of 1 000 bytes. */
class Steps extends Workflow {
  #count;
  #repeat;
  constructor(count, repeat) {
    super();
    this.#count = count;
    this.#repeat = repeat;
  }
  async forward(session) {
    let current = session;
    for (let i = 0; i < this.#count; i++) current = await current.do("lookup", () => result(i), { repeat: this.#repeat });
    return current;
  }
}

/** Waits for a person, then says when it goes on. */
class Question extends Workflow {
  async forward(session) {
    const asked = await session.ask("May it go on?");
    return asked.do("go on", () => say({ at: clock() }), { repeat: "safe" });
  }
}

/** Says that it is in a step which never ends by itself; whoever repeats it says so again. */
class Endless extends Workflow {
  async forward(session) {
    const begun = await session.do("begin", () => "begun", { repeat: "safe" });
    return begun.do(
      "never ends",
      ({ signal }) => {
        say({ at: clock() });
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
      },
      { repeat: "safe" },
    );
  }
}

/** By name, with runs of `steps` steps. */
export function workflows(steps) {
  return {
    one: new Steps(1, "safe"),
    safe: new Steps(steps, "safe"),
    once: new Steps(steps, "once"),
    question: new Question(),
    endless: new Endless(),
  };
}

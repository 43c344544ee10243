/**
 * A team repairs a repository. A planner reads the issue, the files and what earlier work has learned; two coders patch two forks of
 * the files at once; the tests of the repository judge each patch in a sandbox of their own. Where both fail, a reviewer says what the
 * failure teaches, that is remembered with the failure as its evidence, and the better patch is repaired. The directory of the
 * repository is only read.
 */
import { Agent, best, Compressor, type Session, Workflow } from "openrath";
import { coding, listFiles, readFile, runTests } from "openrath/tools";
import { z } from "zod";

const styles = {
  small: "Make the smallest change that settles the issue.",
  thorough: "Fix the cause. Add a line to CHANGES.md, and try the example of the issue in the shell.",
};

export class Team extends Workflow {
  readonly planner = new Agent({
    model: "team/planner",
    instructions: "Read the repository and plan the repair in three short steps. Use what is recalled from earlier work.",
    tools: [listFiles, readFile],
    memory: { recall: "before", scope: "project" },
  });
  readonly reviewer = new Agent({
    model: "team/reviewer",
    instructions:
      "Say in two sentences what mistake the tests show and how to avoid it in any repository. The key names it in a word or two.",
    output: z.object({ key: z.string(), content: z.string() }),
  });
  readonly coder: Agent;
  readonly shorten: Compressor;
  readonly #tests: string;

  /** `tests` is the command that judges. A coder that has used up its `budget` of tokens goes on with a summary of what it read. */
  constructor(tests: string, budget = 400_000) {
    super();
    this.coder = new Agent({ model: "team/coder", instructions: "Carry out the plan.", tools: coding, limits: { tokens: budget } });
    this.shorten = new Compressor({ policy: { summariseAt: budget, keep: Math.ceil(budget / 20) }, model: "team/summary" });
    this.#tests = tests;
  }

  async forward(session: Session) {
    const planned = await this.planner.forward(session);
    const tries = Object.entries(styles).map(([label, style]) => this.#patch(planned.fork(label).say(style))); // files of their own
    const first = await best(await Promise.all(tries)); // the other one is rejected, with the reason
    return first.checks.at(-1)?.passed ? first : this.#repair(first);
  }

  async #patch(session: Session) {
    let coded = await this.coder.forward(session);
    for (let more = 0; coded.stop === "budget" && more < 5; more++) coded = await this.coder.forward(await this.shorten.forward(coded));
    // A new sandbox, which holds the recorded files and nothing else.
    const clean = coded.to(coded.placement?.sandbox ?? "local", { env: coded.placement?.env });
    return clean.check("tests", runTests(this.#tests));
  }

  /** What the failure teaches is for everybody once a patch that heeds it has passed the tests. */
  async #repair(failed: Session) {
    const { reason = "", event = "", acted } = failed.checks.at(-1) ?? {};
    failed.reject(`the tests rejected its patch: ${reason}`);
    const { stdout = "", stderr = "" } = acted?.commands?.[0] ?? {};
    const told = failed.fork("repair").say(`The tests reject this patch: ${reason}\n\n${`${stdout}\n${stderr}`.trim().slice(0, 6000)}`);
    const reviewed = await this.reviewer.forward(told);
    const learned = await reviewed.remember({ ...reviewed.output, because: [event], publish: { check: "tests" } });
    return this.#patch(learned.say("Repair the patch."));
  }
}

/**
 * A team repairs a repository. A planner reads the issue, the files and what earlier work has learned; two coders patch two forks of
 * the files at once; the tests of the repository judge each patch in a sandbox of their own. Where both fail, a reviewer says what the
 * failure teaches, that is remembered with the failure as its evidence, and the better patch is repaired. The directory of the
 * repository is only read.
 */
import { Agent, best, Compressor, type EffectContext, type Model, type Session, Workflow } from "openrath";
import { coding, listFiles, readFile } from "openrath/tools";
import { z } from "zod";

const styles = {
  small: "Make the smallest change that settles the issue.",
  thorough: "Fix the cause. Add a line to CHANGES.md, and try the example of the issue in the shell.",
};

const Lesson = z.object({ key: z.string(), lesson: z.string() });

/** A model for each role: a name, or a script that needs no key. */
export type Models = Readonly<Record<"planner" | "coder" | "reviewer" | "summary", string | Model>>;

export interface TeamOptions {
  readonly models: Models;
  /** Judges the files of a branch: `testsBy(command)`. What it writes is not kept. */
  readonly tests: Tests;
  /** Tokens that a coder may use before what it has read is replaced by a summary. */
  readonly budget?: number;
}

export class Team extends Workflow {
  readonly name = "team";
  readonly planner: Agent;
  readonly coder: Agent;
  readonly reviewer: Agent<z.infer<typeof Lesson>>;
  readonly shorten: Compressor;
  readonly #tests: Tests;

  constructor({ models, tests, budget = 400_000 }: TeamOptions) {
    super();
    this.planner = new Agent({
      model: models.planner,
      instructions: "Read the repository and plan the repair in three short steps. Use what is recalled from earlier work.",
      tools: [listFiles, readFile],
      memory: { recall: "before", scope: "project" },
    });
    this.coder = new Agent({ model: models.coder, instructions: "Carry out the plan.", tools: coding, limits: { tokens: budget } });
    this.reviewer = new Agent({
      model: models.reviewer,
      instructions:
        "Say in two sentences what mistake the tests show and how to avoid it in any repository. The key names it in a word or two.",
      output: Lesson,
    });
    this.shorten = new Compressor({ policy: { summariseAt: budget, keep: Math.ceil(budget / 20) }, model: models.summary });
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
    const clean = coded.to(coded.placement?.sandbox ?? "local"); // a new sandbox that holds the recorded files and nothing else
    return clean.check("tests", this.#tests);
  }

  /** What the failure teaches is for everybody once a patch that heeds it has passed the tests. */
  async #repair(failed: Session) {
    const { reason = "", event = "", acted } = failed.checks.at(-1) ?? {};
    failed.reject(`the tests rejected its patch: ${reason}`);
    const told = failed.fork("repair").say(`The tests reject this patch: ${reason}\n\n${shortened(acted?.commands?.[0])}`);
    const reviewed = await this.reviewer.forward(told);
    const { key, lesson } = reviewed.output;
    const learned = await reviewed.remember({ key, content: lesson, because: [event], publish: { check: "tests" } });
    return this.#patch(learned.say("Repair the patch."));
  }
}

/** Judges the files of a branch, in a sandbox of its own; what it writes there is not kept. */
export type Tests = (context: EffectContext) => Promise<Verdict>;
type Verdict = { readonly passed: boolean; readonly score: number; readonly reason: string };

/** Runs the tests of a repository by its own command. */
export function testsBy(command: string): Tests {
  return async ({ sandbox }) => verdict(await sandbox.exec(command));
}

/** Reads what `node --test` (as TAP) or `python3 -m unittest -v` wrote. */
export function verdict({ exitCode, stdout, stderr }: Ended): Verdict {
  const output = `${stdout}\n${stderr}`;
  const failed = [...output.matchAll(/^\s*not ok \d+ - (.*)$|^(\w+) \(.*\) \.\.\. (?:FAIL|ERROR)$/gm)].map(
    ([, tap, unittest]) => tap ?? unittest,
  );
  const passed = [...output.matchAll(/^\s*ok \d+ - |\.\.\. ok$/gm)].length;
  const score = passed / Math.max(1, passed + failed.length);
  if (exitCode === 0) return { passed: passed > 0, score, reason: passed > 0 ? `all ${passed} tests pass` : "no test was run" };
  return {
    passed: false,
    score,
    reason: failed.length > 0 ? `${failed.length} of ${passed + failed.length} tests fail: ${failed.join("; ")}` : `exit code ${exitCode}`,
  };
}

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** As much of what a command wrote as a model needs. */
function shortened(ended: Ended | undefined): string {
  return ended === undefined ? "" : `${ended.stdout}\n${ended.stderr}`.trim().slice(0, 6000);
}

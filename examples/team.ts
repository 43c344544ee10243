/**
 * A small team repairs a repository. A planner reads it, two coders work on two forks of its files at once, real tests run in the
 * sandbox of each fork, a reviewer reads each patch; the better branch goes on, and the other stays in the graph with the reason why
 * it was rejected. The directory they were given is only read.
 */

import { Agent, best, type EffectContext, type Model, type ModelRequest, type Session, scripted, Workflow } from "openrath";
import { coding, listFiles, readFile } from "openrath/tools";
import { z } from "zod";

export const task = "The tests of this repository fail. Make them pass.";

const styles = {
  small: "Make the smallest change you can.",
  thorough: "Fix the cause, add a line to CHANGES.md, and run the tests.",
};

const Verdict = z.object({ accept: z.boolean(), reason: z.string() });

export class Team extends Workflow {
  readonly name = "team";
  readonly planner: Agent;
  readonly coder: Agent;
  readonly reviewer: Agent<z.infer<typeof Verdict>>;
  readonly #tests: Tests;

  constructor(models: TeamModels = offline, tests: Tests = nodeTests) {
    super();
    this.planner = new Agent({ model: models.planner, instructions: "Plan in three short steps.", tools: [readFile, listFiles] });
    this.coder = new Agent({ model: models.coder, instructions: "Carry out the plan.", tools: coding });
    this.reviewer = new Agent({ model: models.reviewer, instructions: "Accept only patches whose tests pass.", output: Verdict });
    this.#tests = tests;
  }

  async forward(session: Session) {
    const planned = await this.planner.forward(session);
    const tries = await Promise.all(
      Object.entries(styles).map(async ([label, style]) => {
        const coded = await this.coder.forward(planned.fork(label).say(style)); // its own files from here on
        const tested = await coded.check("tests", this.#tests);
        const patch = await tested.files.patch(planned.files);
        const reviewed = await this.reviewer.forward(tested.say(`${tested.checks.at(-1)?.reason}\nAccept this patch?\n${patch}`));
        return reviewed.check("review", () => ({ passed: reviewed.output.accept, reason: reviewed.output.reason }));
      }),
    );
    return best(tries); // the other one is rejected, with the reason
  }
}

/** Judges the files of a branch. What a check writes is not kept. */
export type Tests = (context: EffectContext) => Promise<{ readonly passed: boolean; readonly reason: string }>;

const nodeTests: Tests = async ({ sandbox }) => {
  const { exitCode, stdout } = await sandbox.exec("node --test --test-reporter=tap");
  const failed = [...stdout.matchAll(/^not ok \d+ - (.*)$/gm)].map(([, name]) => name);
  return {
    passed: exitCode === 0,
    reason: exitCode === 0 ? "All tests pass." : `Tests fail: ${failed.join(", ") || `exit code ${exitCode}`}.`,
  };
};

/** The models of the team: by name when there is a key, else scripts that need none. */
export interface TeamModels {
  readonly planner: string | Model;
  readonly coder: string | Model;
  readonly reviewer: string | Model;
}

export function liveModels(name: string): TeamModels {
  return { planner: name, coder: name, reviewer: name };
}

export const cases = { "Hello World": "hello-world", "Ça va, World!": "ca-va-world", "a -- b": "a-b" };

/** The repository: one function with a bug, and the tests that show it. */
export const repository: Readonly<Record<string, string>> = {
  "package.json": `${JSON.stringify({ name: "slugs", type: "module", scripts: { test: "node --test" } }, null, 2)}\n`,
  "CHANGES.md": "# Changes\n\n- slugify makes dashes of spaces\n",
  "slugify.js": `export function slugify(title) {
  return title.toLowerCase().replaceAll(" ", "-");
}
`,
  "slugify.test.js": `import assert from "node:assert/strict";
import { test } from "node:test";
import { slugify } from "./slugify.js";

const cases = ${JSON.stringify(cases)};
for (const [title, slug] of Object.entries(cases)) test(title, () => assert.equal(slugify(title), slug));
`,
};

const line = '  return title.toLowerCase().replaceAll(" ", "-");';
const short = '  return title.toLowerCase().replace(/[^a-zç]+/g, "-").replace(/-$/, "");';
const careful = `  const plain = title.normalize("NFD").replace(/\\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");`;
const edit = (replace: string) => ({ tool: "edit_file", input: { path: "slugify.js", find: line, replace } });
const record = "echo '- slugify drops accents and punctuation' >> CHANGES.md && node --test";

function isSmall(request: ModelRequest): boolean {
  return JSON.stringify(request.messages).includes(styles.small);
}

export const offline: TeamModels = {
  planner: scripted(
    { calls: ["slugify.js", "slugify.test.js"].map((path) => ({ tool: "read_file", input: { path } })) },
    "1. Take accents off. 2. Make one dash of all that is no letter or digit. 3. Run the tests.",
  ),
  coder: scripted(
    (request) => (isSmall(request) ? { text: "One line will do.", calls: [edit(short)] } : { calls: [edit(careful)] }),
    (request) => (isSmall(request) ? "Done in one line." : { calls: [{ tool: "shell", input: { command: record } }] }),
    "Done: no accents, no punctuation.",
  ),
  reviewer: scripted((request) => {
    const passes = JSON.stringify(request.messages.at(-1)).includes("All tests pass.");
    return { output: { accept: passes, reason: passes ? "The patch is small and every test passes." : "Accents are left in." } };
  }),
};

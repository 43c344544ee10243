/**
 * A small team writes a function. A planner plans, two coders work on two forks at once, tests really run the code, a reviewer
 * judges each branch, the better one is published and the other stays in the graph with the reason why it was rejected.
 */
import { runInNewContext } from "node:vm";
import { z } from "zod";
import { Agent, best, type Model, type ModelRequest, type Session, scripted, tool, Workflow } from "../../src/index.ts";

export const task = 'Write a JavaScript function slugify(title) that makes "Ça va, World!" into "ca-va-world".';

const styles = {
  small: "Make it as short as you can.",
  thorough: "Think of accents, punctuation and repeated dashes.",
};
const expected = { "Hello World": "hello-world", "Ça va, World!": "ca-va-world", "a -- b": "a-b" };

/** Where the team's work goes: live objects that are given again when a run is resumed, and never stored. */
export interface Desk {
  draft(code: string, key: string): Promise<void>;
  publish(code: string): Promise<string>;
}

const submit = tool({
  name: "submit",
  description: "Hands in the source of the function.",
  input: z.object({ code: z.string() }),
  repeat: "keyed", // may be repeated with the same key
  run: async ({ code }, { key, deps }) => {
    await (deps as Desk).draft(code, key);
    return { characters: code.length };
  },
});

export const publish = tool({
  name: "publish",
  description: "Publishes the function. Cannot be undone.",
  input: z.object({ code: z.string() }),
  repeat: "once", // never repeated by itself
  run: ({ code }, { deps }) => (deps as Desk).publish(code),
});

const Verdict = z.object({ accept: z.boolean(), reason: z.string() });

export class Team extends Workflow {
  readonly name = "team";
  readonly expert: Agent;
  readonly planner: Agent;
  readonly coder: Agent;
  readonly reviewer: Agent<z.infer<typeof Verdict>>;

  constructor(models: TeamModels = offline) {
    super();
    this.expert = new Agent({ model: models.expert, instructions: "You know Unicode. Answer in one line." });
    const ask = this.expert.asTool({ name: "ask_expert", description: "Asks somebody who knows Unicode." });
    this.planner = new Agent({ model: models.planner, instructions: "Plan in three short steps. Write no code." });
    this.coder = new Agent({ model: models.coder, instructions: "Write the code and submit it.", tools: [submit, ask] });
    this.reviewer = new Agent({ model: models.reviewer, instructions: "Accept only code that passes its tests.", output: Verdict });
  }

  async forward(session: Session) {
    const planned = await this.planner.forward(session);
    const tries = await Promise.all(
      Object.entries(styles).map(async ([label, style]) => {
        const coded = await this.coder.forward(planned.fork(label).say(style));
        const tested = await coded.check("tests", () => runTests(codeOf(coded)));
        const found = tested.checks.at(-1);
        const reviewed = await this.reviewer.forward(tested.say(`The tests ${found?.passed ? "pass" : `fail: ${found?.reason}`}. Accept?`));
        const { accept, reason } = reviewed.output;
        return reviewed.check("review", () => ({ passed: accept, reason }));
      }),
    );
    const winner = await best(tries); // the other one is rejected, with the reason, and stays in the graph
    return winner.call(publish, { code: codeOf(winner) });
  }
}

function codeOf(session: Session): string {
  const call = session.calls.findLast(({ tool: name, outcome }) => name === "submit" && outcome.type === "ok");
  return (call?.input as { readonly code: string } | undefined)?.code ?? "";
}

/** Runs the code for real, in a context of its own, for two seconds at most. */
function runTests(code: string): { readonly passed: boolean; readonly score: number; readonly reason: string } {
  const failures: string[] = [];
  for (const [title, slug] of Object.entries(expected)) {
    let got: string;
    try {
      got = String(runInNewContext(`${code}\nslugify(${JSON.stringify(title)})`, {}, { timeout: 2000 }));
    } catch (error) {
      got = String(error);
    }
    if (got !== slug) failures.push(`${title} gave ${got}`);
  }
  const all = Object.keys(expected).length;
  return { passed: failures.length === 0, score: (all - failures.length) / all, reason: failures.join("; ") || "all pass" };
}

/** The models of the team: by name when there is a key, else scripts that need none. */
export interface TeamModels {
  readonly planner: string | Model;
  readonly coder: string | Model;
  readonly expert: string | Model;
  readonly reviewer: string | Model;
}

export function liveModels(name: string): TeamModels {
  return { planner: name, coder: name, expert: name, reviewer: name };
}

const short = 'const slugify = (title) => title.toLowerCase().replace(/ /g, "-");';
const careful = `function slugify(title) {
  const plain = title.normalize("NFD").replace(/\\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}`;

function isSmall(request: ModelRequest): boolean {
  return JSON.stringify(request.messages).includes(styles.small);
}

export const offline: TeamModels = {
  planner: scripted("1. Lower the case. 2. Take accents off. 3. Put one dash between words."),
  expert: scripted("Normalise to NFD and drop \\p{M}."),
  coder: scripted(
    (request) =>
      isSmall(request)
        ? { text: "One line will do.", calls: [{ tool: "submit", input: { code: short } }] }
        : { calls: [{ tool: "ask_expert", input: { task: "How do I take accents off letters?" } }] },
    (request) => (isSmall(request) ? "Done in one line." : { calls: [{ tool: "submit", input: { code: careful } }] }),
    "Done, with accents and punctuation.",
  ),
  reviewer: scripted((request) => {
    const passes = JSON.stringify(request.messages.at(-1)).includes("tests pass");
    return { output: { accept: passes, reason: passes ? "Every test passes." : "Accents and punctuation are left in." } };
  }),
};

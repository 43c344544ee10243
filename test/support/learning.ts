/** Two runs that learn, through the public doors alone: the first teaches what the second recalls, forks, rejects, merges and compresses. */
import { Agent, Compressor, type Model, type ModelRequest, type Rath, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import type { Script } from "../../src/model/model.ts";
import { testRath } from "../../src/testing/testing.ts";
import { readFile, recall, writeFile } from "../../src/tool/builtin/tools.ts";

/** Comes from outside: nobody vouches for what it says. */
const runTests = tool({
  name: "run_tests",
  description: "Runs the tests of a package.",
  input: { type: "object", properties: { package: { type: "string" } }, required: ["package"] },
  repeat: "safe",
  run: () => `2 passed, 1 failed: parser reads dates as UTC. ${"Log line. ".repeat(60)}`,
});

/** Teaches three things, each because of something else, and guesses a fourth on a branch that is rejected. */
export class Teach extends Workflow {
  readonly name = "teach";
  readonly tester = new Agent({
    tools: [runTests],
    model: scripted({ calls: [{ tool: "run_tests", input: { package: "parser" } }] }, "One test of the parser fails."),
  });
  async forward(session: Session) {
    const tested = await this.tester.forward(session);
    const guess = await tested.fork("guess").remember({ key: "guess", content: "The parser is cursed." });
    guess.reject("nothing supports it");
    const checked = await tested.check("lint", () => ({ passed: false, reason: "tabs in parser.ts" }));
    const said = checked.messages.find(({ role }) => role === "user")?.event ?? "";
    const ran = checked.calls.at(-1)?.id ?? "";
    const judged = checked.checks.at(-1)?.event ?? "";
    const one = await checked.remember({ key: "style", content: "The parser is written without classes.", because: [said] });
    const two = await one.remember({ key: "parser-dates", content: "The parser reads dates as UTC.", because: [ran] });
    return two.remember({ key: "lint", content: "The linter of the parser refuses tabs.", because: [judged] });
  }
}

/** Repairs it: recalls before a turn and by a tool, tries two ways, keeps one, and goes on after a summary. */
export class Repair extends Workflow {
  readonly name = "repair";
  readonly sent: ModelRequest[] = [];
  readonly coder = new Agent({
    memory: { recall: "before", remember: "tool", scope: "project", limit: 2 },
    tools: [recall, readFile, writeFile],
    model: this.#sees(
      { calls: [{ tool: "recall", input: { query: "tabs linter" } }] },
      { calls: [{ tool: "write_file", input: { path: "plan.md", content: "1. Read dates as local time.\n2. No tabs.\n" } }] },
      {
        text: "Dates are read as local time.",
        calls: [{ tool: "remember", input: { key: "decision", content: "Dates are local time from now on." } }],
      },
      "The plan is written.",
    ),
  });
  readonly trier = new Agent({ memory: { recall: "never" }, model: this.#sees("It is tried.") });
  readonly shorter = new Compressor({ policy: { summariseAt: 1000, keep: 0 }, model: scripted("They plan to read dates as local time.") });
  readonly finisher = new Agent({
    memory: { recall: "before", scope: "project", limit: 2 },
    tools: [readFile],
    model: this.#sees({ calls: [{ tool: "read_file", input: { path: "plan.md" } }] }, "Done: dates are local time, without tabs."),
  });

  async forward(session: Session) {
    const planned = await this.coder.forward(session);
    const [hack, proper] = await Promise.all(
      ["hack", "proper"].map(async (label) => {
        const tried = await this.trier.forward(planned.fork(label).say(`Try it: ${label}.`));
        return tried.remember({ key: `way-${label}`, content: `The ${label} way works.`, publish: { check: "proof" } });
      }),
    );
    hack?.reject("it is a hack");
    const merged = await planned.merge(proper as Session, { reason: "it holds" });
    const proved = await merged.check("proof", () => true);
    const short = await this.shorter.forward(proved);
    return this.finisher.forward(short.say("Finish the parser."));
  }

  /** A model that keeps what it was sent. */
  #sees(...replies: readonly Script[]): Model {
    return scripted(
      ...replies.map((reply) => (request: ModelRequest, session: Session) => {
        this.sent.push(JSON.parse(JSON.stringify(request)) as ModelRequest);
        return typeof reply === "function" ? reply(request, session) : reply;
      }),
    );
  }
}

export interface Learned extends AsyncDisposable {
  readonly rath: Rath;
  readonly taught: Session;
  readonly session: Session;
  readonly sent: readonly ModelRequest[];
}

export async function learned(): Promise<Learned> {
  const rath = testRath({ implicitForks: "error" });
  const lesson = rath.session("The parser is written without classes. Test it.", { principal: "ada" });
  const taught = await (await rath.run(new Teach(), lesson, { key: "teach" })).result();
  const repair = new Repair();
  const task = rath.session("Repair how the parser reads dates.", { principal: "ada" }).note("from the board").to("memory");
  const session = await (await rath.run(repair, task, { key: "repair" })).result();
  return { rath, taught, session, sent: repair.sent, [Symbol.asyncDispose]: () => rath.close() };
}

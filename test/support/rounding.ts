/**
 * A session with one of everything that is shown of a session: agents that hand over, forks of which one is rejected, a merge, files
 * changed in a sandbox, a check that fails and then passes, memory, a compression, an approval, a crossed budget, and a run that was
 * left by one process and taken up by another.
 */
import { mkdir, writeFile as write } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { Agent, Compressor, type Model, type Rath, recorded, Selector, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import type { Script } from "../../src/model/model.ts";
import { editFile, readFile, shell, writeFile } from "../../src/tool/builtin/tools.ts";

const task =
  "Invoices are off by a cent: totals() in src/totals.js rounds each line before it adds. Repair it, prove it, and release 1.4.1.";

const faulty = `export function totals(lines) {
  // Rounds early: 3 × 0.333 becomes 0.99.
  return lines.map((line) => Math.round(line * 100) / 100).reduce((sum, line) => sum + line, 0);
}
`;
const tests = `set -e
echo "TAP version 13"
echo "ok 1 - adds whole amounts, <b>bold</b> & all"
if grep -q "Math.round(sum" src/totals.js; then
  echo "ok 2 - rounds once, at the end"
else
  echo "not ok 2 - rounds once, at the end"
  echo "  ---"
  echo "  expected: 1.00"
  echo "  actual:   0.99"
  echo "  at: test/totals.test.js:14:3"
  echo "  ..."
  echo "1 of 2 tests failed" >&2
  exit 1
fi
echo "1..2"
`;

/** To look at it as it would be with real models: how long a reply takes. */
const delay = Number(process.env["PACE"] ?? 0);

/** A script that costs what a model of a provider would: it stands for one that is live. */
function live(id: string, ...replies: readonly Exclude<Script, string | ((...args: never[]) => unknown)>[]): Model {
  const paced = replies.map((reply, turn) => (delay === 0 ? reply : { ...reply, delay: Math.round(delay * (1 + ((turn * 7) % 5) / 4)) }));
  return { ...scripted(...paced), id, free: false };
}

const publish = tool({
  name: "publish_package",
  description: "Publishes the package to the registry.",
  input: z.object({ version: z.string() }),
  needsApproval: true,
  run: ({ version }) => ({ published: `totals@${version}`, url: "https://registry.example/totals" }),
});
let tries = 0;
const lookUp = tool({
  name: "issue_tracker",
  description: "Reads an issue of the tracker.",
  input: z.object({ id: z.string() }),
  repeat: "safe",
  retry: { attempts: 2 },
  run: ({ id }) => {
    if (id === "1881") throw new Error("tracker: 404, no issue 1881");
    if (tries++ % 2 === 0) throw new Error("tracker: connection reset");
    return {
      id,
      title: "Totals off by a cent",
      reported: "2026-10-30",
      by: "accounts@customer.example",
      body: "Line 3 of INV-0071. ".repeat(12),
    };
  },
});

const isolated = (label: string, text: string, found: string, replace: string) => [
  { calls: [{ tool: "read_file", input: { path: "src/totals.js" } }], usage: { input: 1840, output: 32, cached: 1024 } },
  {
    text,
    calls: [{ tool: "edit_file", input: { path: "src/totals.js", find: found, replace } }],
    usage: { input: 2110, output: 96, cached: 1792 },
  },
  { calls: [{ tool: "shell", input: { command: "sh test/run.sh" } }], usage: { input: 2330, output: 24, cached: 2048 } },
  { text: `${label}: done.`, usage: { input: 2480, output: 41, cached: 2304 } },
];

class Repair extends Workflow {
  readonly name = "repair";
  readonly planner = new Agent({
    description: "Reads the report and decides what is to be done.",
    instructions: "You plan repairs. Say what is wrong and which ways there are.",
    memory: { recall: "before", scope: "project", limit: 2 },
    tools: [lookUp, readFile],
    model: live(
      "anthropic/claude-sonnet-4-5",
      {
        text: "I look at the report first.",
        reasoning: "The customer names an invoice; the tracker will say which lines.",
        calls: [
          { tool: "issue_tracker", input: { id: "1880" } },
          { tool: "issue_tracker", input: { id: "1881" } },
        ],
        usage: { input: 1210, output: 58, cached: 0, reasoning: 21 },
        fail: "rate-limit",
      },
      {
        text: "Each line is rounded before it is added, so a third of a unit three times gives 0.99. Two ways: **round half up** on each line, or **integer cents**, rounding once at the end. Try both and keep the one that passes.",
        usage: { input: 1890, output: 142, cached: 1152, reasoning: 64 },
      },
    ),
  });
  readonly rounder = new Agent({
    tools: [readFile, editFile, shell],
    model: live(
      "openai/gpt-5-mini",
      ...isolated("round half up", "Rounding half up on each line.", "Math.round(line * 100)", "Math.floor(line * 100 + 0.5)"),
    ),
  });
  readonly counter = new Agent({
    tools: [readFile, editFile, shell],
    model: live(
      "openai/gpt-5-mini",
      ...isolated(
        "integer cents",
        "Adding first, rounding once at the end.",
        "  // Rounds early: 3 × 0.333 becomes 0.99.\n  return lines.map((line) => Math.round(line * 100) / 100).reduce((sum, line) => sum + line, 0);",
        "  const sum = lines.reduce((sum, line) => sum + line * 100, 0);\n  return Math.round(sum) / 100;",
      ),
    ),
  });
  readonly writer = new Agent({
    tools: [writeFile],
    model: scripted(
      {
        calls: [
          {
            tool: "write_file",
            input: { path: "CHANGELOG.md", content: "# 1.4.1\n\n- Totals are rounded once, after everything is added.\n" },
          },
        ],
      },
      "The changelog says what changed.",
    ),
  });
  readonly reviewer: Agent;
  readonly auditor = new Agent({
    limits: { tokens: 400 },
    tools: [readFile],
    model: live("openai/gpt-5.5", { text: "never said" }),
  });
  readonly shorter = new Compressor({
    policy: { summariseAt: 1000, keep: 0 },
    model: scripted("Totals rounded too early. Two ways were tried; integer cents passes both tests and is reviewed."),
  });
  readonly releaser = new Agent({
    description: "Releases what passed its checks.",
    tools: [publish],
    model: live(
      "openai/gpt-5-mini",
      {
        text: "All checks passed; I ask for the release.",
        calls: [{ tool: "publish_package", input: { version: "1.4.1" } }],
        usage: { input: 980, output: 44, cached: 512 },
      },
      {
        text: "totals() now adds in cents and rounds once. Both tests pass, the changelog is written, and 1.4.1 is released.\n\nThe way that rounds each line half up was tried and rejected: it still gives 0.99.",
        usage: { input: 1130, output: 61, cached: 896 },
      },
    ),
  });
  readonly choose = new Selector({
    choices: { planner: this.planner, releaser: this.releaser },
    choose: (session) =>
      session.routes.length === 0
        ? { choice: "planner", reason: "nobody has read the report yet", memory: "project" }
        : { choice: "done", reason: "there is a plan" },
  });

  constructor(past: Session) {
    super();
    this.reviewer = new Agent({ model: recorded(past) });
  }

  async forward(session: Session): Promise<Session> {
    const planned = await this.choose.forward(await session.check("tests", runTests));
    const [half, cents, docs] = (await Promise.all([
      this.rounder.forward(planned.fork("round half up").say("Round each line half up.")),
      this.counter.forward(planned.fork("integer cents").say("Add in cents, round once.")),
      this.writer.forward(planned.fork("changelog").say("Write the changelog.")),
    ])) as [Session, Session, Session];
    const [tried, passed] = [await half.check("tests", runTests), await cents.check("tests", runTests)];
    const measured = await tried.do("measure", () => ({ slower: 1.04 }), { repeat: "safe" });
    measured.reject("test 2 still fails: rounding half up on each line gives 0.99");
    const merged = await passed.merge(docs, { reason: "the changelog belongs to the repair" });
    const audited = await this.auditor.forward(merged.fork("second opinion").say("Audit the whole module."));
    audited.reject("the auditor's budget was too small to read the module");
    const reviewed = await this.reviewer.forward(merged.say("Review the repair."));
    const ran = reviewed.checks.findLast(({ name }) => name === "tests")?.event ?? "";
    let known = await reviewed.remember({
      key: "money-rounding",
      content: "Amounts are added in cents and rounded once, at the end.",
      because: [ran],
      publish: { check: "tests" },
    });
    known = await known.remember({ key: "guess", content: "Accounts reads invoices on Fridays.", publish: "never" });
    const short = await this.shorter.forward(known);
    return this.releaser.forward(short.say("Release it as 1.4.1."));
  }
}

async function runTests({
  sandbox,
}: {
  readonly sandbox: { exec(command: string): Promise<{ readonly exitCode: number; readonly stdout: string }> };
}) {
  const { exitCode, stdout } = await sandbox.exec("sh test/run.sh");
  const passed = (stdout.match(/^ok /gm) ?? []).length;
  return { passed: exitCode === 0, score: passed / 2, reason: `${passed} of 2 tests pass` };
}

/** The workflow, given what its reviewer said once. */
export async function repairOn(rath: Rath): Promise<Workflow> {
  class Past extends Workflow {
    readonly name = "repair";
    readonly reviewer = new Agent({
      model: live("openai/gpt-5.5", {
        text: "One rounding, at the end, on integers: correct. Ship it.",
        usage: { input: 3100, output: 58, cached: 2048 },
      }),
    });
    forward(session: Session): Promise<Session> {
      return this.reviewer.forward(session);
    }
  }
  return new Repair(await new Past().forward(rath.session("Review the repair.")));
}

/** Makes the session in a folder: `open` gives a Rath on the same store each time, as another process would. */
export async function repaired(
  open: () => Rath,
  folder: string,
  sandbox: "memory" | "local" = "memory",
): Promise<{ readonly rath: Rath; readonly session: Session; readonly workflow: Workflow }> {
  const workspace = join(folder, "totals");
  for (const [path, content] of Object.entries({ "src/totals.js": faulty, "test/run.sh": tests, "README.md": "# totals\n" })) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await write(join(workspace, path), content);
  }
  const first = open();
  const learnt = await first
    .session("How do we work here?")
    .remember({ key: "release", content: "A release needs the yes of a maintainer.", publish: "now" });
  await learnt.remember({ key: "invoices", content: "Invoices are repaired with a test first.", publish: "now" });
  const asked = first
    .session(task, { title: "Invoices are off by a cent", principal: "person:ada", tags: ["billing"] })
    .to(sandbox, { workspace });
  const run = await first.run(await repairOn(first), asked, { key: "repair-1880", limits: { usd: 1 } });
  const settled = await run.settle();
  if (settled.status !== "waiting") throw new Error(`the run is ${settled.status}`, { cause: settled });
  await first.close();
  const rath = open();
  const [pending] = await rath.pending();
  await rath.decide(pending?.id ?? "", { by: "person:grace", approve: true, reason: "both tests pass and the review is clean" });
  const workflow = await repairOn(rath);
  const session = await (await rath.resume(run.id, { workflow })).result();
  return { rath, session, workflow };
}

/**
 * `npm start`: a team of agents repairs a repository in a sandbox, is killed while a command runs there, and goes on in another
 * process. What its first failure taught is recalled when a similar issue comes. `--python` does the same in Python; `--long` works
 * through a longer issue on a small budget. It needs no key; with one (OPENAI_API_KEY, or MODEL and its key) the models are live.
 */
import { fork } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openrath, type Rath, type Session } from "openrath";
import { dossier } from "openrath/audit";
import {
  type Killed,
  proveApplied,
  proveLearned,
  proveRecall,
  proveRecord,
  proveRejected,
  proveResumed,
  proveShortened,
  proveTested,
} from "./prove.ts";
import { type Issue, issueIn, repair } from "./repair.ts";
import { testsHere, whyNotLocal } from "./sandbox.ts";
import { offline, offlineLong } from "./script.ts";
import { fact, heading, patch, show, whatWasProved, whereToLook } from "./show.ts";
import { Team, testsBy } from "./team.ts";

const variants = {
  javascript: { program: "node", command: "node --test --test-reporter=tap", issues: ["slugs-js", "search-js"] },
  python: { program: "python3", command: "python3 -B -m unittest -v", issues: ["dates-py", "renewals-py"] },
  long: { program: "node", command: "node --test --test-reporter=tap", issues: ["labels-js"] },
} as const;
const [flag, word] = [{ type: "boolean", default: false } as const, { type: "string" } as const];
// Those with a value are for the process that is killed.
const { python, long, ...given } = parseArgs({ options: { python: flag, long: flag, folder: word, sandbox: word, began: word } }).values;
const { program, command, issues } = variants[long ? "long" : python ? "python" : "javascript"];
const model = process.env["MODEL"] ?? (process.env["OPENAI_API_KEY"] === undefined ? undefined : "openai/gpt-5.5");
const folder = given.folder ?? (await mkdtemp(join(tmpdir(), "openrath-start-")));
const began = Number(given.began ?? Date.now());

if (given.sandbox !== undefined) await doomed(given.sandbox);
else {
  process.once("SIGINT", () => process.exit(130));
  try {
    await Promise.race([main(), tooLong(model === undefined ? 110 : 900)]);
  } catch (error) {
    console.error(`failed  ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

async function main(): Promise<void> {
  heading("A team of agents repairs a repository");
  fact("models", model === undefined ? "scripted: no key, no network" : `live: ${model}`);
  const problem = await whyNotLocal(program);
  // What a live model writes runs isolated or not at all; and only the first variant can do without real programs.
  if (problem !== undefined && (model !== undefined || long || python)) {
    if (process.env["CI"]) process.exitCode = 1; // there everything is shown
    return fact("skipped", problem);
  }
  const sandbox = problem === undefined ? "local" : "memory";
  fact("sandbox", problem === undefined ? "local: bubblewrap, no network" : `memory: a simulated shell, tests on this machine. ${problem}`);
  fact("folder", folder);
  const [first, ...similar] = await Promise.all(issues.map((name) => issueIn(folder, name)));
  if (first === undefined) return;

  heading(`1  ${first.name}: ${first.title}`);
  const killed = await firstLife(sandbox);
  const { rath, team } = open(sandbox);
  await using _ = rath;
  const { session, recorded } = await show(await repair(rath, team, first, sandbox), began);
  await proveResumed(session, killed, recorded);
  await proveRejected(session);
  if (long) await proveShortened(session);
  if (session.memory.writes.length > 0) await proveLearned(session, rath);
  const pages = [await handOver(session, first, team)];

  for (const [index, issue] of similar.entries()) {
    heading(`${index + 2}  ${issue.name}, a similar issue: ${issue.title}`);
    const next = await show(await repair(rath, team, issue, sandbox), began);
    if (model === undefined) await proveRecall(session, next.session);
    pages.push(await handOver(next.session, issue, team));
  }
  whatWasProved();
  whereToLook(pages, `OPENRATH_HOME=${folder} npm run inspect -- ${session.id}`, began);
}

function open(sandbox: string): { readonly rath: Rath; readonly team: Team } {
  const models = model === undefined ? (long ? offlineLong : offline) : { planner: model, coder: model, reviewer: model, summary: model };
  const tests = sandbox === "local" ? testsBy(command) : testsHere(command);
  const team = new Team({ models, tests, ...(long ? { budget: 20_000 } : {}) });
  return { team, rath: openrath({ store: join(folder, "store.db"), workflows: { team } }) };
}

/** Begins the first issue in a process of its own, which does not come to its end. */
async function firstLife(sandbox: string): Promise<Killed> {
  const args = [...process.argv.slice(2), "--folder", folder, "--sandbox", sandbox, "--began", String(began)];
  const child = fork(fileURLToPath(import.meta.url), args, { killSignal: "SIGKILL", timeout: 600_000 });
  const signal = await new Promise<string | null>((resolve) => child.on("exit", (_, by) => resolve(by)));
  fact("killed", `process ${child.pid} (${signal}); process ${process.pid} goes on from the record`);
  return { pid: child.pid, signal, during: model === undefined ? `a command in the sandbox "${sandbox}"` : "its work" };
}

/** Ends without a word in the middle of a command in the sandbox; of the long variant, once something was summarised. */
async function doomed(sandbox: string): Promise<void> {
  const { rath, team } = open(sandbox);
  let ready = !long;
  await show(await repair(rath, team, await issueIn(folder, issues[0]), sandbox), began, (what) => {
    ready ||= what === "compressed";
    // A live model may do without a shell, and without a summary.
    if ((ready && what === "command") || (model !== undefined && what === "judged")) process.kill(process.pid, "SIGKILL");
  });
}

/** Writes the patch to the repository, which was only read until now, and the dossier beside it. */
async function handOver(session: Session, issue: Issue, team: Team): Promise<string> {
  proveTested(session, issue);
  patch(await session.files.patch());
  await proveApplied(session, issue);
  const report = await dossier(session, `${issue.repository}-dossier`, { workflow: team });
  await proveRecord(session, team, issue, report);
  return report.page;
}

async function tooLong(seconds: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000).unref());
  throw new Error(`not finished after ${seconds} seconds`);
}

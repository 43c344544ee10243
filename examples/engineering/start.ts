/**
 * `npm start`: a team of agents repairs a repository in a sandbox, is killed while a command runs there, and goes on in another
 * process. What its first failure taught is recalled when a similar issue comes. `--python` does the same in Python; `--long` works
 * through a longer issue on a small budget. It needs no key; with one (OPENAI_API_KEY, or MODEL and its key) the models are live.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { openrath, type Session } from "openrath";
import { cost, graph } from "openrath/audit";
import { live, sandboxFor } from "../stage/at-hand.ts";
import { follow } from "../stage/progress.ts";
import { doomed, end, fact, folder, heading, perform, prove, proveTakenOver } from "../stage/stage.ts";
import { repair, repositories } from "./repair.ts";
import { offline, offlineLong } from "./script.ts";
import { Team } from "./team.ts";

const [python, long] = [process.argv.includes("--python"), process.argv.includes("--long")];
const issues = long ? ["labels-js"] : python ? ["dates-py", "renewals-py"] : ["slugs-js", "search-js"];
const team = new Team(python ? "python3 -B -m unittest -v" : "node --test --test-reporter=tap", long ? 20_000 : undefined);
const models = live === undefined ? (long ? offlineLong : offline) : { "team/*": live };
const { sandbox, about } = await sandboxFor(python ? "python3" : "node");
// A command that is cut off can be done again where it was isolated: nobody else can have seen what it did.
const midCommand = live === undefined && sandbox === "local";
await using rath = openrath({ store: join(folder, "store.db"), workflows: { team }, models });
await perform("A team of agents repairs a repository", live === undefined ? 110 : 900, main, die);

async function main(signal: AbortSignal): Promise<void> {
  fact("sandbox", about);
  const sessions: Session[] = [];
  for (const [index, name] of issues.entries()) {
    heading(`${index + 1}  ${name}${index > 0 ? ", a similar issue" : ""}`);
    const killed = index === 0 ? await doomed(signal) : undefined;
    const session = await follow(await repair(rath, team, name, folder, sandbox));
    sessions.push(session);
    console.log((await session.files.patch()).replace(/^/gm, "    "));
    if (killed !== undefined) await proveResumed(session, killed);
    await proveApplied(session, name);
    if (long && live === undefined) await proveShortened(session);
  }
  if (!long && live === undefined) await proveLearned(...(sessions as [Session, Session])); // what a live model makes of it, nobody knows
  await end(sessions, `OPENRATH_HOME=${folder} npm run inspect -- ${sessions[0]?.id}`);
}

/** The work on the first issue until it is killed: in the middle of a command; of the long variant, once something was summarised. */
async function die(): Promise<void> {
  let ready = !long || live !== undefined;
  await follow(await repair(rath, team, issues[0] ?? "", folder, sandbox), (part) => {
    ready ||= part.type === "event" && part.event.kind === "context.compressed";
    if (ready && part.type === (midCommand ? "tool-progress" : "tool-end")) process.kill(process.pid, "SIGKILL");
  });
}

async function proveResumed(session: Session, killed: string): Promise<void> {
  await proveTakenOver(session, killed, midCommand ? "in the middle of a command in its sandbox" : "in the middle of its work");
  const lines = (await session.files.text("CHANGES.md")).match(/^- .*$/gm) ?? [];
  if (midCommand && !long)
    prove(new Set(lines).size === lines.length, "the killed command ran again on the files from before it: its line is there once");
  const lost = (await graph(session)).nodes.filter(({ status, reason }) => status === "rejected" && reason !== undefined);
  prove(lost.length > 0, `rejected, and on record with the reason: ${lost.map(({ label }) => `"${label}"`).join(" and ")}`);
}

async function proveApplied(session: Session, name: string): Promise<void> {
  const { passed, reason } = session.checks.at(-1) ?? {};
  const used = new Set(session.calls.map(({ acted }) => acted?.id));
  const clean = session.checks.every(({ acted }) => acted?.id !== undefined && !used.has(acted.id));
  prove(passed === true && clean, `${name}: ${reason}, in a sandbox that no coder had used`);
  const repository = join(folder, name);
  const would = await session.apply(repository, { dryRun: true });
  const same = spawnSync("diff", ["-r", join(repositories, name), repository]).status === 0;
  prove(same, `${name}: the repository was only read, also by the dry run of apply`);
  const wrote = (await session.apply(repository)).map(({ path }) => path);
  const left = await session.apply(repository, { dryRun: true });
  prove(wrote.length === would.length && left.length === 0, `${name}: apply wrote ${wrote.join(", ")}, as its dry run had said`);
}

/** What was learned names the failure as its evidence, and the second run has read it. */
async function proveLearned(first: Session, second: Session): Promise<void> {
  const [written] = first.memory.writes;
  const failed = first.checks.find(({ passed }) => !passed)?.event ?? "none";
  const item = await rath.memory.get(written?.key ?? "");
  const learned = item?.state === "published" && item.origin === "failure" && item.because.includes(failed);
  prove(learned, `"${item?.key}" was remembered because of the failed tests, and published when the repaired patch had passed them`);
  const read = second.memory.reads.find(({ event }) => event === written?.event);
  const recalled = read?.recall.injected === true && read.because.includes(failed);
  prove(recalled, `the second run recalled "${read?.key}" with its evidence, the failed tests of the first run, and its models read it`);
  const [before, after] = [(await cost(first)).total.usage.input, (await cost(second)).total.usage.input];
  const atOnce = second.checks.length === 1 && second.checks[0]?.passed === true;
  prove(atOnce && after < before, `so its patch passed at once: its models read ${after} tokens instead of ${before}`);
}

async function proveShortened(session: Session): Promise<void> {
  const crossed = (await cost(session)).crossed.filter(({ limit }) => limit === "tokens");
  prove(crossed.length > 0, `a coder used up its budget of ${crossed[0]?.of} tokens (${crossed.length} times)`);
  const { dropped = [], tokens } = session.compressions[0] ?? {};
  const kept = dropped.length > 0 && dropped.every((event) => session.messages.some((message) => message.event === event));
  prove(
    kept,
    `a summary took the place of what it had read (${tokens?.after} tokens instead of ${tokens?.before}), and all of that is still on record`,
  );
}

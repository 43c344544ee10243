/**
 * `npm start`: a team of agents repairs a repository in a sandbox, is killed while a command runs there, and goes on in another
 * process. Then everything is looked at again: the patch, the graph, the cost, a replay that calls nothing, and a verification of
 * every stored byte. It needs no key; with one (OPENAI_API_KEY, or MODEL and its key) the models are live.
 */
import { fork, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { type Event, openrath, RathError, type Run, replay, type Session, verify } from "openrath";
import { graph } from "openrath/audit";
import { shell } from "openrath/tools";
import { cases, liveModels, offline, repository, Team, type Tests, task } from "./team.ts";

const [role, given, where = await placement()] = process.argv.slice(2);
const folder = given ?? (await mkdtemp(join(tmpdir(), "openrath-start-")));
const repo = join(folder, "repo");
const model = process.env["MODEL"] ?? (process.env["OPENAI_API_KEY"] === undefined ? undefined : "openai/gpt-5.5");
const team = new Team(model === undefined ? offline : liveModels(model), where === "local" ? undefined : testsHere);
const settings = { store: join(folder, "store.db"), workflows: { team } };
const key = "make the tests pass";

if (role === "doomed") await doomed();
else {
  process.once("SIGINT", () => process.exit(130));
  try {
    await Promise.race([main(), tooLong(model === undefined ? 50 : 600)]);
  } catch (error) {
    console.error(`failed  ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

/** The first life ends without a word when a command in the sandbox has written its first line. */
async function doomed(): Promise<void> {
  const rath = openrath(settings);
  await show(rath.run(team, rath.session(task).to(where, { workspace: repo }), { key }), () => process.kill(process.pid, "SIGKILL"));
}

/** The second life, and what it proves. */
async function main(): Promise<void> {
  const began = performance.now();
  console.log(model === undefined ? "The models are scripted: no key, no network." : `The models are live: ${model}.`);
  await mkdir(repo);
  for (const [path, text] of Object.entries(repository)) await writeFile(join(repo, path), text);
  console.log(`The repository is ${repo}: ${Object.keys(repository).join(", ")}.`);

  const first = fork(fileURLToPath(import.meta.url), ["doomed", folder, where], { killSignal: "SIGKILL", timeout: 300_000 });
  const signal = await new Promise<string | null>((resolve) => first.on("exit", (_, by) => resolve(by)));
  prove(
    signal === "SIGKILL",
    `process ${first.pid} was killed in the middle of ${model === undefined ? "a shell call" : "its work"} in the sandbox "${where}"`,
  );

  await using rath = openrath(settings);
  const { session, recorded } = await show(rath.run(team, rath.session(task).to(where, { workspace: repo }), { key }));
  prove(recorded > 0, `process ${process.pid} found the run by its key: ${recorded} answers were taken from the record`);
  void session.output; // throws with the reason when no branch came through
  if (model === undefined) {
    const lines = (await session.files.text("CHANGES.md")).match(/drops accents/g);
    prove(lines?.length === 1, "the files were brought back to what was on record: the command ran twice, its line is there once");
  }
  const rejected = await rejectedBranches(session);
  prove(rejected.length === 1, `of two branches with files of their own, ${rejected.length} stays rejected: ${rejected.join("; ")}`);

  console.log(`\n${indented(await session.files.patch())}`);
  prove(await untouched(), "until here the directory of the repository was only read");
  const preview = await session.apply(repo, { dryRun: true });
  for (const { kind, path } of preview) console.log(`        apply would write: ${path} (${kind})`);
  prove(await untouched(), "a dry run wrote nothing");
  const applied = await session.apply(repo);
  prove(
    applied.length === preview.length && (await readFile(join(repo, "slugify.js"), "utf8")) === (await session.files.text("slugify.js")),
    `apply wrote ${applied.map(({ path }) => path).join(" and ")}`,
  );

  const report = await replay(session, team);
  prove(report.identical, `replay compared ${report.events} events and called nothing`);
  const { ok, events, problems, unsigned } = await verify(session);
  prove(
    ok,
    `verify recomputed ${events} events from the stored bytes: ${problems.length} problems, ${unsigned} not covered by a signature`,
  );
  await command("cost", session.id, "--by", "agent");
  await command("log", session.id, "--graph", "--oneline");
  console.log(
    `\nProved: killed in the sandbox and resumed, two forks apart, one rejected, written back only when asked, replayed, verified.`,
  );
  console.log(`All of this took ${((performance.now() - began) / 1000).toFixed(1)} s. It is kept in ${folder}. To look around:`);
  console.log(`  export OPENRATH_HOME=${folder}`);
  console.log(`  npx tsx src/cli/main.ts show ${session.id.slice(0, 8)}   # then: ls, log ID --graph, replay ID, verify ID, cost ID`);
}

/** Where commands run: isolated on this machine where that can be had, else in a simulation that has no Node. */
async function placement(): Promise<string> {
  await using rath = openrath({ store: "memory" });
  const tried = await rath
    .session()
    .to("local")
    .call(shell, { command: "node --version" })
    .catch((error: RathError) => error);
  if (!RathError.is(tried) && tried.output.exitCode === 0) return "local";
  const reason = RathError.is(tried) ? tried.message : `Node is not seen in "local" (${process.execPath}): install it under /usr or /opt.`;
  console.log(`Commands run in "memory", a simulated shell, and tests in this process: ${reason}`);
  return "memory";
}

/** The tests where the sandbox has no Node. */
function testsHere(...[{ sandbox }]: Parameters<Tests>): ReturnType<Tests> {
  return sandbox.read("slugify.js").then((bytes) => {
    const source = Buffer.from(bytes).toString().replace("export ", "");
    const failed = Object.entries(cases).filter(
      ([title, slug]) => runInNewContext(`${source}\nslugify(${JSON.stringify(title)})`, {}, { timeout: 2000 }) !== slug,
    );
    return {
      passed: failed.length === 0,
      reason: failed.length === 0 ? "All tests pass." : `Tests fail: ${failed.map(([title]) => title).join(", ")}.`,
    };
  });
}

/** Prints what happens while it happens; what an earlier process left on record is only counted. */
async function show(starting: Promise<Run>, onCommand = (): void => {}): Promise<Shown> {
  const began = new Date().toISOString();
  const labels = new Map<string, string | undefined>();
  let recorded = 0;
  const stream = (await starting).stream();
  for await (const part of stream) {
    if (part.type === "tool-progress") onCommand();
    if (part.type !== "event") continue;
    const { event } = part;
    if (model !== undefined && event.kind === "check.returned") onCommand(); // a live model may do without a shell
    if (event.kind === "session.forked") labels.set(event.session, event.data.label);
    const line = lineOf(event);
    if (line === undefined) continue;
    if (event.at < began) recorded++;
    else console.log(`  ${part.by.padEnd(13)} ${(labels.get(event.session) ?? "").padEnd(8)}  ${line.replace(/\s+/g, " ").slice(0, 90)}`);
  }
  return { session: await stream.result(), recorded };
}

interface Shown {
  readonly session: Session;
  /** How many answers and verdicts were there before. */
  readonly recorded: number;
}

function lineOf(event: Event): string | undefined {
  if (event.kind === "check.returned") return `[check ${event.data.passed ? "passed" : "failed"}] ${event.data.reason ?? ""}`;
  if (event.kind !== "model.returned") return undefined;
  const { parts = [] } = event.data;
  return parts.map((piece) => (piece.type === "text" ? piece.text : piece.type === "call" ? `[${piece.tool}]` : "")).join(" ");
}

async function rejectedBranches(session: Session): Promise<readonly string[]> {
  const { nodes } = await graph(session);
  return nodes.flatMap((node) => (node.status === "rejected" ? [`${node.label}: ${node.reason}`] : []));
}

/** Whether the user's directory is as it was made. */
async function untouched(): Promise<boolean> {
  const names = await readdir(repo);
  const texts = await Promise.all(names.map((name) => readFile(join(repo, name), "utf8")));
  return names.length === Object.keys(repository).length && names.every((name, index) => repository[name] === texts[index]);
}

/** The same questions from the command line, on the same store. */
async function command(...args: readonly string[]): Promise<void> {
  console.log(`\n$ openrath ${args.map((arg) => (arg.length > 20 ? arg.slice(0, 8) : arg)).join(" ")}`);
  const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
  const env = { ...process.env, OPENRATH_HOME: folder };
  const child = spawn(process.execPath, ["--import", "tsx", main, ...args], { stdio: "inherit", env });
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  if (code !== 0) throw new Error(`openrath ${args[0]} ended with ${code}`);
}

function prove(holds: boolean, claim: string): void {
  if (!holds) throw new Error(`not proved: ${claim}`);
  console.log(`proved  ${claim}`);
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "        ");
}

async function tooLong(seconds: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000).unref());
  throw new Error(`not finished after ${seconds} seconds`);
}

/**
 * `npm start`: a team of agents works on a task, is killed in the middle, and goes on in another process. Then everything is
 * looked at again: the graph, the cost, a replay that calls nothing, and a verification of every stored byte.
 * It needs no key; with one (OPENAI_API_KEY, or MODEL and its key) the models are live.
 */
import { fork, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { appendFile, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { graph } from "../src/audit/audit.ts";
import { openrath, type Run, replay, type Session, verify } from "../src/index.ts";
import { type Desk, liveModels, offline, Team, task } from "./team.ts";

const [role, given] = process.argv.slice(2);
const folder = given ?? (await mkdtemp(join(tmpdir(), "openrath-start-")));
const ledger = join(folder, "ledger.txt");
const model = process.env["MODEL"] ?? (process.env["OPENAI_API_KEY"] === undefined ? undefined : "openai/gpt-5.5");
const team = new Team(model === undefined ? offline : liveModels(model));
const settings = { store: join(folder, "store.db"), workflows: { team } };
const key = "slugify";

if (role === "doomed") await doomed();
else {
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(130));
  try {
    await Promise.race([main(), tooLong(model === undefined ? 50 : 600)]);
  } catch (error) {
    console.error(`failed  ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

/** The first life ends without a word when the first draft has reached the desk. */
async function doomed(): Promise<void> {
  const desk: Desk = {
    draft: async (code, draft) => {
      await write("draft", draft, code);
      process.kill(process.pid, "SIGKILL");
    },
    publish: async () => "never",
  };
  const rath = openrath({ ...settings, deps: desk });
  await show(rath.run(team, rath.session(task), { key }));
}

/** The second life, and what it proves. */
async function main(): Promise<void> {
  const began = performance.now();
  console.log(model === undefined ? "The models are scripted: no key, no network." : `The models are live: ${model}.`);
  const first = fork(fileURLToPath(import.meta.url), ["doomed", folder], { killSignal: "SIGKILL", timeout: 300_000 });
  const signal = await new Promise<string | null>((resolve) => first.on("exit", (_, by) => resolve(by)));
  prove(signal === "SIGKILL", `process ${first.pid} was killed when a draft was on the desk`);

  const desk: Desk = {
    draft: (code, draft) => write("draft", draft, code),
    publish: async (code) => {
      await write("publish", "", code);
      return `published ${code.length} characters`;
    },
  };
  await using rath = openrath({ ...settings, deps: desk });
  const run = rath.run(team, rath.session(task), { key });
  const session = await show(run);
  const { drafts, keys, published } = await desks();
  prove(
    published === 1 && keys === 2,
    `process ${process.pid} found the run by its key: ${drafts} drafts under ${keys} keys, published ${published} time`,
  );
  console.log(`        ${String(session.output)}`);

  const rejected = await rejectedBranches(session);
  prove(rejected.length === 1, `the winner was adopted, and ${rejected.length} branch stays rejected: ${rejected.join("; ")}`);

  const report = await replay(session, team);
  prove(report.identical && (await desks()).drafts === drafts, `replay compared ${report.events} events and called nothing`);
  const { ok, events, problems, unsigned } = await verify(session);
  prove(
    ok,
    `verify recomputed ${events} events from the stored bytes: ${problems.length} problems, ${unsigned} not covered by a signature`,
  );
  await command("cost", session.id, "--by", "agent");
  await command("log", session.id, "--graph", "--oneline");
  console.log(`All of this took ${((performance.now() - began) / 1000).toFixed(1)} s.`);
}

/** Prints what the agents say and call while they do, and gives the end. */
async function show(starting: Promise<Run>): Promise<Session> {
  const run = await starting;
  const stream = run.stream();
  for await (const part of stream) {
    if (part.type !== "event" || part.event.kind !== "model.returned") continue;
    const { parts = [] } = part.event.data;
    const said = parts.map((piece) => (piece.type === "text" ? piece.text : piece.type === "call" ? `[${piece.tool}]` : "")).join(" ");
    console.log(`  ${part.by.padEnd(22)} ${said.replace(/\s+/g, " ").slice(0, 90)}`);
  }
  return stream.result();
}

async function rejectedBranches(session: Session): Promise<readonly string[]> {
  const { nodes } = await graph(session);
  return nodes.flatMap((node) => (node.status === "rejected" ? [`${node.label}: ${node.reason}`] : []));
}

async function write(what: string, draft: string, code: string): Promise<void> {
  await appendFile(ledger, `${JSON.stringify({ what, draft, code })}\n`);
}

/** What is on the desk: drafts, under how many keys, and how often something was published. */
async function desks(): Promise<{ readonly drafts: number; readonly keys: number; readonly published: number }> {
  const lines = (await readFile(ledger, "utf8")).split("\n").filter((line) => line !== "");
  const notes = lines.map((line) => JSON.parse(line) as { readonly what: string; readonly draft: string });
  const drafts = notes.filter(({ what }) => what === "draft");
  return { drafts: drafts.length, keys: new Set(drafts.map(({ draft }) => draft)).size, published: notes.length - drafts.length };
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

async function tooLong(seconds: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000).unref());
  throw new Error(`not finished after ${seconds} seconds`);
}

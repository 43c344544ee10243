/**
 * `npx tsx examples/trading/main.ts`: every task several times, each trial judged by the policy and the database. It needs no key;
 * with one (OPENAI_API_KEY, or MODEL and its key) broker and client are live. TRIALS says how often, SEED where the script errs.
 */
import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openrath } from "openrath";
import { cost, dossier } from "openrath/audit";
import { offline } from "./scripts.ts";
import { type Task, tasks } from "./tasks.ts";
import { passHat, type Trial, trial } from "./trials.ts";

const [role, given] = process.argv.slice(2);
const folder = given ?? (await mkdtemp(join(tmpdir(), "openrath-trading-")));
const model = process.env["MODEL"] ?? (process.env["OPENAI_API_KEY"] === undefined ? undefined : "openai/gpt-5.5");
const seed = process.env["SEED"] ?? "1";
const numbers = Array.from({ length: Number(process.env["TRIALS"] ?? 4) }, (_, index) => index + 1);

await using rath = openrath({ store: join(folder, "store.db") });
if (role === "doomed") await attempt(tasks[0] as Task, 1, () => process.kill(process.pid, "SIGKILL"));
else await main();

async function main(): Promise<void> {
  const script = `scripted: no key, no network. The broker errs on purpose, by the seed ${seed}, so the figures are about no model`;
  console.log(`The models are ${model === undefined ? script : `live: ${model}`}.`);
  const doomed = fork(fileURLToPath(import.meta.url), ["doomed", folder]);
  const signal = await new Promise((resolve) => doomed.on("exit", (_, by) => resolve(by)));
  console.log(`Process ${doomed.pid} was ended by ${signal} when its first trade was on disk. Process ${process.pid} goes on.`);

  const results: Trial[][] = [];
  for (const task of tasks) results.push(await Promise.all(numbers.map((number) => attempt(task, number))));
  const trials = results.flat();
  const reliability = numbers.map((k) => `pass^${k} ${passHat(k, results).toFixed(3)}`);
  console.log(`\n${results.map(line).join("\n")}\n\n${reliability.join("   ")}\n`);
  const kept = trials.map(({ desk, session, ...trial }) => ({ ...trial, session: session.id }));
  await writeFile(
    join(folder, "results.json"),
    JSON.stringify({ model: model ?? `scripted, seed ${seed}`, reliability, trials: kept }, null, 2),
  );

  const { name, session, trades } = trials[0] as Trial;
  const cuts = (await cost(session)).interrupted.filter(({ abandoned }) => abandoned);
  console.log(`"${name}" was cut off ${cuts.length} time; its database was changed ${trades} time.`);
  await evidence(
    "accepted",
    trials.find(({ passed }) => passed),
  );
  await evidence(
    "failed",
    trials.find(({ passed }) => !passed),
  );
  console.log(`Everything is in ${folder}. To look at the accepted trial in the inspector:`);
  const build = existsSync("dist/inspector/index.html") ? "" : "npm run build && ";
  console.log(`  ${build}npx tsx src/cli/main.ts inspect ${join(folder, "accepted/session")}`);
}

function attempt(task: Task, number: number, onChange?: () => void): Promise<Trial> {
  return trial(rath, folder, task, number, model === undefined ? offline(task, number, seed) : { broker: model, client: model }, onChange);
}

/** A line of the table: a task, what became of each trial, and what they cost. */
function line(trials: readonly Trial[], index: number): string {
  const sum = (part: "tokens" | "usd") => trials.reduce((total, trial) => total + trial[part], 0);
  const verdicts = trials.map(({ passed }) => (passed ? "passed" : "FAILED"));
  return `${tasks[index]?.name.padEnd(12)}${verdicts.join("  ")}  ${sum("tokens")} tokens  $${sum("usd").toFixed(4)}`;
}

/** A folder that answers for one trial. */
async function evidence(kind: string, found: Trial | undefined): Promise<void> {
  if (found === undefined) return console.log(`${kind}: none`);
  const { page, verified, replayed } = await dossier(found.session, join(folder, kind), { workflow: found.desk });
  console.log(
    `${kind}: "${found.name}", record ${verified ? "intact" : "IN DOUBT"}, replay ${replayed ? "identical" : "DIFFERS"}, ${page}`,
  );
}

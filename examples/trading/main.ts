/**
 * `npx tsx examples/trading/main.ts`: every task several times, each trial judged by the policy and the database. It needs no key;
 * with one (OPENAI_API_KEY, or MODEL and its key) broker and client are live. TRIALS says how often, SEED where the script errs.
 */
import { join } from "node:path";
import { openrath, type Session } from "openrath";
import { passHat } from "openrath/audit";
import { live } from "../stage/at-hand.ts";
import { doomed, end, folder, perform, prove, proveTakenOver } from "../stage/stage.ts";
import { Desk, failures, trial } from "./desk.ts";
import { offline } from "./scripts.ts";
import { type Task, tasks } from "./tasks.ts";
import { ledgerOf } from "./tools.ts";

const numbers = Array.from({ length: Number(process.env["TRIALS"] ?? 4) }, (_, index) => index + 1);
const [desk, deps] = [new Desk(), { onTrade: () => {} }];
const models = live === undefined ? offline : { "desk/*": live };
await using rath = openrath({ store: join(folder, "store.db"), workflows: { desk }, models, deps });
await perform("A trading desk is tried", live === undefined ? 300 : 1800, main, die);

async function main(signal: AbortSignal): Promise<void> {
  const killed = await doomed(signal);
  const results: Session[][] = [];
  for (const task of tasks) results.push(await Promise.all(numbers.map((number) => trial(rath, desk, folder, task, number))));
  const sessions = results.flat();
  const lost = sessions.filter((session) => failures(session) !== "");
  const rejected = lost.every(({ status }) => status === "rejected");
  prove(
    rejected,
    `${lost.length} of ${sessions.length} trials broke the policy or left a wrong database, and are rejected with the reason`,
  );
  const passes = results.map((some) => some.map((session) => !lost.includes(session)));
  const chances = numbers.map((k) => `pass^${k} ${passHat(k, passes).toFixed(3)}`);
  const share = 1 - lost.length / sessions.length;
  prove(Math.abs(passHat(1, passes) - share) < 1e-9, `so k trials of a task all pass with the chance ${chances.join(", ")}`);
  const [first] = sessions as [Session];
  await proveTakenOver(first, killed, "when its first trade was on disk");
  const trades = ledgerOf(first).prepare("SELECT key FROM effects").all().length;
  if (killed !== "") prove(trades === 1, "it asked for that trade again under the same key, and the database has it once");
  await end(sessions, `OPENRATH_HOME=${folder} npm run inspect -- ${first.id}`);
}

/** Ends without a word when its first trade is on disk, and before that is on record. */
async function die(): Promise<void> {
  deps.onTrade = () => void process.kill(process.pid, "SIGKILL");
  await trial(rath, desk, folder, tasks[0] as Task, 1);
}

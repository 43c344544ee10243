/** One task tried once, as a durable run on a database of its own; and what many trials come to. */
import { join } from "node:path";
import type { Rath } from "openrath";
import { Desk, type Models } from "./desk.ts";
import { openLedger } from "./ledger.ts";
import { deskHead } from "./policy.ts";
import type { Task } from "./tasks.ts";

export type Trial = Awaited<ReturnType<typeof trial>>;

/** Tries a task. Called again after a crash, it goes on with the run that it finds by its key. `onChange` hears of each trade on disk. */
export async function trial(rath: Rath, folder: string, task: Task, number: number, models: Models, onChange?: () => void) {
  const name = `${task.name} ${number}`;
  const file = join(folder, `${name.replaceAll(" ", "-")}.db`);
  const ledger = openLedger(file, onChange);
  const desk = new Desk(task, models, ledger);
  const asked = rath.session(task.asks, { title: name, tags: ["trading"], principal: task.client }).link({ system: "sqlite", id: file });
  const run = await rath.run(desk, asked, { key: name });
  for await (const part of run.stream()) {
    if (part.type !== "pending" || part.pending.kind !== "approval") continue;
    const decision = deskHead(part.pending.input);
    console.log(`  ${name}: ${decision.by} says ${decision.approve ? "yes" : "no"}, ${decision.reason}`);
    await rath.decide(part.pending.id, decision);
  }
  const session = await run.result();
  const trades = ledger.rows("SELECT key FROM effects").length;
  ledger.close();
  const failed = session.checks.filter(({ passed }) => !passed).map((check) => `${check.name}: ${check.reason}`);
  const { input, output, usd } = session.usage;
  console.log(`  ${name}: ${failed.length === 0 ? `passed, "${session.text}"` : `FAILED, ${failed.join("; ")}`}`);
  return { name, session, desk, passed: failed.length === 0, failed, trades, tokens: input + output, usd };
}

/** pass^k as tau-bench defines it: the chance that k trials of a task, drawn at random, have all passed; the mean over tasks. */
export function passHat(k: number, tasks: readonly (readonly { readonly passed: boolean }[])[]): number {
  const chances = tasks.map((trials) => ways(trials.filter(({ passed }) => passed).length, k) / ways(trials.length, k));
  return chances.reduce((sum, chance) => sum + chance, 0) / chances.length;
}

/** How many ways there are to draw k of n. */
function ways(n: number, k: number): number {
  return k === 0 ? 1 : (ways(n - 1, k - 1) * n) / k;
}

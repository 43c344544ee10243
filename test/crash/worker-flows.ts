/** The workflows that workers of the storm know. */
import { setTimeout as pause } from "node:timers/promises";
import type { EffectContext, Session } from "../../src/session/session.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";
import { Orders, once } from "./orders.ts";
import { Witness } from "./witness.ts";
import type { WorkerPlan } from "./worker-plan.ts";

export const questions: readonly string[] = Array.from({ length: 12 }, (_, index) => `question ${index}`);

export function workerFlows(plan: WorkerPlan): Readonly<Record<string, Workflow>> {
  const witness = new Witness(plan.witness);
  const said = (session: Session): string => session.messages.at(-1)?.text ?? "";
  const seen = (run: string, effect: string): boolean => witness.acts().some((act) => act.run === run && act.effect === effect);
  /** The first process to come here dies. */
  const dieFirst = (run: string, { key }: EffectContext): string => {
    const first = !seen(run, "pay");
    witness.see({ run, effect: "pay", how: "once", key });
    if (first) process.kill(process.pid, "SIGKILL");
    return "paid";
  };
  /** The first process to come here stays. */
  const linger = async (run: string, { key }: EffectContext): Promise<void> => {
    const first = !seen(run, "linger");
    witness.see({ run, effect: "linger", how: "begun", key });
    if (first) await pause(60_000);
  };
  const flows = [
    new Flow(async (session) => {
      const first = await session.fork("side").do("first", (context) => once(witness, said(session), "first", context));
      return first.do("second", (context) => once(witness, said(session), "second", context));
    }, "side"),
    new Flow((session) => session.do("pay", (context) => dieFirst(said(session), context)), "pay"),
    new Flow(async () => process.kill(process.pid, "SIGKILL") && new Promise<never>(() => {}), "poison"),
    new Flow(async (session) => {
      const written = await session.to("memory").do("write", ({ sandbox }) => sandbox.write("notes/plan.txt", `plan of ${process.pid}`));
      const held = await written.do("linger", (context) => linger(said(session), context), { repeat: "safe" });
      return held.do("read", async ({ sandbox }) => Buffer.from(await sandbox.read("notes/plan.txt")).toString());
    }, "files"),
    new Flow(async (session) => {
      const asked = await Promise.all(questions.map((question) => session.fork(question).ask(question)));
      return session.do("collect", () => asked.map(({ output }) => output), { repeat: "safe" });
    }, "questions"),
  ];
  return { orders: new Orders(witness), ...Object.fromEntries(flows.map((flow) => [flow.name, flow])) };
}

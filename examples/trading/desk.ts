/**
 * A brokerage desk: a broker with tools on a real database, a client who is simulated, and the checks that judge what they did.
 * The client has a branch of its own: it reads the conversation from its side, and nothing of the broker's tools.
 */
import { join } from "node:path";
import { Agent, type Rath, type Session, Workflow } from "openrath";
import { z } from "zod";
import { fact } from "../stage/print.ts";
import { openLedger } from "./market.ts";
import { instructions, limits, rules } from "./policy.ts";
import { type Task, tasks } from "./tasks.ts";
import { dollars, ledgerOf, tools } from "./tools.ts";

/** One conversation about one task: judged by the policy after every turn, by the database at the end. */
export class Desk extends Workflow {
  readonly broker = new Agent({ model: "desk/broker", instructions, tools, limits: { rounds: 12 } });
  readonly client = new Agent({
    model: "desk/client",
    instructions: "You are the client whose first message to a broker you see. Answer the broker in one sentence.",
    output: z.object({ say: z.string(), done: z.boolean().describe("you have what you want, or know that you cannot have it") }),
  });

  async forward(session: Session) {
    const task = tasks.find(({ asks }) => asks === session.messages[0]?.text) as Task;
    let client: Session = session.fork("client").say(task.knows);
    let desk: Session = session;
    for (let turn = 0; turn < 6; turn++) {
      desk = await this.broker.forward(desk);
      desk = await desk.check("risk", () => verdict(breaches(desk)));
      const heard = await this.client.forward(client.say(desk.text));
      client = heard;
      if (desk.checks.at(-1)?.passed !== true || heard.stop !== "finished" || heard.output.done) break;
      desk = desk.say(heard.output.say);
    }
    desk = await desk.merge(client, { reason: "both sides of the conversation" });
    desk = await desk.check("database", () => verdict(differences(desk, task)));
    const failed = failures(desk);
    return failed === "" ? desk : desk.reject(failed);
  }
}

const verdict = (problems: readonly string[]) => ({ passed: problems.length === 0, reason: problems.join("; ") || "nothing found" });

/** What is wrong with a trial; nothing where it passed. */
export function failures({ checks }: Session): string {
  const failed = checks.filter(({ passed }) => !passed);
  return failed.map(({ name, reason }) => `${name}: ${reason}`).join("; ");
}

/** Everything that the policy does not allow and that happened all the same: in the database, and in what was said before. */
export function breaches(desk: Session): readonly string[] {
  const ledger = ledgerOf(desk);
  const found = rules.flatMap((rule) => (rule.breaches === undefined ? [] : (ledger.prepare(rule.breaches).raw().all() as unknown[][])));
  const placed = desk.calls.filter(({ tool, outcome }) => tool === "place_order" && outcome.type === "ok");
  const asked = (call: string) => desk.at(call).messages.findLast(({ role }) => role === "user")?.text ?? "";
  const unconfirmed = placed.filter(({ id, input }) => dollars(input) > limits.confirmation && !/\byes\b/i.test(asked(id)));
  return [...found.map((row) => row.join(" ")), ...unconfirmed.map(({ input }) => `no yes of the client before ${JSON.stringify(input)}`)];
}

/** Where the database is not as it should be: as the day began, with the changes of the task. */
function differences(desk: Session, { changes }: Task): readonly string[] {
  const wanted = openLedger(":memory:").exec(changes.join(";"));
  const [is = [], should = []] = [ledgerOf(desk), wanted].map((db) => db.prepare("SELECT fact FROM facts").pluck().all() as string[]);
  return [...is.filter((fact) => !should.includes(fact)), ...should.filter((fact) => !is.includes(fact)).map((fact) => `not: ${fact}`)];
}

/** Tries a task on a database of its own. Called again after a crash, it goes on with the run that it finds by its key. */
export async function trial(rath: Rath, desk: Desk, folder: string, task: Task, number: number): Promise<Session> {
  const title = `${task.name} ${number}`;
  const asked = rath.session(task.asks, { title, tags: ["trading"], principal: task.client });
  const run = await rath.run(desk, asked.link({ system: "sqlite", id: join(folder, `${title}.db`) }), { key: title });
  for await (const part of run.stream()) {
    if (part.type !== "pending" || part.pending.kind !== "approval") continue;
    const amount = dollars(part.pending.input); // a function stands for the desk head
    const approve = amount <= limits.order;
    const reason = `${amount} is ${approve ? "within" : "over"} the limit for one order`;
    await rath.decide(part.pending.id, { by: "simulated:desk-head", approve, reason });
  }
  const session = await run.result();
  fact(title, failures(session) === "" ? `passed, "${session.text}"` : `FAILED, ${failures(session)}`, 13);
  return session;
}

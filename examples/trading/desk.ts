/**
 * A brokerage desk: a broker with tools on a real database, a client who is simulated, and the checks that judge what they did.
 * The client has a branch of its own: it reads the conversation from its side, and nothing of the broker's tools.
 */
import { isDeepStrictEqual } from "node:util";
import { Agent, type Model, type Session, Workflow } from "openrath";
import { z } from "zod";
import { type Ledger, openLedger } from "./ledger.ts";
import { breaches, instructions } from "./policy.ts";
import type { Task } from "./tasks.ts";
import { toolsOn } from "./tools.ts";

export type Models = Readonly<Record<"broker" | "client", string | Model>>;
const Answer = z.object({ say: z.string(), done: z.boolean().describe("you have what you want, or know that you cannot have it") });

/** One conversation about one task: judged by the policy after every turn, by the database at the end. */
export class Desk extends Workflow {
  readonly name = "desk";
  readonly broker: Agent;
  readonly client: Agent<z.infer<typeof Answer>>;
  readonly #task: Task;
  readonly #ledger: Ledger;

  constructor(task: Task, models: Models, ledger: Ledger) {
    super();
    const client = `You are the client whose first message to a broker you see. ${task.knows} Answer the broker in one sentence.`;
    this.broker = new Agent({ model: models.broker, instructions, tools: toolsOn(ledger), limits: { rounds: 12 } });
    this.client = new Agent({ model: models.client, instructions: client, output: Answer });
    this.#task = task;
    this.#ledger = ledger;
  }

  async forward(session: Session) {
    let client: Session = session.fork("client");
    let desk: Session = session;
    for (let turn = 0; turn < 6; turn++) {
      desk = await this.broker.forward(desk);
      desk = await desk.check("risk", () => verdict(breaches(this.#ledger, desk)));
      const heard = await this.client.forward(client.say(desk.text));
      client = heard;
      if (desk.checks.at(-1)?.passed !== true || heard.stop !== "finished" || heard.output.done) break;
      desk = desk.say(heard.output.say);
    }
    desk = await desk.merge(client, { reason: "both sides of the conversation" });
    desk = await desk.check("database", () => verdict(differences(this.#ledger, this.#task)));
    const failed = desk.checks.filter(({ passed }) => !passed);
    return failed.length === 0 ? desk : desk.reject(failed.map(({ name, reason }) => `${name}: ${reason}`).join("; "));
  }
}

/** Where accounts are not as they should be: as the day began, with the changes of the task. */
function differences(ledger: Ledger, { changes, client }: Task): readonly string[] {
  const wanted = openLedger(":memory:");
  for (const sql of changes) wanted.change(sql, client, sql);
  return wanted.rows("SELECT client, account FROM accounts").flatMap(({ client = "", account = "" }) => {
    const found = JSON.parse(ledger.account(client));
    const off = Object.entries(JSON.parse(account)).filter(([part, value]) => !isDeepStrictEqual(found[part], value));
    return off.map(([part, value]) => `${part} of ${client}: ${JSON.stringify(found[part])}, not ${JSON.stringify(value)}`);
  });
}

const verdict = (problems: readonly string[]) => ({ passed: problems.length === 0, reason: problems.join("; ") || "nothing found" });

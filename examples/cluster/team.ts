/**
 * The team: a Selector sends each ticket to whoever can work on it next, until it is done. What the tools do to the world is in a ledger
 * of the world's own: the audit believes that, not the agents.
 */
import { fileURLToPath } from "node:url";
import { Agent, openrath, type Rath, Selector, type Session, tool, Workflow } from "openrath";
import { searchFiles, writeFile } from "openrath/tools";
import pg from "pg";
import { z } from "zod";
import { live } from "../stage/at-hand.ts";
import { scripts } from "./scripts.ts";
import { orders } from "./tickets.ts";
import { act } from "./world.ts";

const findOrder = tool({
  name: "find_order",
  description: "What was bought and paid under an order number.",
  input: z.object({ order: z.string() }),
  writes: "nothing",
  run: ({ order }) => orders[order] ?? `There is no order ${order}.`,
});

/** The provider knows the key: asked again after a crash, it pays once. */
const refund = tool({
  name: "refund",
  description: "Pays money back for an order, in euros.",
  input: z.object({ order: z.string(), amount: z.number().positive() }),
  repeat: "keyed",
  needsApproval: ({ amount }) => amount > 50,
  run: ({ order, amount }, context) => act("refund", `${amount.toFixed(2)} euros for ${order}`, context),
});

/** The mailer knows no keys: after a crash nobody can say whether it was sent, and it is not sent again by itself. */
const sendVoucher = tool({
  name: "send_voucher",
  description: "Mails the customer a voucher, in euros.",
  input: z.object({ amount: z.number().positive().max(20) }),
  repeat: "once",
  run: ({ amount }, context) => act("send_voucher", `${amount.toFixed(2)} euros`, context),
});

export class Desk extends Workflow {
  readonly team = new Selector({
    choices: {
      billing: new Agent({
        description: "Orders, payments and refunds.",
        model: "support/billing",
        instructions: "Look the order up. If they ask for it, pay back what the refund policy grants. Answer in one sentence.",
        tools: [findOrder, refund],
        memory: { recall: "before" },
      }),
      technical: new Agent({
        description: "Finds out from the logs what went wrong in the shop's software.",
        model: "support/technical",
        instructions:
          "Search the logs for the trace id, write what you found to note.md, remember the cause, and explain it in one sentence.",
        tools: [searchFiles, writeFile],
        memory: { recall: "before", remember: "tool" },
      }),
      goodwill: new Agent({
        description: "Says sorry with a voucher, where the shop let a customer down.",
        model: "support/goodwill",
        instructions: "Send one voucher of 5 to 15 euros and say so in one sentence.",
        tools: [sendVoucher],
      }),
    },
    choose: "support/router",
    instructions: "Choose done once the customer has an answer and nothing they are owed is open.",
    limits: { rounds: 4 },
  });

  async forward(session: Session) {
    // A copy of the logs, in files of the session's own: what an engineer notes there stays there.
    const worked = await this.team.forward(session.to("memory", { workspace: fileURLToPath(new URL("logs", import.meta.url)) }));
    return worked.check("answered", () => ({ passed: worked.stop === "finished" && worked.text !== "", reason: worked.text }));
  }
}

export const desk = new Desk();

/** What every process of the cluster opens. */
export function openCluster(url: string, db = new pg.Pool({ connectionString: url, max: 4 })): Rath {
  db.on("error", () => {}); // a connection that was cut: the next query opens another one
  return openrath({ store: url, workflows: { desk }, models: live === undefined ? scripts : { "support/*": live }, deps: { db } });
}

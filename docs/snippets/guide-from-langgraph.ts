import { Agent, openrath, scripted, tool } from "openrath";
import { z } from "zod";

const refund = tool({
  name: "refund",
  description: "Refunds an order.",
  input: z.object({ order: z.number(), amount: z.number() }),
  needsApproval: true, // asked before it begins; the tool itself runs once
  run: ({ order, amount }) => `refunded ${amount} for order ${order}`,
});

const call = { calls: [{ tool: "refund", input: { order: 7, amount: 30 } }] };
const model = scripted(call, "You have your money back.");
const support = new Agent({
  name: "support",
  model,
  instructions: "You handle complaints.",
  tools: [refund],
});

await using rath = openrath({ store: ".openrath/record.db", workflows: { support } });
const complaint = rath.session("Order 7 arrived broken: 30 euros, please.");
const run = await rath.run(support, complaint, { key: "complaint-7" });
const settled = await run.settle();
if (settled.status === "waiting")
  for (const { id, kind } of settled.pending) if (kind === "approval") await rath.decide(id, { by: "human:ada", approve: true });

const session = await run.result();
console.log(session.text); // → You have your money back.

// #region past
// From the moment before the reply that asked for the refund, on a branch of its
// own: the first one stays as it is.
const asked = [...session.events()].find(({ kind }) => kind === "model.called")?.step ?? 0;
const other = session
  .at(asked - 1)
  .fork("stricter")
  .say("Only refund up to 20 euros.");
console.log(other.messages.length, session.messages.length); // → 2 4
// #endregion past

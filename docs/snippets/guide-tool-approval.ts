import { Agent, openrath, scripted, tool } from "openrath";
import { z } from "zod";

const paid: string[] = [];

const pay = tool({
  name: "pay",
  description: "Pays an amount in euros to somebody.",
  input: z.object({ to: z.string(), amount: z.number().positive() }),
  repeat: "once", // after a crash it is not run again by itself
  needsApproval: ({ amount }) => amount >= 100,
  approvalExpires: "2h",
  timeout: "30s",
  run: ({ to, amount }) => {
    paid.push(`${amount} to ${to}`);
    return { receipt: paid.length };
  },
});

const calls = [
  { tool: "pay", input: { to: "Ann", amount: 250 } },
  { tool: "pay", input: { to: "Bob", amount: "a lot" } },
];
const clerk = new Agent({ name: "clerk", model: scripted({ calls }, "Done."), tools: [pay] });
await using rath = openrath({ store: "memory", workflows: { clerk } });
const run = await rath.run(clerk, rath.session("Pay Ann and Bob."));

const settled = await run.settle();
console.log(settled.status, paid); // → waiting []
if (settled.status === "waiting")
  for (const pending of settled.pending)
    if (pending.kind === "approval") await rath.decide(pending.id, { by: "human:eve", approve: true, input: { to: "Ann", amount: 200 } });

const session = await run.result();
console.log(paid); // → [ '200 to Ann' ]
for (const { outcome } of session.calls) console.log(outcome.type, outcome.type === "error" ? outcome.message : "to Ann");
// → ok to Ann
// → error The input of "pay" does not fit: amount: Invalid input: expected number, received string. Call it again with an input that fits its schema.

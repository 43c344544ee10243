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
const clerk = new Agent({
  name: "clerk",
  model: scripted({ calls }, "Done."),
  tools: [pay],
});
await using rath = openrath({ store: "memory", workflows: { clerk } });
const run = await rath.run(clerk, rath.session("Pay Ann and Bob."));

const settled = await run.settle();
console.log(settled.status, paid); // → waiting []
if (settled.status === "waiting")
  for (const pending of settled.pending)
    if (pending.kind === "approval") {
      const input = { to: "Ann", amount: 200 };
      await rath.decide(pending.id, { by: "human:eve", approve: true, input });
    }

const session = await run.result();
console.log(paid); // → [ '200 to Ann' ]
for (const { input, outcome } of session.calls) console.log(input, outcome.type);
// → { amount: 200, to: 'Ann' } ok
// → { amount: 'a lot', to: 'Bob' } error

import { Agent, openrath, Selector, scripted } from "openrath";

const billing = new Agent({
  name: "billing",
  model: scripted("The second charge is refunded."),
  instructions: "You handle billing questions. Be brief.",
  description: "Billing, invoices, refunds",
});
const technical = new Agent({
  name: "technical",
  model: scripted("Install it again."),
  instructions: "You solve technical problems. Be brief.",
  description: "Installation, errors, configuration",
});

// A model may choose, or a function. The choice, its candidates and its reason are
// in the session.
const team = new Selector({
  choices: { billing, technical },
  choose: (session) => (session.routes.length > 0 ? "done" : { choice: "billing", reason: "it is about an invoice" }),
});

await using rath = openrath({ store: "memory" });
const session = rath.session("My last invoice was charged twice.").to("local");
const answered = await team.forward(session);
console.log(answered.text); // → The second charge is refunded.
for (const { choice, reason } of answered.routes) console.log(choice, reason);
// → billing it is about an invoice
// → done by rule

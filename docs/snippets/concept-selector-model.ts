import { Agent, openrath, Selector, scripted } from "openrath";

const billing = new Agent({
  name: "billing",
  model: scripted("Refunded."),
  description: "Invoices and refunds.",
});
const support = new Agent({
  name: "support",
  model: scripted("Have you tried again?"),
  description: "Everything technical.",
});
// A script stands in for the model that chooses.
// A real one reads the conversation and both descriptions.
const choose = scripted((_, { routes }) => ({
  output:
    routes.length === 0
      ? { choice: "billing", reason: "it is about money" }
      : { choice: "done", reason: "it was refunded" },
}));

await using rath = openrath({ store: "memory" });
const desk = new Selector({ choices: { billing, support }, choose });
const session = await desk.forward(
  rath.session("I was charged twice."),
);
console.log(
  session.routes.map(({ choice, reason }) => `${choice}: ${reason}`),
);
// → [ 'billing: it is about money', 'done: it was refunded' ]
console.log(session.messages.map(({ text }) => text));
// → [ 'I was charged twice.', 'Refunded.' ]

import { Agent, openrath, Selector, scripted } from "openrath";

const billing = new Agent({ name: "billing", model: scripted("Refunded."), description: "Invoices and refunds." });
const support = new Agent({ name: "support", model: scripted("Have you tried again?"), description: "Everything technical." });
// A script stands in for the model that chooses: it reads the conversation and the two descriptions.
const choose = scripted((_, { routes }) => ({ output: routes.length === 0 ? { choice: "billing", reason: "a refund" } : { choice: "done", reason: "refunded" } }));

await using rath = openrath({ store: "memory" });
const desk = new Selector({ choices: { billing, support }, choose });
const session = await desk.forward(rath.session("I was charged twice."));
console.log(session.text, session.routes.map(({ choice }) => choice)); // → Refunded. [ 'billing', 'done' ]
console.log(session.messages.length); // the model that chose left nothing in the conversation

import { Agent, openrath, scripted, tool } from "openrath";

/** Stands for a service that remembers the keys it was given. */
const orders = new Map<string, { readonly number: number }>();
let asked = 0;
const gone = new Promise<{ readonly number: number }>(() => {});

const order = tool({
  name: "order",
  description: "Orders a spare part.",
  input: { type: "object", properties: { part: { type: "string" } }, required: ["part"] },
  repeat: "once",
  run: (_, { key }) => {
    asked++;
    orders.set(key, { number: 7 });
    // The order is placed, and before the tool can say so, its process is gone
    return gone;
  },
  // What became of the call with this key? Undefined: a person is asked.
  probe: async (key) => {
    const known = orders.get(key);
    return known === undefined ? { happened: false } : { happened: true, output: known };
  },
});

const call = { calls: [{ tool: "order", input: { part: "valve" } }] };
const model = scripted(call, "Ordered.");
const buyer = new Agent({ name: "buyer", model, tools: [order] });
const first = openrath({ store: ".openrath/orders.db", workflows: { buyer } });
const { id } = await first.run(buyer, first.session("Order a valve."));
while (asked === 0) await new Promise((resolve) => setTimeout(resolve, 5));
await first.close();

await using second = openrath({ store: ".openrath/orders.db", workflows: { buyer } });
const session = await (await second.resume(id)).result();
console.log(session.calls[0]?.outcome); // → { type: 'ok', value: { number: 7 } }
console.log(asked, session.text); // → 1 Ordered.

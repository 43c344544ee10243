import { openrath, type Session, Workflow } from "openrath";

class Order extends Workflow {
  async forward(session: Session) {
    const reserved = await session.do("reserve", ({ key }) => ({ reservation: key }), { repeat: "keyed" });
    const asked = await reserved.ask("Ship it?");
    return asked.do("ship", () => ({ shipped: asked.output === "yes" }), { repeat: "once" });
  }
  async onCancel(session: Session) {
    return session.do("release", () => "released", { repeat: "safe" });
  }
}

await using rath = openrath({ store: process.env["DATABASE_URL"], workflows: { order: new Order() } }); // a path, or postgres://…
const run = await rath.run("order", rath.session("Order 7"), { key: "order-7", deadline: "2d" }); // with queue: true a worker executes it
const settled = await run.settle(); // it waits: answer 202, the process may go
if (settled.status === "waiting")
  for (const { id, kind } of settled.pending) if (kind === "question") await rath.decide(id, { by: "human:ada", answer: "yes" });
console.log((await run.result()).output); // → { shipped: true }

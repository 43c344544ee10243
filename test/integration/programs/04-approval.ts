// A web app on Hono-like handlers: start, look, decide. The run holds no process while it waits.
import { Agent, openrath, RathError, type Session, tool, Workflow } from "openrath";
import { z } from "zod";

const refund = tool({
  name: "refund",
  description: "Refund an order.",
  input: z.object({ order: z.string(), cents: z.number().int() }),
  repeat: "keyed",
  writes: "world",
  needsApproval: ({ cents }) => cents > 5_000,
  run: ({ order, cents }, { key }) =>
    fetch("https://pay.test/refunds", { method: "POST", headers: { "idempotency-key": key }, body: JSON.stringify({ order, cents }) }).then(
      (r) => r.status,
    ),
});

class Support extends Workflow {
  clerk = new Agent({ model: "openai/gpt-5.5", tools: [refund] });
  async forward(session: Session) {
    const handled = await this.clerk.forward(session);
    const asked = await handled.ask("Send this answer to the customer?", z.object({ send: z.boolean(), edit: z.string().optional() }), {
      to: "role:approver",
      expires: "2d",
    });
    if (!asked.output.send) return asked.note("not sent");
    return asked.do("send mail", ({ key }) => send(asked.output.edit ?? handled.text, key), { repeat: "keyed" });
  }
}
declare function send(text: string, key: string): Promise<{ id: string }>;

const support = new Support();
export const rath = openrath({ store: process.env["DATABASE_URL"], workflows: { support } });

export async function POST_ticket(request: Request): Promise<Response> {
  const { id, text } = (await request.json()) as { id: string; text: string };
  const run = await rath.run(support, rath.session(text), { key: `ticket-${id}` }); // a retried POST finds the same run
  const settled = await run.settle();
  switch (settled.status) {
    case "done":
      return Response.json({ answer: settled.session.text });
    case "waiting":
      return Response.json({ run: run.id, pending: settled.pending }, { status: 202 });
    case "failed":
      return Response.json({ error: settled.error.code }, { status: 500 });
    case "cancelled":
      return new Response(null, { status: 410 });
  }
}
export async function POST_decision(request: Request, pendingId: string, user: { id: string }): Promise<Response> {
  const body = (await request.json()) as { approve: boolean; reason?: string };
  try {
    await rath.decide(pendingId, { approve: body.approve, reason: body.reason, by: `human:${user.id}` });
    return new Response(null, { status: 204 });
  } catch (error) {
    if (RathError.is(error, "pending.answered")) return new Response("already answered", { status: 409 });
    throw error;
  }
}
// @ts-expect-error a decision says who decided
await rath.decide("x", { approve: true });

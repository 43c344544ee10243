/** The public surface's programs about approvals and chats, as their users would have them: over HTTP, with keys of their own. */
import { expect, test } from "vitest";
import { z } from "zod";
import { connect } from "../../src/client/client.ts";
import { Agent, openrath, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import { listen } from "../../src/server/listen.ts";
import { createServer } from "../../src/server/server.ts";
import { workBeside } from "../../src/server/work.ts";
import { keyFor } from "../support/guarded.ts";

const acts: string[] = [];
const refund = tool({
  name: "refund",
  description: "Refund an order.",
  input: z.object({ order: z.string(), cents: z.number().int() }),
  repeat: "keyed",
  writes: "world",
  needsApproval: ({ cents }) => cents > 5000,
  run: ({ order, cents }) => {
    acts.push(`${order} ${cents}`);
    return 200;
  },
});

class Support extends Workflow {
  clerk = new Agent({
    model: scripted({ calls: [{ tool: "refund", input: { order: "o1", cents: 9900 } }] }, "You get your money back."),
    tools: [refund],
  });
  async forward(session: Session) {
    const handled = await this.clerk.forward(session);
    const asked = await handled.ask("Send this answer?", z.object({ send: z.boolean() }), { to: "role:approver", expires: "2d" });
    return asked.output.send ? asked.do("send mail", () => void acts.push(handled.text)) : asked.note("not sent");
  }
}

const think = tool({
  name: "think",
  description: "Thinks until it is told to stop.",
  input: z.object({}),
  run: (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
});
const chat = new Agent({ name: "chat", model: scripted({ calls: [{ tool: "think", input: {} }] }, "never said"), tools: [think] });

async function served() {
  const rath = openrath({ store: "memory", workflows: { support: new Support(), chat } });
  const server = createServer(rath);
  const listening = await listen(server);
  const stop = new AbortController();
  const working = workBeside(server, { signal: stop.signal, drain: "100ms" });
  return {
    as: async (role: "operator" | "approver", identity: string) =>
      connect({ url: listening.url, key: await keyFor(server, role, { identity }) }),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await working;
      await listening.close(0);
      await rath.close();
    },
  };
}

test("a ticket is started once, looked at, and decided by whoever may, and by nobody who started it", async () => {
  await using web = await served();
  const [desk, boss] = [await web.as("operator", "service:desk"), await web.as("approver", "human:bob")];
  const ticket = { workflow: "support", message: "I want my money back", key: "ticket-1" };
  const run = await desk.runs.start(ticket);
  expect((await desk.runs.start(ticket)).id).toBe(run.id);
  const waiting = await desk.runs.done(run.id, { until: "settled" });
  expect(waiting).toMatchObject({ status: "waiting", pending: [{ kind: "approval", tool: "refund" }] });
  const [approval] = (await boss.pending.list({ to: "me" }).page()).items;
  expect((await boss.pending.get(approval?.id ?? "")).call).toMatchObject({ data: { input: { order: "o1", cents: 9900 } } });
  await expect(desk.pending.decide(approval?.id ?? "", { approve: true })).rejects.toMatchObject({ code: "access.forbidden" });
  expect(acts).toEqual([]);
  await boss.pending.decide(approval?.id ?? "", { approve: true, reason: "a good customer" });
  await expect(boss.pending.decide(approval?.id ?? "", { approve: false })).rejects.toMatchObject({ code: "pending.answered" });
  for await (const part of boss.pending.stream()) {
    const shown = part.type === "snapshot" ? part.pending : part.type === "pending" ? [part.pending] : [];
    const question = shown.find(({ kind }) => kind === "question");
    if (question === undefined) continue;
    await boss.pending.decide(question.id, { answer: { send: true } });
    break;
  }
  expect((await desk.runs.done(run.id)).status).toBe("done");
  expect(acts).toEqual(["o1 9900", "You get your money back."]);
  const decided = (await desk.pending.decisions({ session: run.session }).page()).items;
  expect(decided.map(({ by, reason }) => [by, reason])).toEqual([
    ["human:bob", "a good customer"],
    ["human:bob", undefined],
  ]);
});

test("a chat is left and come back to where it was left, and stopped by another call", async () => {
  await using web = await served();
  const reader = await web.as("operator", "human:ada");
  const run = await reader.runs.start({ workflow: "chat", message: "Tell me a long story" });
  const seen: string[] = [];
  let cursor: string | undefined;
  for await (const part of reader.runs.stream(run.id)) {
    if (part.type === "event") seen.push(part.event.id);
    cursor = part.cursor;
    if (part.type === "tool-start") break; // leaving cancels nothing
  }
  expect((await reader.runs.get(run.id)).status).toBe("running");
  const stopping = reader.runs.cancel(run.id, { reason: "user pressed stop" });
  const back = async (): Promise<void> => {
    for await (const part of reader.runs.stream(run.id, { after: cursor })) if (part.type === "event") seen.push(part.event.id);
  };
  await expect(back()).rejects.toMatchObject({ code: "run.cancelled" });
  await stopping;
  expect(new Set(seen).size).toBe(seen.length);
  const all: string[] = [];
  const again = async (): Promise<void> => {
    for await (const part of reader.runs.stream(run.id)) if (part.type === "event") all.push(part.event.id);
  };
  await expect(again()).rejects.toMatchObject({ code: "run.cancelled" });
  expect(seen).toEqual(all);
  expect((await reader.runs.done(run.id)).status).toBe("cancelled");
});

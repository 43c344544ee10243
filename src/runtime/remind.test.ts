import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { Workflow } from "../workflow/workflow.ts";
import { remind } from "./remind.ts";

class Send extends Workflow {
  async forward(session: Session) {
    return session.ask("Send it?");
  }
}

test("work outside a run that waits for a person says so, and how to answer", async () => {
  await using rath = composeRath({ store: "memory" }, { times: { remindMs: 5 } });
  const warned = once(process, "warning") as Promise<[Error]>;
  const asked = rath.session("hi").ask("Send it?");
  const [{ name, message }] = await warned;
  const [pending] = await rath.pending();
  expect([name, message]).toEqual(["OpenRathWarning", expect.stringContaining(`rath.decide("${pending?.id}", { by, answer })`)]);
  expect(message).toMatch(/^This process waits for a person: the question "Send it\?"\./);
  await rath.decide(pending?.id ?? "", { by: "human:test", answer: "yes" });
  expect((await asked).output).toBe("yes");
});

test("whoever waits for the result of a run that waits for a person is told once, with how to answer", async () => {
  await using rath = composeRath({ store: "memory" }, { times: { remindMs: 5 } });
  const said: string[] = [];
  const hear = ({ message }: Error): number => said.push(message);
  process.on("warning", hear);
  const run = await rath.run(new Send(), rath.session("hi"));
  const result = run.result();
  await vi.waitFor(() => expect(said).toHaveLength(1), 5000);
  await new Promise((resolve) => setTimeout(resolve, 600)); // twice as long as between two looks
  process.off("warning", hear);
  const [pending] = await rath.pending();
  expect(said).toEqual([
    expect.stringContaining(`Run ${run.id} waits for a person: the question "Send it?". Answer with openrath approvals`),
  ]);
  expect(said[0]).toContain(`rath.decide("${pending?.id}", { by, answer })`);
  await rath.decide(pending?.id ?? "", { by: "human:test", answer: "yes" });
  expect((await result).output).toBe("yes");
});

test("a session whose store in memory was closed says that it is gone", async () => {
  const rath = composeRath({ store: "memory" }, {});
  const session = await rath.session("hi").do("work", () => 1);
  await rath.close();
  const { write } = await import("../audit/audit.ts");
  await expect(write(session, "/nowhere/session.jsonl")).rejects.toMatchObject({
    code: "rath.closed",
    message: expect.stringMatching(/store in memory/),
  });
});

test("an effect that waits for a yes is not called a tool: in a rerun any effect may", async () => {
  const pending = { id: "e1", run: undefined, session: "s", since: "", by: "", kind: "approval", tool: "pay", input: {} } as const;
  const said = await new Promise<string>((resolve) => {
    const end = remind(pending, 0, resolve);
    setTimeout(end, 5000).unref();
    setTimeout(() => {}, 50); // its own timer keeps no process alive
  });
  expect(said).toMatch(/^This process waits for a person: "pay" needs a yes\..*rath\.decide\("e1", \{ by, approve: true \| false \}\)/);
});

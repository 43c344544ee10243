import { once } from "node:events";
import { expect, test } from "vitest";
import { composeRath } from "../openrath.ts";

test("work outside a run that waits for a person says so, and how to answer", async () => {
  await using rath = composeRath({ store: "memory" }, { times: { remindMs: 5 } });
  const warned = once(process, "warning") as Promise<[Error]>;
  const asked = rath.session("hi").ask("Send it?");
  const [{ name, message }] = await warned;
  const [pending] = await rath.pending();
  expect([name, message]).toEqual(["OpenRathWarning", expect.stringContaining(`rath.decide("${pending?.id}", { by, answer })`)]);
  expect(message).toMatch(/^The question "Send it\?" waits for a person/);
  await rath.decide(pending?.id ?? "", { by: "human:test", answer: "yes" });
  expect((await asked).output).toBe("yes");
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

import { once } from "node:events";
import { expect, test } from "vitest";
import { composeRath } from "../openrath.ts";
import { remind } from "./remind.ts";

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

test("an effect that waits for a yes is not called a tool: in a rerun any effect may", async () => {
  const pending = { id: "e1", run: undefined, session: "s", since: "", by: "", kind: "approval", tool: "pay", input: {} } as const;
  const said = await new Promise<string>((resolve) => {
    const end = remind(pending, 0, resolve);
    setTimeout(end, 5000).unref();
    setTimeout(() => {}, 50); // its own timer keeps no process alive
  });
  expect(said).toMatch(/^"pay", which needs a yes, waits for a person.*rath\.decide\("e1", \{ by, approve: true \| false \}\)/);
});

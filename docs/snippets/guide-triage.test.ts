import { fileURLToPath } from "node:url";
import { assertReplay, fixture, testRath } from "openrath/testing";
import { expect, test } from "vitest";
import { record } from "./guide-recorded.ts";
import { Triage } from "./guide-triage.ts";

/** Recorded once and committed. UPDATE_SESSIONS=1 records it again. */
const lost = fileURLToPath(new URL("sessions/lost-order.jsonl", import.meta.url));

test("a lost order is looked up and named, as it was recorded", async () => {
  await using rath = testRath();
  const session = await fixture(lost, rath, record);
  await assertReplay(session, new Triage());
  expect(session.calls.map(({ tool }) => tool)).toEqual(["order_status"]);
  expect(session.checks).toMatchObject([{ name: "names the order", passed: true }]);
});

test("a changed prompt fails, and the message shows what changed", async () => {
  await using rath = testRath();
  const session = await fixture(lost, rath, record);
  const changed = new Triage("You answer customers. Be brief.");
  await expect(assertReplay(session, changed)).rejects.toThrow("instructions differs");
});

import { expect, test } from "vitest";
import { sharedStore } from "../../test/support/shared-store.ts";
import { testRath } from "../testing/test-rath.ts";

test("sessions that are opened at the same time know what they have in common", async () => {
  const store = sharedStore();
  const made = testRath({ store, implicitForks: "allow" });
  const root = await made.session("begin").do("root", () => 1);
  const [a, b] = [await root.fork("a").do("a", () => 2), await root.fork("b").do("b", () => 3)];
  await made.close();
  await using rath = testRath({ store });
  const [first, second] = await Promise.all([rath.open(a.id), rath.open(b.id)]);
  const merged = await first.merge(second);
  const ids = [...merged.events()].map(({ id }) => id);
  expect(ids).toHaveLength(new Set(ids).size);
  expect(ids.filter((id) => id === root.head)).toHaveLength(1);
});

test("a session that is not there keeps no other from being opened", async () => {
  await using rath = testRath();
  const session = await rath.session("begin").do("root", () => 1);
  const [missing, found] = await Promise.allSettled([rath.open("ffff"), rath.open(session.id)]);
  expect([missing.status, found.status]).toEqual(["rejected", "fulfilled"]);
});

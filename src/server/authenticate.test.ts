/** Who calls is looked up after the call arrived: calls that arrive together share a lookup, and none is let in by an older one. */
import { expect, test } from "vitest";
import type { AccessStore, StoredKey } from "../access/access.ts";
import { makeKey } from "../access/make-key.ts";
import { volatileAccess } from "../access/volatile.ts";
import { identifying } from "./authenticate.ts";

async function guarded() {
  const store = volatileAccess();
  const made = await makeKey(store, { tenant: "t", project: "p", identity: "human:ada", by: "test", roles: ["viewer"] }, new Date());
  const asked: string[] = [];
  let held: Promise<void> = Promise.resolve();
  const watched: AccessStore = {
    ...store,
    key: async (id): Promise<StoredKey | undefined> => {
      asked.push(id);
      const found = await store.key(id);
      await held;
      return found;
    },
  };
  const identify = identifying(async () => watched);
  const call = async (sent = `Bearer ${made.token}`) =>
    (await identify(new Request("http://localhost/", { headers: { authorization: sent } }))).caller?.identity;
  return {
    call,
    asked,
    token: made.token,
    hold: (until: Promise<void>) => (held = until),
    revoke: () => store.endKey(made.key.id, { revoked: new Date(0).toISOString() }),
  };
}

test("calls that arrive together with one key look it up once, and each later one again", async () => {
  const { call, asked } = await guarded();
  expect(await Promise.all([call(), call(), call()])).toEqual(["human:ada", "human:ada", "human:ada"]);
  expect(asked).toHaveLength(1);
  expect(await call()).toBe("human:ada");
  expect(asked).toHaveLength(2);
});

test("a call that arrives while another one's key is looked up does not share what is found", async () => {
  const { call, asked, hold, revoke } = await guarded();
  let release = (): void => {};
  hold(new Promise((resolve) => (release = resolve)));
  const before = call();
  while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await revoke();
  const after = call();
  release();
  expect(await before).toBe("human:ada");
  expect(await after).toBeUndefined();
});

test("another secret of the same key is another question", async () => {
  const { call, token } = await guarded();
  const wrong = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
  expect(await Promise.all([call(`Bearer ${wrong}`), call(), call(`Bearer ${token} x`), call(`Basic ${token}`)])).toEqual([
    undefined,
    "human:ada",
    undefined,
    undefined,
  ]);
});

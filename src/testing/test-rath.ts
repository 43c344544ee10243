/** A Rath for tests: what it makes depends on the program alone, so that the same program gives the same bytes. */
import { createPrivateKey } from "node:crypto";
import { composeRath } from "../openrath.ts";
import type { RathOptions } from "../rath-options.ts";
import { Key } from "../runtime/key.ts";
import { nodePlatform } from "../runtime/platform.ts";
import type { Rath } from "../runtime/rath.ts";
import { type Platform, saltBytes } from "../session/platform.ts";
import type { Store } from "../store/store.ts";

const start = Date.parse("2026-01-01T00:00:00.000Z");

/** How many test Raths were opened on a store: two on one store must not count the same ids. */
const openedOn = new WeakMap<Store, number>();

/**
 * Opens a runtime with a memory store, a clock that goes on by one millisecond whenever it is read, and counted ids and salts.
 * Timers still wait in real time. Statements are signed with a key that everybody knows.
 *
 * @example
 * await using rath = testRath();
 * const session = await rath.session("Hello").do("greet", () => "hi");
 * expect(session.head).toMatchInlineSnapshot(); // the same in every run of this test
 */
export function testRath(options: RathOptions = {}): Rath {
  const { store = "memory" } = options;
  const series = typeof store === "object" ? (openedOn.get(store) ?? 0) : 0;
  if (typeof store === "object") openedOn.set(store, series + 1);
  return composeRath(
    { ...options, store },
    { platform: countingPlatform(series), openKey: async () => testKey(), worker: `test-${series}` },
  );
}

function countingPlatform(series: number): Platform {
  let ticks = 0;
  let ids = 0;
  let salts = 0;
  return {
    ...nodePlatform,
    time: () => new Date(start + ticks++).toISOString(),
    elapsed: () => ticks,
    newId: () => `${(++ids).toString(16).padStart(8, "0")}-${series.toString(16).padStart(4, "0")}-7000-8000-000000000000`,
    salted: (text) => {
      const salt = Buffer.alloc(saltBytes);
      salt.writeUInt32BE(series, saltBytes - 8);
      salt.writeUInt32BE(++salts, saltBytes - 4);
      return Buffer.concat([salt, Buffer.from(text)]);
    },
  };
}

/** Ed25519 in PKCS #8: the fixed beginning, then a seed that is no secret. */
function testKey(): Key {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from("openrath test key, not a secret!")]);
  const pem = createPrivateKey({ key: der, format: "der", type: "pkcs8" }).export({ format: "pem", type: "pkcs8" });
  return new Key(pem as string);
}

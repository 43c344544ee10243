import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "openrath/store";
import { storeConformance } from "openrath/testing";
import { afterAll, expect, test } from "vitest";
import { directoryStore } from "./guide-directory-store.ts";

const folder = mkdtempSync(join(tmpdir(), "directory-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
const folders = new Map<Store, string>();

storeConformance({
  name: "directory",
  create() {
    const own = join(folder, String(folders.size));
    const store = directoryStore(own);
    folders.set(store, own);
    return store;
  },
  reopen: async (store) => directoryStore(folders.get(store) ?? ""),
});

test("of several processes that begin the same session, one wins, and all know which", async () => {
  const stores = Array.from({ length: 8 }, () => directoryStore(join(folder, "shared")));
  for (let n = 0; n < 10; n++) {
    const begin = (store: Store, at: number) => {
      const event = { id: `${n}.${at}`, session: `s${n}`, step: 1, run: undefined, order: 0, envelope: new Uint8Array(), data: undefined };
      return store.append({ branches: [{ session: `s${n}`, expectedHead: undefined, events: [event] }] });
    };
    const won = (await Promise.all(stores.map(begin))).flatMap(({ ok }, at) => (ok ? [`${n}.${at}`] : []));
    expect(won).toHaveLength(1);
    for (const store of stores) for await (const { head } of store.sessions({ id: `s${n}` })) expect([head]).toEqual(won);
  }
});

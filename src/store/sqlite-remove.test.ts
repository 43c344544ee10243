import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { branch, collect } from "../testing/store-case.ts";
import { storedChain } from "../testing/stored-event.ts";
import { sqliteStore } from "./sqlite.ts";
import type { Store, StoredEvent } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-remove-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("what other projects of the file append keeps no log", async () => {
  const file = join(folder, "projects.db");
  await using mine = sqliteStore(file);
  await using others = sqliteStore(file, { project: "other" });
  const [old] = storedChain([{}], "old") as [StoredEvent];
  await mine.append({ branches: [branch([old])] });
  const after = await mine.fedTo();
  await others.append({ branches: [branch(storedChain([{}], "theirs"))] });
  expect(await (mine as Required<Store>).remove([{ session: "old", head: old.id }], { after })).toBe(true);
});

test("who still knows a log that others removed writes into no other log", async () => {
  const file = join(folder, "store.db");
  await using knows = sqliteStore(file);
  await using removes = sqliteStore(file);
  const [old, next] = [storedChain(Array(3).fill({ data: "old" }), "old"), storedChain(Array(2).fill({ data: "next" }), "next")];
  const [first, second, third] = old as [StoredEvent, StoredEvent, StoredEvent];
  await knows.append({ branches: [branch([first])] });
  await knows.append({ branches: [{ ...branch([second]), expectedHead: first.id }] });
  expect(await (removes as Required<Store>).remove([{ session: "old", head: second.id }])).toBe(true);
  await removes.append({ branches: [branch(next)] });
  expect(await knows.append({ branches: [{ ...branch([third]), expectedHead: second.id }] })).toMatchObject({
    ok: false,
    reason: "head",
    session: "old",
    head: undefined,
  });
  expect((await collect(removes.events({ session: "next" }))).map(({ id }) => id)).toEqual(next.map(({ id }) => id));
  expect((await collect(removes.sessions({}))).map(({ id }) => id)).toEqual(["next"]);
});

/** What an effect makes that is too much for memory goes to the store before its event, and is there when the event is. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { sharedStore } from "../../test/support/shared-store.ts";
import type { RathError } from "../session/errors.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { WorkspaceObjects } from "./workspace-objects.ts";

const mebibyte = 1024 * 1024;
const content = (index: number): Buffer => Buffer.alloc(3 * mebibyte, index);
const indexes = Array.from({ length: 56 }, (_, index) => index);

/** Objects of one effect, and what each write to the store holds. */
function setUp() {
  const inner = memoryStore();
  const writes: (readonly string[])[] = [];
  const append: Store["append"] = async (write) => {
    writes.push((write.blobs ?? []).map(({ hash }) => hash));
    return inner.append(write);
  };
  const store: Store = { ...inner, append, blob: (hash) => inner.blob(hash) };
  return { store, writes, own: new WorkspaceObjects(async () => store).own() };
}

/** Removes every blob that nothing names. */
async function sweep(store: Store): Promise<void> {
  await setTimeout(5); // what is put in the moment of the call stays
  const gone = store.sweep?.({ dryRun: false, keeping: async () => () => false }) ?? [];
  for await (const _ of gone);
}

test("only so much is kept in memory, and the rest can be read", async () => {
  const { own, writes } = setUp();
  own.writeEarly();
  const names = await Promise.all(indexes.map((index) => own.put(content(index))));
  const kept = own.among(names);
  expect(kept.size * 3).toBeLessThanOrEqual(64);
  expect(new Set([...writes.flat(), ...kept.keys()]).size).toBe(56);
  expect(writes.flat()).toHaveLength(new Set(writes.flat()).size);
  expect(Math.max(...writes.map(({ length }) => length))).toBeLessThanOrEqual(3);
  for (const [index, name] of names.entries()) expect((await own.get(name))[0]).toBe(index);
});

test("nothing is written early for work that does not allow it, such as a merge that waits for a person", async () => {
  const { own, writes } = setUp();
  const names = await Promise.all(indexes.map((index) => own.put(content(index))));
  expect([writes, own.among(names).size]).toEqual([[], 56]);
});

test("of what was written before the end, what counts is put again, so that no sweep takes it for old", async () => {
  const { own, writes, store } = setUp();
  own.writeEarly();
  const names = await Promise.all(indexes.map((index) => own.put(content(index))));
  const early = writes.splice(0).flat();
  const putAgain = own.ended();
  await putAgain(names.slice(0, 3));
  expect(writes.splice(0).flat()).toEqual(names.slice(0, 3));
  await sweep(store);
  await expect(putAgain(early.slice(-1))).rejects.toMatchObject({ code: "workspace.missing" });
});

test("an effect that left much is as it left it when it is opened again", async () => {
  const store = sharedStore();
  await using rath = testRath({ store });
  const { id } = await rath
    .session("x")
    .to("memory", {})
    .do("write", async ({ sandbox }) => {
      for (const index of indexes) await sandbox.write(`f${index}`, content(index));
    });
  await using later = testRath({ store });
  const { files } = await later.open(id);
  for (const index of indexes) expect((await files.read(`f${index}`))[0]).toBe(index);
});

test("an effect whose early contents were swept fails: no event names what is not there", async () => {
  const store = sharedStore();
  await using rath = testRath({ store });
  const writing = rath
    .session("x")
    .to("memory", {})
    .do("write", async ({ sandbox }) => {
      for (const index of indexes) await sandbox.write(`f${index}`, content(index));
      await sweep(store);
    });
  const failed = await writing.catch((error: RathError) => error);
  expect((failed as RathError).message).toMatch(/what it left in the workspace could not be read/);
  const next = await (failed as RathError).session?.do("go on", ({ sandbox }) => sandbox.write("a", "b"));
  expect(await next?.files.text("a")).toBe("b");
});

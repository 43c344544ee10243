import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedStore } from "../../test/support/shared-store.ts";
import { placeOf } from "../session/value.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { ObjectMap } from "../workspace/objects.ts";
import { snapshot } from "../workspace/snapshot.ts";
import { Trees } from "../workspace/tree.ts";
import { WorkspaceObjects } from "./workspace-objects.ts";

/** A store whose writes take a while, as those of a disk do. */
function slowStore(): { readonly store: Store; readonly put: () => number } {
  const store = memoryStore();
  let put = 0;
  const append: Store["append"] = async (write) => {
    put += write.blobs?.length ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 1 + (put % 5)));
    return store.append(write);
  };
  const slow: Store = { ...store, append, blob: async (hash) => store.blob(hash) };
  return { store: slow, put: () => put };
}

test("what a first look finds is all in the store, each once, though it is written while the look goes on", async () => {
  const directory = await mkdtemp(join(tmpdir(), "objects-"));
  for (let at = 0; at < 9000; at++) writeFileSync(join(directory, `f${at}`), `content ${at}`);
  const { store, put } = slowStore();
  const objects = new WorkspaceObjects(async () => store);
  const written = objects.written();
  const trees = new Trees(written);
  const { tree } = await snapshot(trees, directory);
  await written.flush();
  let missing = 0;
  for (const entry of (await trees.directory(tree)).values())
    if (entry.type === "file" && (await store.blob(entry.hash)) === undefined) missing++;
  expect(missing).toBe(0);
  expect(await store.blob(tree)).toBeDefined();
  expect(put()).toBe(9001);
  await rm(directory, { recursive: true });
});

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: { type: "object", properties: { path: { type: "string" } } },
  writes: "files",
  run: async (given, { sandbox }) => sandbox.write((given as { readonly path: string }).path, "x"),
});

test("the files of a merge go with it when its branch was continued elsewhere first", async () => {
  const store = sharedStore();
  await using here = testRath({ store, implicitForks: "allow" });
  const base = await here.session("work").to("memory", {}).call(put, { path: "base" });
  const [left, right] = [await base.fork("left").call(put, { path: "a" }), await base.fork("right").call(put, { path: "b" })];
  const merged = await left.merge(right);
  await using there = testRath({ store });
  await (await there.open(left.id)).do("go on", () => 1);
  const saved = await merged.do("go on here", () => 2);
  expect(saved.id).not.toBe(left.id);
  await using later = testRath({ store });
  expect(await (await later.open(saved.id)).files.text("b")).toBe("x");
});
/** Files that are the same whoever makes them, and larger than what is remembered of what was given up. */
const build = "mkdir out && head -c 9000000 /dev/zero > out/bundle";

test("what a check made and left no trace of is stored when a tool makes the same afterwards", async () => {
  const store = sharedStore();
  const make = tool({
    name: "build",
    description: "Builds.",
    input: { type: "object" },
    writes: "files",
    run: async (_, { sandbox }) => (await sandbox.exec(build)).exitCode,
  });
  await using rath = testRath({ store });
  const placed = rath.session("work").to("host", { network: "all" });
  const checked = await placed.check("builds", async ({ sandbox }) => (await sandbox.exec(build)).exitCode === 0);
  const built = await checked.call(make, {});
  expect(built.output).toBe(0);
  await using later = testRath({ store });
  expect((await (await later.open(built.id)).files.read("out/bundle")).length).toBe(9_000_000);
});

test("what a check gives up stays with a tool that made the same beside it", async () => {
  const store = sharedStore();
  const large = "x".repeat(9_000_000);
  let written = (): void => {};
  const both = new Promise<void>((resolve) => {
    written = resolve;
  });
  let checked = (): void => {};
  const over = new Promise<void>((resolve) => {
    checked = resolve;
  });
  const write = tool({
    name: "write",
    description: "Writes.",
    input: { type: "object" },
    writes: "files",
    run: async (_, { sandbox }) => {
      await sandbox.write("large", large);
      written();
      await over;
    },
  });
  await using rath = testRath({ store });
  const base = rath.session("work").to("memory", {});
  const tooled = base.fork("tool").call(write, {});
  await base.fork("check").check("fits", async ({ sandbox }) => {
    await sandbox.write("large", large);
    await both;
    return true;
  });
  checked();
  const { id } = await tooled;
  await using later = testRath({ store });
  expect((await (await later.open(id)).files.read("large")).length).toBe(9_000_000);
});

test("contents are let go once they are in the store, and of directories only the newest are remembered", async () => {
  await using rath = testRath();
  const session = await rath.session("work").to("memory", {}).call(put, { path: "a" });
  expect(placeOf(session).node).toMatchObject({ stored: true, blobs: undefined });

  const objects = new ObjectMap();
  let reads = 0;
  const trees = new Trees({
    get: (name) => {
      reads++;
      return objects.get(name);
    },
    put: (bytes) => objects.put(bytes),
  });
  const entries = Array.from({ length: 1000 }, (_, at) => [`f${at}`, { type: "fifo" }] as const);
  const names: string[] = [];
  for (let at = 0; at < 300; at++) names.push(await trees.store(new Map([...entries, [`g${at}`, { type: "fifo" }]])));
  await trees.directory(names.at(-1) as string);
  expect(reads).toBe(0);
  await trees.directory(names[0] as string);
  expect(reads).toBe(1);
});

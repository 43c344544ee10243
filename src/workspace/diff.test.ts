/** What differs between trees: against a model of plain maps, and at the cost of what differs alone. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CountingTrees, emptyDirectory, leavesOf, linkTo, someFiles, type TreeModel, treeFrom } from "../testing/tree-model.ts";
import { changesBetween, contentHash } from "./diff.ts";
import { bytesOf } from "./name.ts";
import { ObjectMap } from "./objects.ts";
import { type Entry, emptyTree, sameEntry, Trees } from "./tree.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

async function changes(a: TreeModel, b: TreeModel) {
  const trees = new Trees(new ObjectMap());
  return changesBetween(trees, await treeFrom(trees, a), await treeFrom(trees, b));
}

test("files, links and empty directories that come, go and change are listed with what they held", async () => {
  const before = { gone: "x", kept: "y", "dir/changed": "1", link: linkTo("kept"), empty: emptyDirectory };
  const after = { kept: "y", "dir/changed": "2", "dir/new": "n", link: linkTo("dir"), hollow: emptyDirectory };
  expect(await changes(before, after)).toEqual([
    { path: "dir/changed", kind: "changed", before: sha256("1"), after: sha256("2") },
    { path: "dir/new", kind: "added", after: sha256("n") },
    { path: "empty", kind: "removed" },
    { path: "gone", kind: "removed", before: sha256("x") },
    { path: "hollow", kind: "added" },
    { path: "link", kind: "changed", before: sha256("kept"), after: sha256("dir") },
  ]);
});

test("permissions alone and a change of type say so", async () => {
  const text = (mode: number) => ({ text: "x", mode });
  expect(await changes({ a: text(0o644), b: "x", c: "x", d: text(0o644) }, { a: text(0o755), b: linkTo("a"), "c/d": "x", d: "y" })).toEqual(
    [
      { path: "a", kind: "changed", before: sha256("x"), after: sha256("x"), of: "mode" },
      { path: "b", kind: "changed", before: sha256("x"), after: sha256("a"), of: "type" },
      { path: "c", kind: "changed", before: sha256("x"), of: "type" },
      { path: "c/d", kind: "added", after: sha256("x") },
      { path: "d", kind: "changed", before: sha256("x"), after: sha256("y") },
    ],
  );
});

test("a directory whose permissions changed appears, beside what changed in it", async () => {
  const trees = new Trees(new ObjectMap());
  const a = await treeFrom(trees, { "d/x": "1" });
  const inner = await treeFrom(trees, { x: "2" });
  const b = await trees.with(emptyTree, "d", { type: "directory", mode: 0o700, hash: inner });
  expect(await changesBetween(trees, a, b)).toEqual([
    { path: "d", kind: "changed", of: "mode" },
    { path: "d/x", kind: "changed", before: sha256("1"), after: sha256("2") },
  ]);
});

test("special files and contents that were not kept are changes without hashes", async () => {
  const withheld = (size: number): Entry => ({ type: "withheld", why: "size", size });
  expect(await changes({ big: withheld(1), pipe: { type: "fifo" } }, { big: withheld(2), pipe: { type: "socket" }, key: "x" })).toEqual([
    { path: "big", kind: "changed" },
    { path: "key", kind: "added", after: sha256("x") },
    { path: "pipe", kind: "changed", of: "type" },
  ]);
});

test("only directories that differ are read, and no content", async () => {
  const trees = new CountingTrees();
  const model: Record<string, string> = {};
  for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) model[`d${i}/e${j}/file`] = `${i} ${j}`;
  const a = await treeFrom(trees, model);
  const b = await treeFrom(trees, { ...model, "d7/e7/file": "changed" });
  trees.reads.length = 0;
  expect(await changesBetween(trees, a, a)).toEqual([]);
  expect(trees.reads).toHaveLength(0);
  expect(await changesBetween(trees, a, b)).toHaveLength(1);
  // The root, d7 and d7/e7, on each side.
  expect(trees.reads).toHaveLength(6);
});

test("the changes are those of a model, in the byte order of paths", async () => {
  await fc.assert(
    fc.asyncProperty(someFiles, someFiles, async (x, y) => {
      const trees = new Trees(new ObjectMap());
      const [a, b] = [await treeFrom(trees, x), await treeFrom(trees, y)];
      const found = await changesBetween(trees, a, b);
      const before = await leavesOf(trees, a);
      const after = await leavesOf(trees, b);
      const expected = [...new Set([...before.keys(), ...after.keys()])].filter((path) => !sameEntry(before.get(path), after.get(path)));
      // An empty directory that gets files, or loses them, is a directory before and after: its files say so.
      const listed: string[] = [];
      for (const path of expected) {
        const [one, other] = [await trees.entry(a, path), await trees.entry(b, path)];
        if (one?.type !== "directory" || other?.type !== "directory") listed.push(path);
      }
      expect(found.map(({ path }) => path)).toEqual(listed.sort((p, q) => Buffer.compare(bytesOf(p), bytesOf(q))));
      for (const { path, kind, before: old, after: now, of } of found) {
        const [one, other] = [await trees.entry(a, path), await trees.entry(b, path)];
        expect([old, now]).toEqual([contentHash(one), contentHash(other)]);
        expect(kind).toBe(one === undefined ? "added" : other === undefined ? "removed" : "changed");
        expect(of === "type").toBe(kind === "changed" && one?.type !== other?.type);
      }
    }),
    { numRuns: 300 },
  );
});

test("applying the changes gives the other tree, its directories as they are there", async () => {
  await fc.assert(
    fc.asyncProperty(someFiles, someFiles, async (x, y) => {
      const trees = new Trees(new ObjectMap());
      const [a, b] = [await treeFrom(trees, x), await treeFrom(trees, y)];
      expect(await applied(trees, a, b)).toBe(b);
    }),
    { numRuns: 300 },
  );
});

/** Children go before their parents and come after them; a directory above a change stays if it is one in `b`. */
async function applied(trees: Trees, a: string, b: string): Promise<string> {
  let tree = a;
  const found = await changesBetween(trees, a, b);
  for (const { path, kind } of found.toReversed()) {
    if (kind === "added") continue;
    tree = await trees.with(tree, path, undefined);
    for (let at = path; at.includes("/"); ) {
      at = at.slice(0, at.lastIndexOf("/"));
      const here = await trees.entry(tree, at);
      if ((await trees.entry(b, at))?.type !== "directory" && here?.type === "directory" && here.hash === emptyTree)
        tree = await trees.with(tree, at, undefined);
    }
  }
  for (const { path, kind } of found) {
    const entry = await trees.entry(b, path);
    if (kind !== "removed" && entry !== undefined)
      tree = await trees.with(tree, path, entry.type === "directory" ? { ...entry, hash: emptyTree } : entry);
  }
  return tree;
}

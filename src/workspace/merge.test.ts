/** Merges of trees: every kind of conflict by example, and how each is settled. Laws are in merge-laws.test.ts. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { CountingTrees, emptyDirectory, linkTo, type TreeModel, treeFrom } from "../testing/tree-model.ts";
import { conflictText, type Resolution, resolve } from "./conflict.ts";
import { readFile } from "./files.ts";
import { caseCollisions, mergeTrees } from "./merge.ts";
import { ObjectMap } from "./objects.ts";
import { type Entry, emptyTree, Trees } from "./tree.ts";

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");
const binary = (...bytes: number[]) => Uint8Array.of(0, ...bytes);
const text = (mode: number, content = "x") => ({ text: content, mode });

async function merged(base: TreeModel, ours: TreeModel, theirs: TreeModel) {
  const trees = new Trees(new ObjectMap());
  const [a, o, t] = [await treeFrom(trees, base), await treeFrom(trees, ours), await treeFrom(trees, theirs)];
  const result = await mergeTrees(trees, a, o, t);
  const settle = async (resolution: Resolution) => {
    let tree = result.tree;
    for (const conflict of result.conflicts) tree = await resolve(trees, tree, conflict, resolution);
    return tree;
  };
  return { ...result, trees, ours: o, theirs: t, settle, is: (model: TreeModel) => treeFrom(trees, model) };
}

test("changes to different files, to different lines, and the same change on both sides merge", async () => {
  const { tree, conflicts, is } = await merged(
    { a: "1", "d/b": "1\n2\n3\n4\n", "d/c": "1", e: "1", l: linkTo("a") },
    { a: "2", "d/b": "one\n2\n3\n4\n", "d/c": "1", f: "new", l: linkTo("b") },
    { a: "1", "d/b": "1\n2\n3\nfour\n", "d/c": "2", f: "new", e: "1", l: linkTo("b") },
  );
  expect(conflicts).toEqual([]);
  expect(tree).toBe(await is({ a: "2", "d/b": "one\n2\n3\nfour\n", "d/c": "2", f: "new", l: linkTo("b") }));
});

test("a change of content on one side and of permissions on the other merge", async () => {
  const { tree, conflicts, is } = await merged({ f: text(0o644, "1") }, { f: text(0o755, "1") }, { f: text(0o644, "2") });
  expect([tree, conflicts]).toEqual([await is({ f: text(0o755, "2") }), []]);
});

test("a .git that both sides changed stays ours, without conflicts, and gets what is new in theirs", async () => {
  const head = "ref: refs/heads/main\n";
  const base = { a: "1", ".git/HEAD": head, ".git/index": binary(1), ".git/refs/heads/main": "1", ".git/objects/aa/1": binary(1) };
  const { tree, conflicts, is } = await merged(
    { ...base, "sub/.git": "gitdir: x\n" },
    { ...base, a: "2", ".git/index": binary(2), ".git/objects/aa/2": binary(2), ".git/logs/HEAD": "ours", "sub/.git": "gitdir: y\n" },
    {
      ...base,
      b: "new",
      ".git/index": binary(3),
      ".git/refs/heads/main": "3",
      ".git/refs/heads/topic": "3",
      ".git/objects/aa/1": "changed",
      ".git/objects/aa/3": binary(3),
      ".git/objects/bb/3": binary(3),
      ".git/logs/HEAD": "theirs",
      "sub/.git": "gitdir: z\n",
    },
  );
  expect(conflicts).toEqual([]);
  const wanted = {
    ...base,
    a: "2",
    b: "new",
    ".git/index": binary(2),
    ".git/refs/heads/topic": "3",
    ".git/objects/aa/2": binary(2),
    ".git/objects/aa/3": binary(3),
    ".git/objects/bb/3": binary(3),
    ".git/logs/HEAD": "ours",
    "sub/.git": "gitdir: y\n",
  };
  expect(tree).toBe(await is(wanted));
});

test("a .git that one side alone changed is taken, and one that ours removed stays gone", async () => {
  const base = { a: "1", ".git/index": "1", ".git/objects/1": "1" };
  const changed = { ...base, ".git/index": "2" };
  const left = await merged(base, { ...base, a: "2" }, changed);
  expect([left.tree, left.conflicts]).toEqual([await left.is({ ...changed, a: "2" }), []]);
  const gone = await merged(base, { a: "1" }, changed);
  expect([gone.tree, gone.conflicts]).toEqual([gone.ours, []]);
  const both = await merged({}, { ".git/HEAD": "1", ".git/x": "1" }, { ".git/HEAD": "2", ".git/y": "2" });
  expect([both.tree, both.conflicts]).toEqual([await both.is({ ".git/HEAD": "1", ".git/x": "1", ".git/y": "2" }), []]);
});

describe("each kind of conflict holds ours and names what each side has", () => {
  const big = (size: number): Entry => ({ type: "withheld", why: "size", size });
  const cases: readonly (readonly [problem: string, base: TreeModel, ours: TreeModel, theirs: TreeModel, path: string])[] = [
    ["content", { f: "1\n" }, { f: "2\n" }, { f: "3\n" }, "f"],
    ["content", { f: linkTo("a") }, { f: linkTo("b") }, { f: linkTo("c") }, "f"],
    ["binary", { f: binary(1) }, { f: binary(2) }, { f: binary(3) }, "f"],
    ["binary", { f: "1\n" }, { f: "2\n" }, { f: Uint8Array.of(0xff) }, "f"],
    ["mode", { f: text(0o644) }, { f: text(0o755) }, { f: text(0o600) }, "f"],
    ["type", { f: "1" }, { f: "2" }, { f: linkTo("a") }, "f"],
    ["type", { f: "1" }, { f: { type: "fifo" } }, { f: linkTo("a") }, "f"],
    ["delete-edit", { f: "1" }, {}, { f: "2" }, "f"],
    ["delete-edit", { f: "1" }, { f: "2" }, {}, "f"],
    ["delete-edit", { "d/f": "1", "d/g": "2" }, {}, { "d/f": "2", "d/g": "2" }, "d/f"],
    ["delete-edit", { "d/f": "1" }, {}, { d: "file" }, "d"],
    ["directory-file", { f: "1" }, { f: "2" }, { "f/g": "3" }, "f"],
    ["directory-file", { "f/g": "1" }, { "f/g": "2" }, { f: "3" }, "f"],
    ["directory-file", {}, { "f/g": "2" }, { f: linkTo("a") }, "f"],
    ["add-add", {}, { f: "1\n" }, { f: "2\n" }, "f"],
    ["add-add", {}, { f: "1\n" }, { f: linkTo("a") }, "f"],
    ["add-add", { "f/g": "1" }, { f: "2" }, { f: "3" }, "f"],
    ["withheld", { f: big(1) }, { f: big(2) }, { f: big(3) }, "f"],
    ["withheld", { f: "1" }, { f: "2" }, { f: big(3) }, "f"],
    ["withheld", { f: big(1) }, { f: "1" }, { f: "2" }, "f"],
  ];
  test.each(cases)("%s: %j, %j, %j", async (problem, base, ours, theirs, path) => {
    const result = await merged(base, ours, theirs);
    expect(result.conflicts).toMatchObject([{ kind: "file", path, problem }]);
    // Beside the conflict, what one side changed has merged: of the case in a directory, "d/g" is gone.
    expect(result.tree).toBe(result.ours);
    expect(await result.settle("ours")).toBe(result.ours);
    expect(await result.settle("theirs")).toBe(path === "d/f" ? await result.is({ "d/f": "2" }) : result.theirs);
    const given = await result.settle({ content: "given" });
    const isLink = result.conflicts[0]?.entries.ours?.type === "link" && result.conflicts[0]?.entries.theirs?.type === "link";
    if (isLink) expect(await result.trees.entry(given, path)).toEqual(linkTo("given"));
    else expect(Buffer.from(await readFile(result.trees, given, path)).toString()).toBe("given");
  });
});

test("a conflict names contents by hash and can be stored", async () => {
  const { conflicts } = await merged({ f: "1\n" }, { f: "2\n" }, { f: linkTo("a") });
  expect(JSON.parse(JSON.stringify(conflicts))).toEqual(conflicts);
  expect(conflicts[0]).toMatchObject({ base: sha256("1\n"), ours: sha256("2\n"), theirs: sha256("a") });
  const { conflicts: deleted } = await merged({ f: "1\n" }, {}, { f: "3\n" });
  expect(deleted[0]).not.toHaveProperty("ours");
});

test("texts in conflict can be had with markers; other things cannot", async () => {
  const { trees, conflicts } = await merged(
    { a: "1\n2\n", c: binary(1) },
    { a: "1\nours\n", b: "ours\n", c: binary(2) },
    { a: "1\ntheirs\n", b: "theirs\n", c: binary(3) },
  );
  const texts = await Promise.all(conflicts.map((conflict) => conflictText(trees, conflict)));
  expect(texts).toEqual([
    "1\n<<<<<<< ours\nours\n||||||| base\n2\n=======\ntheirs\n>>>>>>> theirs\n",
    "<<<<<<< ours\nours\n||||||| base\n=======\ntheirs\n>>>>>>> theirs\n",
    undefined,
  ]);
});

test("where only permissions conflict, contents have merged and stay so", async () => {
  const base = { f: text(0o644, "1\n2\n3\n") };
  const { tree, conflicts, settle, is } = await merged(base, { f: text(0o755, "one\n2\n3\n") }, { f: text(0o600, "1\n2\nthree\n") });
  expect(conflicts).toMatchObject([{ problem: "mode" }]);
  expect(tree).toBe(await is({ f: text(0o755, "one\n2\nthree\n") }));
  expect(await settle("theirs")).toBe(await is({ f: text(0o600, "one\n2\nthree\n") }));
});

test("content that is given gets the permissions that one side changed", async () => {
  const { settle, is } = await merged({ f: text(0o644, "1") }, { f: text(0o644, "2") }, { f: text(0o755, "3") });
  expect(await settle({ content: "4" })).toBe(await is({ f: text(0o755, "4") }));
});

describe("directories", () => {
  test("one that a side removed goes with what was in it, and stays with what the other added", async () => {
    const gone = await merged({ "d/a": "1", "d/b": "2" }, {}, { "d/b": "2" });
    expect([gone.tree, gone.conflicts]).toEqual([emptyTree, []]);
    const kept = await merged({ "d/a": "1" }, {}, { "d/a": "1", "d/new": "2" });
    expect([kept.tree, kept.conflicts]).toEqual([await kept.is({ "d/new": "2" }), []]);
  });

  test("one that theirs removed goes when the conflict in it is settled so", async () => {
    const { conflicts, settle, theirs } = await merged({ "d/e/f": "1", g: "" }, { "d/e/f": "2", g: "" }, { g: "" });
    expect(conflicts).toMatchObject([{ path: "d/e/f", problem: "delete-edit" }]);
    expect(await settle("theirs")).toBe(theirs);
  });

  test("a file that both removed, one for a directory, is that directory", async () => {
    const { tree, conflicts, theirs } = await merged({ f: "1" }, {}, { "f/g": "2" });
    expect([tree, conflicts]).toEqual([theirs, []]);
  });

  test("empty ones come and go", async () => {
    const { tree, conflicts, is } = await merged({ e: emptyDirectory }, { f: emptyDirectory, e: emptyDirectory }, {});
    expect([tree, conflicts]).toEqual([await is({ f: emptyDirectory }), []]);
  });

  test("permissions merge, conflict, and are not lost with a removal", async () => {
    const of = (mode: number): TreeModel => ({ d: { ...emptyDirectory, mode } as Entry });
    expect((await merged(of(0o755), of(0o700), of(0o755))).conflicts).toEqual([]);
    const both = await merged(of(0o755), of(0o700), of(0o750));
    expect(both.conflicts).toMatchObject([{ path: "d", problem: "mode" }]);
    expect([both.tree, await both.settle("theirs")]).toEqual([both.ours, both.theirs]);
    for (const [ours, theirs] of [[of(0o700), {}] as const, [{}, of(0o700)] as const]) {
      const lost = await merged(of(0o755), ours, theirs);
      expect(lost.conflicts).toMatchObject([{ path: "d", problem: "delete-edit" }]);
      expect([lost.tree, await lost.settle("theirs")]).toEqual([lost.ours, lost.theirs]);
    }
  });
});

test("what one side alone changed is not read", async () => {
  const trees = new CountingTrees();
  const model: Record<string, string> = {};
  for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) model[`d${i}/e${j}/file`] = `${i} ${j}`;
  const base = await treeFrom(trees, model);
  const ours = await treeFrom(trees, { ...model, "d1/e1/file": "ours", "d2/e2/file": "ours" });
  const theirs = await treeFrom(trees, { ...model, "d3/e3/file": "theirs", "d2/e4/file": "theirs" });
  trees.reads.length = 0;
  expect((await mergeTrees(trees, base, ours, base)).tree).toBe(ours);
  expect(trees.reads).toHaveLength(0);
  expect((await mergeTrees(trees, base, ours, theirs)).conflicts).toEqual([]);
  // The root and d2, on three sides.
  expect(trees.reads).toHaveLength(6);
});

test("a large file that both changed is a conflict that was not read", async () => {
  const trees = new CountingTrees();
  const entry = async (fill: string) => trees.with(emptyTree, "f", { type: "file", mode: 0o644, size: 2 ** 40, hash: sha256(fill) });
  const { conflicts } = await mergeTrees(trees, await entry("1"), await entry("2"), await entry("3"));
  expect(conflicts).toMatchObject([{ path: "f", problem: "binary" }]);
});

test("names that some file systems take for one are reported, each directory by itself", async () => {
  const trees = new Trees(new ObjectMap());
  const tree = await treeFrom(trees, {
    README: "1",
    readme: "2",
    "a/x": "",
    "A/y": "",
    "caf\u00e9": "",
    "cafe\u0301": "",
    "b/readme": "",
    other: "",
  });
  expect(await caseCollisions(trees, tree)).toEqual([
    ["A", "a"],
    ["README", "readme"],
    ["cafe\u0301", "caf\u00e9"],
  ]);
  expect(await caseCollisions(trees, emptyTree)).toEqual([]);
});

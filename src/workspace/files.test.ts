/** Reading and writing the files of a tree. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CountingTrees, emptyDirectory, linkTo, someFiles, type TreeModel, treeFrom } from "../testing/tree-model.ts";
import { filesOf, listDirectory, readFile, removePath, writeFile } from "./files.ts";
import { compareNames } from "./name.ts";
import { ObjectMap } from "./objects.ts";
import { emptyTree, Trees } from "./tree.ts";

const code = (value: string) => expect.objectContaining({ code: value });
const bytes = (text: string) => Buffer.from(text);

async function made(model: TreeModel) {
  const trees = new Trees(new ObjectMap());
  const tree = await treeFrom(trees, model);
  return { trees, tree, files: filesOf(trees, tree, () => tree) };
}

async function all(list: AsyncIterable<string>): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of list) paths.push(path);
  return paths;
}

describe("the files of a session", () => {
  test("cost nothing until somebody asks", async () => {
    const trees = new CountingTrees();
    const tree = await treeFrom(trees, { "a/b": "x" });
    const files = filesOf(trees, tree, () => emptyTree);
    expect(files.hash).toBe(tree);
    expect(trees.reads).toHaveLength(0);
    await files.changes(files);
    expect(trees.reads).toHaveLength(0);
  });

  test("are listed in the order of paths, links and withheld files too, with a pattern those that match", async () => {
    const { files } = await made({
      "a/b.ts": "",
      "a.txt": "",
      "a/.hidden.ts": "",
      "c/d/e.ts": "",
      link: linkTo("a"),
      big: { type: "withheld", why: "size", size: 1 },
      pipe: { type: "fifo" },
      empty: emptyDirectory,
    });
    expect(await all(files.list())).toEqual(["a.txt", "a/.hidden.ts", "a/b.ts", "big", "c/d/e.ts", "link"]);
    expect(await all(files.list("**/*.ts"))).toEqual(["a/.hidden.ts", "a/b.ts", "c/d/e.ts"]);
    expect(await all(files.list("/workspace/a/*"))).toEqual(["a/.hidden.ts", "a/b.ts"]);
    expect(await all(files.list("./{a,c}/**"))).toEqual(["a/.hidden.ts", "a/b.ts", "c/d/e.ts"]);
    expect(await all(files.list("a/b.ts"))).toEqual(["a/b.ts"]);
    expect(await all(files.list("!**/*.ts"))).toEqual(["a.txt", "big", "link"]);
    expect(await all(files.list("!a/**"))).toEqual(["a.txt", "big", "c/d/e.ts", "link"]);
    expect(await all(files.list("../*"))).toEqual([]);
    expect(await all(files.list("nowhere/**"))).toEqual([]);
  });

  test("an escaped star is a star", async () => {
    const { files } = await made({ "s*r/file": "", "sur/file": "" });
    expect(await all(files.list("s\\*r/f*"))).toEqual(["s*r/file"]);
    expect(await all(files.list("s*r/f*"))).toEqual(["s*r/file", "sur/file"]);
  });

  test("a pattern with a beginning reads only what is below it", async () => {
    const trees = new CountingTrees();
    const tree = await treeFrom(trees, { "a/b/c.ts": "", "d/e/f.ts": "", "g/h": "" });
    trees.reads.length = 0;
    expect(await all(filesOf(trees, tree, () => tree).list("d/e/*.ts"))).toEqual(["d/e/f.ts"]);
    expect(trees.reads.length).toBeLessThanOrEqual(4);
    expect(trees.reads).not.toContain(((await trees.entry(tree, "a")) as { hash: string }).hash);
  });

  test("a pattern that would take hours is refused, as is one that is none", async () => {
    const { files } = await made({ ["a".repeat(250)]: "" });
    await expect(all(files.list("(a+)+b"))).rejects.toEqual(code("workspace.invalid"));
    await expect(all(files.list("*a*a*a*a*a*a*a*b"))).rejects.toThrow(/takes too long/);
    expect(await all(files.list("a*"))).toHaveLength(1);
    for (const pattern of ["", "./", `*${"a".repeat(70_000)}`])
      await expect(all(files.list(pattern))).rejects.toEqual(code("workspace.invalid"));
  });

  test("any files are listed in byte order", async () => {
    await fc.assert(
      fc.asyncProperty(someFiles, async (model) => {
        const { files, trees, tree } = await made(model);
        const expected: string[] = [];
        for await (const { path, entry } of trees.walk(tree)) if (entry.type !== "directory" && entry.type !== "fifo") expected.push(path);
        expect(await all(files.list())).toEqual(expected.sort(compareNames));
        expect(await all(files.list("**"))).toEqual(expected);
      }),
    );
  });

  test("are read through links; what cannot be read says why", async () => {
    const { files } = await made({
      "src/file": "text",
      link: linkTo("src/file"),
      latin: Uint8Array.of(0x61, 0xe9),
      big: { type: "withheld", why: "size", size: 5_000 },
      key: { type: "withheld", why: "secret", size: 5 },
      pipe: { type: "fifo" },
      host: linkTo("/etc/passwd"),
    });
    expect(await files.text("link")).toBe("text");
    expect(await files.read("latin")).toEqual(Uint8Array.of(0x61, 0xe9));
    expect(await files.text("latin")).toBe("a\ufffd");
    await expect(files.text("big")).rejects.toThrow('The content of "big" was not kept: it is too large (5000 bytes).');
    await expect(files.text("key")).rejects.toEqual(code("workspace.not-found"));
    await expect(files.read("src")).rejects.toEqual(code("workspace.invalid"));
    await expect(files.read("pipe")).rejects.toEqual(code("workspace.invalid"));
    await expect(files.read("host")).rejects.toEqual(code("sandbox.outside"));
    await expect(files.read("srk")).rejects.toEqual(code("workspace.not-found"));
  });

  test("are copies when they are read: who changes one changes no file", async () => {
    const { files } = await made({ a: "abc" });
    (await files.read("a")).fill(0);
    expect(await files.text("a")).toBe("abc");
  });

  test("differ from others by changes and as a patch", async () => {
    const { trees, files } = await made({ a: "1\n" });
    const later = filesOf(trees, await writeFile(trees, files.hash, "b", bytes("2\n")), () => files.hash);
    expect(await later.changes(files)).toEqual([{ path: "b", kind: "added", after: createHash("sha256").update("2\n").digest("hex") }]);
    expect(await later.patch(files)).toBe("diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+2\n");
    expect(await later.patch(later)).toBe("");
    expect([await later.changes(), await later.patch()]).toEqual([await later.changes(files), await later.patch(files)]);
  });
});

describe("writing", () => {
  test("makes directories, keeps permissions, and goes through links", async () => {
    const { trees, tree } = await made({ "bin/run": { text: "old", mode: 0o755 }, run: linkTo("bin/run"), new: linkTo("made/here") });
    let next = await writeFile(trees, tree, "run", bytes("new"));
    expect(await trees.entry(next, "run")).toEqual(linkTo("bin/run"));
    expect(await trees.entry(next, "bin/run")).toMatchObject({ mode: 0o755, size: 3 });
    next = await writeFile(trees, next, "/workspace/new", bytes("x"));
    expect(await trees.entry(next, "made/here")).toMatchObject({ type: "file", mode: 0o644 });
    expect(Buffer.from(await readFile(trees, next, "new")).toString()).toBe("x");
  });

  test("refuses a directory, what is below a file, what is outside, and names no disk takes", async () => {
    const { trees, tree } = await made({ "a/b": "x", out: linkTo("../x"), pipe: { type: "fifo" } });
    const write = (path: string) => writeFile(trees, tree, path, bytes(""));
    for (const path of ["a", "", "a/b/c", "pipe", "x".repeat(256), "é".repeat(128), "d/".repeat(2000)])
      await expect(write(path)).rejects.toEqual(code("workspace.invalid"));
    for (const path of ["out", "../x", "/etc/x"]) await expect(write(path)).rejects.toEqual(code("sandbox.outside"));
    await expect(write("é".repeat(127))).resolves.toBeTypeOf("string");
  });

  test("content that was not kept can be replaced", async () => {
    const { trees, tree } = await made({ big: { type: "withheld", why: "size", size: 9 } });
    expect(await trees.entry(await writeFile(trees, tree, "big", bytes("x")), "big")).toMatchObject({ type: "file", mode: 0o644, size: 1 });
  });
});

describe("removing", () => {
  test("takes a link and not what it points to, a directory with all in it, and nothing when nothing is there", async () => {
    const { trees, tree } = await made({ "a/b": "x", "a/c": "y", link: linkTo("a"), host: linkTo("/etc") });
    const left = async (path: string) => all(filesOf(trees, await removePath(trees, tree, path), () => tree).list());
    expect(await left("link")).toEqual(["a/b", "a/c", "host"]);
    expect(await left("link/b")).toEqual(["a/c", "host", "link"]);
    expect(await left("a")).toEqual(["host", "link"]);
    expect(await left("host")).toEqual(["a/b", "a/c", "link"]);
    expect(await removePath(trees, tree, "none/at/all")).toBe(tree);
    await expect(removePath(trees, tree, ".")).rejects.toEqual(code("workspace.invalid"));
    await expect(removePath(trees, tree, "host/passwd")).rejects.toEqual(code("sandbox.outside"));
  });
});

test("a directory is listed one level deep, under the path that was asked for", async () => {
  const { trees, tree } = await made({ "a/b": "x", "a/d/e": "y", link: linkTo("a") });
  const list = async (path: string) => (await listDirectory(trees, tree, path)).map(({ path: at, entry }) => `${at} ${entry.type}`);
  expect(await list("")).toEqual(["a directory", "link link"]);
  expect(await list("link")).toEqual(["link/b file", "link/d directory"]);
  expect(await listDirectory(trees, emptyTree, "/workspace")).toEqual([]);
  await expect(list("a/b")).rejects.toEqual(code("workspace.invalid"));
});

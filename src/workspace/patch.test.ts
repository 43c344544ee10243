/** Patches: by example, and applied by the real git to files on disk. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { emptyDirectory, linkTo, someFiles, type TreeModel, treeFrom } from "../testing/tree-model.ts";
import { bytesOf, nameOf } from "./name.ts";
import { ObjectMap } from "./objects.ts";
import { type PatchOptions, patchBetween } from "./patch.ts";
import { type Entry, Trees } from "./tree.ts";

async function patch(a: TreeModel, b: TreeModel, options?: PatchOptions): Promise<string> {
  const trees = new Trees(new ObjectMap());
  return patchBetween(trees, await treeFrom(trees, a), await treeFrom(trees, b), options);
}
const numbered = (count: number, change: (i: number) => string = String): string =>
  Array.from({ length: count }, (_, i) => `${change(i)}\n`).join("");

test("changes far apart are hunks of their own, near ones share their context", async () => {
  const text = await patch({ f: numbered(30) }, { f: numbered(30, (i) => (i === 5 || i === 10 || i === 25 ? `new ${i}` : `${i}`)) });
  expect(text.match(/@@.*@@/g)).toEqual(["@@ -3,12 +3,12 @@", "@@ -23,7 +23,7 @@"]);
  const near = (i: number): string => (i === 2 || i === 9 ? "new" : `${i}`);
  expect((await patch({ f: numbered(20) }, { f: numbered(20, near) })).match(/@@.*@@/g)).toEqual(["@@ -1,13 +1,13 @@"]);
  const tight = await patch({ f: numbered(9) }, { f: numbered(9, (i) => (i === 4 ? "x" : `${i}`)) }, { context: 0 });
  expect(tight).toBe("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -5 +5 @@\n-4\n+x\n");
});

test("a missing newline, permissions, links and binaries are said as git says them", async () => {
  expect(await patch({ f: "a" }, { f: "a\n" })).toContain("-a\n\\ No newline at end of file\n+a\n");
  expect(await patch({ f: "a" }, { f: { text: "a", mode: 0o755 } })).toBe("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
  expect(await patch({ f: linkTo("x") }, {})).toContain(
    "deleted file mode 120000\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline",
  );
  expect(await patch({ f: "a" }, { f: Uint8Array.of(0) })).toBe("diff --git a/f b/f\nBinary files a/f and b/f differ\n");
  expect(await patch({}, { f: Uint8Array.of(0xff) })).toBe(
    "diff --git a/f b/f\nnew file mode 100644\nBinary files /dev/null and b/f differ\n",
  );
});

test("odd names are quoted", async () => {
  expect(await patch({}, { 'é\n"\\\udcff': "" })).toContain('diff --git "a/\\303\\251\\n\\"\\\\\\377" "b/');
  expect(await patch({}, { "a b": "x\n" })).toContain("+++ b/a b\t\n");
});

test("what a patch cannot show is named", async () => {
  const big: Entry = { type: "withheld", why: "size", size: 7 };
  expect(await patch({}, { big, pipe: { type: "fifo" }, empty: emptyDirectory })).toBe(
    "# big: content was not kept (size, 7 bytes)\n# pipe: a fifo\n",
  );
  const text = await patch({}, { a: numbered(100), b: "small\n" }, { limit: 300 });
  expect(text).toContain("# a: added, too large to show here\n");
  expect(text).toContain("+small\n");
});

test("only the paths that were asked for", async () => {
  const text = await patch({}, { "a/b": "1\n", "a.c": "2\n", d: "3\n" }, { paths: ["/workspace/a", "d"] });
  expect(text.match(/^\+\+\+ .*/gm)).toEqual(["+++ b/a/b", "+++ b/d"]);
});

test("a text too different to compare is replaced as a whole", async () => {
  const shuffled = (step: number): string => numbered(20_011, (i) => `${(i * step) % 20_011}`);
  const text = await patch({ f: shuffled(1) }, { f: shuffled(7919) });
  expect(text).toContain("@@ -1,20011 +1,20011 @@\n-0\n");
});

const hasGit = spawnSync("git", ["--version"]).status === 0;
if (!hasGit) console.warn("skipped: patches applied by git, which is not installed");

describe.skipIf(!hasGit)("git apply", () => {
  const root = mkdtempSync(`${tmpdir()}/openrath-patch-`);
  afterAll(() => rmSync(root, { recursive: true }));
  let count = 0;

  async function applied(a: TreeModel, b: TreeModel): Promise<void> {
    const trees = new Trees(new ObjectMap());
    const [before, after] = [await treeFrom(trees, a), await treeFrom(trees, b)];
    const directory = `${root}/${count++}`;
    mkdirSync(directory);
    await materialise(trees, before, directory);
    const text = await patchBetween(trees, before, after);
    if (!text.includes("diff --git")) return;
    const { status, stderr } = spawnSync("git", ["apply", "--whitespace=nowarn", "-"], { cwd: directory, input: text, encoding: "utf8" });
    expect({ status, stderr, text: status === 0 ? "" : text }).toEqual({ status: 0, stderr: "", text: "" });
    expect(onDisk(Buffer.from(directory))).toEqual(await inTree(trees, after));
  }

  test("takes additions, removals, modes, links, types, empty files, odd names and line ends", async () => {
    await applied(
      {
        a: "1\n2\n3\n",
        gone: "x\n",
        "d/e": "old",
        run: "x",
        link: linkTo("a"),
        file: "f\n",
        hollow: "",
        "t/u": "v\n",
        crlf: "a\r\nb\r\nc",
      },
      {
        a: "1\nzwei\n3\n",
        "d/e": "new",
        run: { text: "x", mode: 0o755 },
        link: linkTo("d/e"),
        file: linkTo("a"),
        empty: "",
        t: "now a file\n",
        crlf: "a\r\nB\r\nc",
        'é "q" \\ \t': "odd\n",
        "a b/c d": "space\n",
        "\udcff": "bytes\n",
        "cr\ronly": "x\ry\n",
      },
    );
  });

  test("takes the patch between any files", async () => {
    // Git looks through a link that is to become a directory, and so refuses its own patches for that: `git diff` gives the same.
    const possible = (a: TreeModel, b: TreeModel): boolean =>
      !Object.entries(a).some(([path, spec]) => isLink(spec) && Object.keys(b).some((other) => other.startsWith(`${path}/`)));
    const pair = fc.tuple(someFiles.map(plain), someFiles.map(plain)).filter(([a, b]) => possible(a, b));
    await fc.assert(
      fc.asyncProperty(pair, ([a, b]) => applied(a, b)),
      { numRuns: 60 },
    );
  });
});

function isLink(spec: TreeModel[string]): boolean {
  return typeof spec === "object" && "type" in spec && spec.type === "link";
}

/** Without what git does not know. */
function plain(model: TreeModel): TreeModel {
  return Object.fromEntries(Object.entries(model).filter(([, spec]) => typeof spec === "string" || "text" in spec || isLink(spec)));
}

async function materialise(trees: Trees, tree: string, directory: string): Promise<void> {
  for await (const { path, entry } of trees.walk(tree)) {
    const at = bytesOf(`${directory}/${path}`);
    if (entry.type === "directory") mkdirSync(at);
    if (entry.type === "link") symlinkSync(bytesOf(entry.target), at);
    if (entry.type !== "file") continue;
    writeFileSync(at, await trees.objects.get(entry.hash));
    chmodSync(at, entry.mode);
  }
}

function onDisk(directory: Buffer, under = "", found: Record<string, string> = {}): Record<string, string> {
  for (const name of readdirSync(directory, { encoding: "buffer" })) {
    const at = Buffer.concat([directory, Buffer.from("/"), name]);
    const path = under + nameOf(name);
    const stat = lstatSync(at);
    if (stat.isDirectory()) onDisk(at, `${path}/`, found);
    else if (stat.isSymbolicLink()) found[path] = `-> ${readlinkSync(at)}`;
    else found[path] = `${stat.mode & 0o100 ? "x" : "-"} ${readFileSync(at, "utf8")}`;
  }
  return found;
}

async function inTree(trees: Trees, tree: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { path, entry } of trees.walk(tree)) {
    if (entry.type === "link") found[path] = `-> ${entry.target}`;
    if (entry.type === "file")
      found[path] = `${entry.mode & 0o100 ? "x" : "-"} ${Buffer.from(await trees.objects.get(entry.hash)).toString()}`;
  }
  return found;
}

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
  const named = { binary: "named" } as const;
  expect(await patch({ f: "a" }, { f: Uint8Array.of(0) }, named)).toBe("diff --git a/f b/f\nBinary files a/f and b/f differ\n");
  expect(await patch({}, { f: Uint8Array.of(0xff) }, named)).toBe(
    "diff --git a/f b/f\nnew file mode 100644\nBinary files /dev/null and b/f differ\n",
  );
});

test("a binary file is in it whole, forward and back, under the names that git gives its contents", async () => {
  // How a content is compressed differs between versions of zlib.
  const [none, id] = ["0".repeat(40), "8352675d67aed6625ece79af41c27fdb4ee2e867"];
  const [nothing, bytes] = ["literal 0\n[A-Z]\\S+\n\n", "literal 3\n[A-Z]\\S+\n\n"];
  expect(await patch({}, { f: Uint8Array.of(0, 1, 2) })).toMatch(
    new RegExp(`^diff --git a/f b/f\nnew file mode 100644\nindex ${none}\\.\\.${id}\nGIT binary patch\n${bytes}${nothing}$`),
  );
  expect(await patch({ f: Uint8Array.of(0, 1, 2) }, {})).toMatch(
    new RegExp(`^diff --git a/f b/f\ndeleted file mode 100644\nindex ${id}\\.\\.${none}\nGIT binary patch\n${nothing}${bytes}$`),
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
  const noise = Uint8Array.from({ length: 400 }, (_, i) => (i * i * 7919) % 251);
  expect(await patch({ gone: noise }, { noise: Buffer.concat([noise, noise]) }, { limit: 300 })).toBe(
    "# gone: removed, too large to show here\n# noise: added, too large to show here\n",
  );
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

  async function applied(a: TreeModel, b: TreeModel, back = false): Promise<void> {
    const trees = new Trees(new ObjectMap());
    const [before, after] = [await treeFrom(trees, a), await treeFrom(trees, b)];
    const directory = `${root}/${count++}`;
    mkdirSync(directory);
    await materialise(trees, before, directory);
    const text = await patchBetween(trees, before, after);
    if (!text.includes("diff --git")) return;
    const git = (...options: readonly string[]): void => {
      const given = { cwd: directory, input: text, encoding: "utf8" } as const;
      const { status, stderr } = spawnSync("git", ["apply", "--whitespace=nowarn", ...options, "-"], given);
      expect({ status, stderr, text: status === 0 ? "" : text }).toEqual({ status: 0, stderr: "", text: "" });
    };
    git();
    expect(onDisk(Buffer.from(directory))).toEqual(await inTree(trees, after));
    if (!back) return;
    git("--reverse");
    expect(onDisk(Buffer.from(directory))).toEqual(await inTree(trees, before));
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

  test("takes binary files that change, come, go, become text, links or executable, and gives them back", async () => {
    const noise = Uint8Array.from({ length: 5000 }, (_, i) => (i * i * 7919) % 251);
    const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");
    await applied(
      { a: "a\n", changed: bytes("\0one"), gone: noise, text: bytes("\xff"), linked: bytes("\0"), "é \udcff": bytes("\0x"), z: "z\n" },
      { a: "b\n", changed: noise, new: bytes("\0new"), text: "text\n", linked: linkTo("a"), "é \udcff": bytes("\0y"), z: bytes("\0") },
      true,
    );
    await applied({ f: { text: "\0one", mode: 0o644 } }, { f: { text: "\0two", mode: 0o755 } }, true);
    await applied({ a: linkTo("\udcff"), b: "" }, { a: linkTo("\udcfe"), b: bytes("\0") }, true);
  });

  test("takes the patch between any bytes", async () => {
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 130 }), fc.uint8Array({ minLength: 60, maxLength: 2000 }));
    const files = fc.dictionary(fc.constantFrom("a", "b", "c d"), bytes, { maxKeys: 3 });
    await fc.assert(
      fc.asyncProperty(files, files, (a, b) => applied(a, b, true)),
      { numRuns: 40 },
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
    else if (stat.isSymbolicLink()) found[path] = `-> ${nameOf(readlinkSync(at, { encoding: "buffer" }))}`;
    else found[path] = `${stat.mode & 0o100 ? "x" : "-"} ${readFileSync(at, "latin1")}`;
  }
  return found;
}

async function inTree(trees: Trees, tree: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { path, entry } of trees.walk(tree)) {
    if (entry.type === "link") found[path] = `-> ${entry.target}`;
    if (entry.type === "file")
      found[path] = `${entry.mode & 0o100 ? "x" : "-"} ${Buffer.from(await trees.objects.get(entry.hash)).toString("latin1")}`;
  }
  return found;
}

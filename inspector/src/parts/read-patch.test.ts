import { describe, expect, it } from "vitest";
import { firstChanges, readPatch } from "./read-patch.ts";

const changed = `diff --git a/slug.js b/slug.js
--- a/slug.js
+++ b/slug.js
@@ -1,2 +1,3 @@
 one
-two
+zwei
+drei
`;

describe("patches", () => {
  it("are read file by file, with what they add and remove", () => {
    const added = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n";
    expect(readPatch(changed + added, undefined)).toMatchObject([
      { place: 0, path: "slug.js", type: "modify", added: 2, removed: 1 },
      { place: 1, path: "new.txt", type: "add", added: 1, removed: 0 },
    ]);
  });

  it("need no header when the path is known", () => {
    expect(readPatch("@@ -1 +1 @@\n-a\n+b\n", "src/x.ts")).toMatchObject([{ path: "src/x.ts", added: 1, removed: 1 }]);
  });

  it("that are no patches are not read", () => {
    expect(readPatch("Hello <script>", undefined)).toBeUndefined();
    expect(readPatch("", undefined)).toBeUndefined();
  });

  it("show control characters and cut lines that have no end", () => {
    const [file] = readPatch(`@@ -1 +1 @@\n-a\u202e\u001b[31m\n+${"y".repeat(5001)}\n`, "x") ?? [];
    const lines = file?.hunks[0]?.changes.map(({ content }) => content) ?? [];
    expect(lines[0]).toBe("a\\u202e\\x1b[31m");
    expect(lines[1]).toBe("y".repeat(1000));
    expect([...(file?.parts ?? [])]).toEqual([["I1", { from: 1, to: 1000, of: 5001 }]]);
  });

  it("of long lines show the same part of both, around the first difference, and nothing in them is ours", () => {
    const same = "abcdefgh".repeat(20_000);
    const both = (before: string, after: string) => {
      const [file] = readPatch(`@@ -1 +1 @@\n-${before}\n+${after}\n`, "minified.js") ?? [];
      return { lines: file?.hunks[0]?.changes.map(({ content }) => content), parts: Object.fromEntries(file?.parts ?? []) };
    };
    expect(both(same, `${same};`)).toEqual({
      lines: [same.slice(-999), `${same.slice(-999)};`],
      parts: { D1: { from: 159_002, to: 160_000, of: 160_000 }, I1: { from: 159_002, to: 160_001, of: 160_001 } },
    });
    const { lines, parts } = both(`${same}1${same}`, `${same}22${same}`);
    expect(lines?.map((line) => line.slice(199, 203))).toEqual(["h1ab", "h22a"]);
    expect(lines?.map((line) => line.length)).toEqual([1000, 1000]);
    expect(parts["I1"]).toEqual({ from: 159_801, to: 160_800, of: 320_002 });
  });

  it("are drawn a part at a time", () => {
    const [file] = readPatch(changed, undefined) ?? [];
    expect(firstChanges(file?.hunks ?? [], 2).map(({ changes }) => changes.length)).toEqual([2]);
    expect(firstChanges(file?.hunks ?? [], 99)[0]).toBe(file?.hunks[0]);
  });
});

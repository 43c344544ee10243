import { describe, expect, test } from "vitest";
import { bench } from "../../../test/support/tool-context.ts";
import { listFiles, readFile, searchFiles, writeFile } from "./tools.ts";

const numbered = (count: number, end = "\n"): string => Array.from({ length: count }, (_, n) => `line ${n + 1}${end}`).join("");

describe("read_file", () => {
  test("gives a file that fits exactly as it is", async () => {
    const files = { "a.txt": "one\r\n\ttwo\n\n", "b.txt": "no end", "c.txt": numbered(400), "bom.txt": "\ufeffx" };
    const { call } = await bench(files);
    for (const [path, content] of Object.entries(files)) expect(await call(readFile, { path })).toBe(content);
  });

  test("gives a window of a longer one, and says how to read on", async () => {
    const { call } = await bench({ "long.txt": numbered(1000, "\r\n") });
    const first = await call(readFile, { path: "long.txt" });
    expect(first.startsWith("line 1\nline 2\n")).toBe(true);
    expect(first.endsWith("\nline 400\n[lines 1 to 400 of 1000; read on with from: 401]")).toBe(true);
    expect(await call(readFile, { path: "long.txt", from: 999 })).toBe("line 999\nline 1000\n[lines 999 to 1000 of 1000]");
    expect(await call(readFile, { path: "long.txt", from: 2, lines: 1 })).toBe("line 2\n[lines 2 to 2 of 1000; read on with from: 3]");
    await expect(call(readFile, { path: "long.txt", from: 1001 })).rejects.toThrow("long.txt has 1000 lines: there is no line 1001.");
    expect(await call(readFile, { path: "long.txt", lines: 1000 })).toBe(numbered(1000, "\r\n"));
  });

  test("never gives more than a model is shown, however long the lines are", async () => {
    const { call } = await bench({ "wide.txt": `${"x".repeat(1000)}\n`.repeat(100), "one.txt": `${"😀".repeat(60_000)}\nlast` });
    const wide = await call(readFile, { path: "wide.txt" });
    expect(wide.length).toBeLessThan(50_000);
    expect(wide).toMatch(/\n\[lines 1 to 47 of 100; read on with from: 48\]$/);
    const one = await call(readFile, { path: "one.txt" });
    expect(one.length).toBeLessThan(50_000);
    expect(one).toMatch(/\n\[the first 48000 of 120000 characters of line 1 of 2; read on with from: 2\]$/);
  });

  test("says that a file is binary, or empty", async () => {
    const { call } = await bench({
      "a.png": Uint8Array.from([137, 80, 78, 71, 0, 1]),
      "latin.txt": Uint8Array.from([0x66, 0xfc, 0x72]),
      empty: "",
    });
    expect(await call(readFile, { path: "a.png" })).toBe("[a.png is a binary file of 6 bytes]");
    expect(await call(readFile, { path: "latin.txt" })).toBe("[latin.txt is a binary file of 3 bytes]");
    expect(await call(readFile, { path: "empty" })).toBe("[the file is empty]");
  });

  test("of what is not there says what is", async () => {
    const { call } = await bench({ "src/index.ts": "x", "src/main.ts": "x" });
    await expect(call(readFile, { path: "src/indx.ts" })).rejects.toThrow(
      'There is no file "src/indx.ts". Its directory has: src/index.ts, src/main.ts.',
    );
    await expect(call(readFile, { path: "lib/a.ts" })).rejects.toThrow(/nothing at "lib\/a.ts"/);
    await expect(call(readFile, { path: "src" })).rejects.toThrow(/directory/);
    await expect(call(readFile, { path: "../x" })).rejects.toMatchObject({ code: "sandbox.outside" });
    await expect(call(readFile, { path: "a", from: 0 })).rejects.toThrow(/invalid/);
  });
});

describe("write_file", () => {
  test("says whether it created or replaced a file, and how much is in it", async () => {
    const { call, text } = await bench();
    expect(await call(writeFile, { path: "a/b.txt", content: "ü\n" })).toBe("Created a/b.txt: 1 line, 3 bytes.");
    expect(await call(writeFile, { path: "/workspace/a/./b.txt", content: "1\n2" })).toBe(
      "Replaced /workspace/a/./b.txt: 2 lines, 3 bytes.",
    );
    expect(await text("a/b.txt")).toBe("1\n2");
    expect(await call(writeFile, { path: "e", content: "" })).toBe("Created e: 0 lines, 0 bytes.");
  });
});

describe("list_files", () => {
  test("lists two levels, in order, and does not enter what is large and seldom meant", async () => {
    const { call, sandbox } = await bench({ "b/c/d.txt": "", "a.txt": "", "b/e.txt": "", "node_modules/x/y.js": "", ".git/HEAD": "" });
    await sandbox.exec("ln -s a.txt link");
    expect(await call(listFiles, {})).toEqual([".git/", "a.txt", "b/", "b/c/", "b/e.txt", "link -> a.txt", "node_modules/"]);
    expect(await call(listFiles, { depth: 1 })).toEqual([".git/", "a.txt", "b/", "link -> a.txt", "node_modules/"]);
    expect(await call(listFiles, { path: "b", depth: 3 })).toEqual(["b/c/", "b/c/d.txt", "b/e.txt"]);
    expect(await call(listFiles, { path: "node_modules/x" })).toEqual(["node_modules/x/y.js"]);
    await expect(call(listFiles, { path: "nowhere" })).rejects.toThrow(/nothing at "nowhere"/);
  });

  test("stops at five hundred and says where there is more", async () => {
    const files = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`d${n % 3}/${String(n).padStart(3, "0")}.txt`, ""]));
    const { call } = await bench(files);
    const listed = await call(listFiles, {});
    expect(listed).toHaveLength(501);
    expect(listed.at(-1)).toBe("[these are the first 500; left out is what is in d2/: list them by path]");
    expect(await call(listFiles, { path: "d2" })).toHaveLength(200);
  });
});

describe("search_files", () => {
  test("gives lines with their places", async () => {
    const { call } = await bench({
      "a.ts": "const a = 1;\nlet b;\r\n",
      "src/b.ts": "let c = a;",
      "src/b.md": "let it be",
      bin: Uint8Array.from([0, 108, 101, 116]),
    });
    expect(await call(searchFiles, { pattern: "^let \\w" })).toEqual(["a.ts:2: let b;", "src/b.md:1: let it be", "src/b.ts:1: let c = a;"]);
    expect(await call(searchFiles, { pattern: "let", glob: "*.ts" })).toEqual(["a.ts:2: let b;", "src/b.ts:1: let c = a;"]);
    expect(await call(searchFiles, { pattern: "let", glob: "src/**/*.ts" })).toEqual(["src/b.ts:1: let c = a;"]);
    expect(await call(searchFiles, { pattern: "(?i)CONST", path: "a.ts" })).toEqual(["a.ts:1: const a = 1;"]);
    expect(await call(searchFiles, { pattern: "b;$", path: "." })).toEqual(["a.ts:2: let b;"]);
    expect(await call(searchFiles, { pattern: "nothing like it" })).toEqual([]);
    await expect(call(searchFiles, { pattern: "(" })).rejects.toThrow(/no regular expression.*escape/);
    await expect(call(searchFiles, { pattern: "a", path: "nowhere" })).rejects.toThrow(/nothing at "nowhere"/);
  });

  test("stops at two hundred and says so; long lines are cut around the match", async () => {
    const { call } = await bench({
      "a.txt": numbered(150),
      "b.txt": numbered(150),
      "c.txt": numbered(1),
      "wide.txt": `${"x".repeat(5000)}needle${"y".repeat(5000)}`,
    });
    const found = await call(searchFiles, { pattern: "line" });
    expect(found).toHaveLength(201);
    expect(found.at(-1)).toBe("[these are the first 200; files from b.txt on may have more: use a narrower pattern, path or glob]");
    const [wide = ""] = await call(searchFiles, { pattern: "needle" });
    expect(wide).toMatch(/^wide\.txt:1: …x+needley+…$/);
    expect(wide.length).toBeLessThan(330);
    expect(await call(searchFiles, { pattern: "line 1$", path: "a.txt" })).toEqual(["a.txt:1: line 1"]);
  });

  test.each(["(a+)+$", "(a|a)*$", "^(a?){30}a{30}$", "(.*a){20}$"])("is not held up by %s", async (pattern) => {
    const { call } = await bench({ "evil.txt": `${"a".repeat(40)}!\n`.repeat(3), "after.txt": "a" });
    const began = performance.now();
    const found = await call(searchFiles, { pattern });
    expect(performance.now() - began).toBeLessThan(5000);
    if (found.length > 1) expect(found.at(-1)).toMatch(/ran out of time in evil\.txt/);
  });

  test("is not held up by a glob, and says so of one that is none", async () => {
    const { call } = await bench({ ["a".repeat(40)]: "x" });
    const began = performance.now();
    await expect(call(searchFiles, { pattern: "x", glob: `${"*a".repeat(13)}*b` })).rejects.toThrow(
      /takes too long to match: use fewer stars/,
    );
    expect(performance.now() - began).toBeLessThan(5000);
    await expect(call(searchFiles, { pattern: "x", glob: "" })).rejects.toThrow(/glob is no pattern .*: give one like/);
  });

  test("does not enter .git and node_modules, and leaves when it is told to", async () => {
    const { call } = await bench({ ".git/x": "a", "node_modules/y": "a", "src/node_modules/z": "a", ".env": "a" });
    expect(await call(searchFiles, { pattern: "a" })).toEqual([".env:1: a"]);
    const stopped = await bench({ x: "a" }, { signal: AbortSignal.abort(new Error("told to stop")) });
    await expect(stopped.call(searchFiles, { pattern: "a" })).rejects.toThrow("told to stop");
  });
});

import { describe, expect, test } from "vitest";
import { bench } from "../../../test/support/tool-context.ts";
import { editFile } from "./tools.ts";

const code = "function add(a, b) {\n  return a - b;\n}\n\nfunction sub(a, b) {\n  return a - b;\n}\n";

describe("edit_file", () => {
  test("replaces what is there once and gives the changed lines with those around", async () => {
    const { call, text } = await bench({ "a.js": code });
    expect(
      await call(editFile, { path: "a.js", find: "add(a, b) {\n  return a - b;", replace: "add(a, b) {\n  // sum\n  return a + b;" }),
    ).toBe(
      [
        "Changed 1 place in a.js. It now reads:",
        "1: function add(a, b) {",
        "2:   // sum",
        "3:   return a + b;",
        "4: }",
        "5: ",
        "6: function sub(a, b) {",
      ].join("\n"),
    );
    expect(await text("a.js")).toBe(code.replace("{\n  return a - b", "{\n  // sum\n  return a + b"));
  });

  test("refuses what is there several times with its lines, unless all are meant", async () => {
    const { call, text } = await bench({ "a.js": code, "b.txt": "aaa", "c.txt": "x\n".repeat(50) });
    await expect(call(editFile, { path: "a.js", find: "return a - b;", replace: "return 0;" })).rejects.toThrow(
      "find is in a.js 2 times, at lines 2, 6: give more of the text around the right one, or all: true.",
    );
    expect(await text("a.js")).toBe(code);
    expect(await call(editFile, { path: "a.js", find: "return a - b;", replace: "return 0;", all: true })).toMatch(
      /^Changed 2 places in a\.js\./,
    );
    expect(await text("a.js")).toBe(code.replaceAll("return a - b", "return 0"));
    await expect(call(editFile, { path: "b.txt", find: "aa", replace: "b" })).rejects.toThrow(/2 times, at lines 1:/);
    await call(editFile, { path: "b.txt", find: "aa", replace: "b", all: true });
    expect(await text("b.txt")).toBe("ba");
    await expect(call(editFile, { path: "c.txt", find: "x", replace: "y" })).rejects.toThrow(/more than 20 times/);
    expect(await call(editFile, { path: "c.txt", find: "x", replace: "y", all: true })).toMatch(/\[and 45 more places\]$/);
  });

  test("shows what is nearest to a text that is not there", async () => {
    const { call } = await bench({ "a.js": code });
    await expect(call(editFile, { path: "a.js", find: "function sub(a,b) {\n\treturn a - b;\n}", replace: "" })).rejects.toThrow(
      "find is not in a.js. The same text with other white space is here:\n5: function sub(a, b) {\n6:   return a - b;\n7: }",
    );
    await expect(call(editFile, { path: "a.js", find: "return a * b;", replace: "" })).rejects.toThrow(
      /The nearest lines are:\n2: {3}return a - b;/,
    );
    await expect(call(editFile, { path: "a.js", find: "zzz qqq", replace: "" })).rejects.toThrow(
      "find is not in a.js. Nothing in it is like that: read the file first.",
    );
  });

  test.each([
    ["two\nthree", "2\n3", "one\r\n2\r\n3\r\n"],
    ["two\r\nthree", "2\n3", "one\r\n2\r\n3\r\n"],
    ["two", "2\n2", "one\r\n2\r\n2\r\nthree\r\n"],
    ["two", "2\r\n2", "one\r\n2\r\n2\r\nthree\r\n"],
  ])("keeps CRLF: %j to %j", async (find, replace, expected) => {
    const { call, text } = await bench({ "a.txt": "one\r\ntwo\r\nthree\r\n" });
    await call(editFile, { path: "a.txt", find, replace });
    expect(await text("a.txt")).toBe(expected);
  });

  test("keeps LF, a missing end of line, a byte order mark and mixed ends", async () => {
    const { call, text } = await bench({ lf: "a\nb", bom: "\ufeffa\n", mixed: "a\r\nb\nc\n" });
    await call(editFile, { path: "lf", find: "a\r\nb", replace: "c\r\nd" });
    await call(editFile, { path: "bom", find: "a", replace: "b" });
    await call(editFile, { path: "mixed", find: "b\nc", replace: "x\ny" });
    expect([await text("lf"), await text("bom"), await text("mixed")]).toEqual(["c\nd", "\ufeffb\n", "a\r\nx\ny\n"]);
  });

  test("takes the replacement as it is, and may take a text away", async () => {
    const { call, text } = await bench({ a: "x = OLD;\n" });
    await call(editFile, { path: "a", find: "OLD", replace: "$& $1 $$ \\n" });
    expect(await text("a")).toBe("x = $& $1 $$ \\n;\n");
    await call(editFile, { path: "a", find: "x = $& $1 $$ \\n;\n", replace: "" });
    expect(await text("a")).toBe("");
  });

  test("refuses what changes nothing, what is no text and what is not there", async () => {
    const { call, text } = await bench({ a: "x", latin: Uint8Array.from([0x66, 0xfc, 0x72]) });
    await expect(call(editFile, { path: "a", find: "x", replace: "x" })).rejects.toThrow(/nothing would change/);
    await expect(call(editFile, { path: "a", find: "", replace: "x" })).rejects.toThrow(/invalid/);
    await expect(call(editFile, { path: "latin", find: "f", replace: "x" })).rejects.toThrow("latin is no UTF-8 text");
    await expect(call(editFile, { path: "b", find: "f", replace: "x" })).rejects.toThrow(
      'There is no file "b". Its directory has: a, latin.',
    );
    expect(await text("a")).toBe("x");
  });

  test("looks for a long time in no file", async () => {
    const { call } = await bench({ big: "some line of text that is not it\n".repeat(100_000), same: "a".repeat(500_000) });
    const began = performance.now();
    await expect(call(editFile, { path: "big", find: "another line\n".repeat(200), replace: "" })).rejects.toThrow(/find is not in big/);
    await expect(call(editFile, { path: "same", find: "a".repeat(1000), replace: "" })).rejects.toThrow(/more than 20 times/);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

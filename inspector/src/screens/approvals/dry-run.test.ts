import { describe, expect, test } from "vitest";
import { changeBetween, dryRun, fileCallOf } from "./dry-run.ts";

const edit = (find: string, replace: string, all = false) => ({ tool: "edit_file", path: "a.txt", find, replace, all }) as const;
const marks = (lines: readonly { readonly kind: string; readonly text: string }[]) =>
  lines.map(({ kind, text }) => `${kind === "same" ? " " : kind === "added" ? "+" : "-"}${text}`);

describe("what a call would change", () => {
  test("is told for the tools that are known, and what they were given fits", () => {
    expect(fileCallOf("edit_file", { path: "a", find: "x", replace: "y" })).toMatchObject({ tool: "edit_file", all: false });
    expect(fileCallOf("write_file", { path: "a", content: "" })).toMatchObject({ tool: "write_file" });
    for (const [tool, input] of [
      ["write_file", { path: "", content: "" }],
      ["write_file", null],
      ["edit_file", { path: "a", find: 1, replace: "" }],
      ["shell", { command: "rm a" }],
    ] as const)
      expect(fileCallOf(tool, input)).toBeUndefined();
  });

  test("is a replaced text with the lines around it", () => {
    const found = dryRun(edit("three", "3"), "one\ntwo\nthree\nfour\n");
    expect("lines" in found && marks(found.lines)).toEqual([" one", " two", "-three", "+3", " four"]);
  });

  test("takes a replacement as it stands, whatever signs are in it", () => {
    const found = dryRun(edit("a", "$&$1"), "a\n");
    expect("lines" in found && marks(found.lines)).toEqual(["-a", "+$&$1"]);
  });

  test("says why it would fail", () => {
    expect(dryRun(edit("x", "y"), undefined)).toHaveProperty("problem");
    expect(dryRun(edit("x", "y"), "a")).toHaveProperty("problem");
    expect(dryRun(edit("a", "y"), "a a")).toMatchObject({ problem: expect.stringContaining("2 times") });
    expect(dryRun(edit("a", "y", true), "a a")).toHaveProperty("lines");
  });

  test("finds text over line ends of the other sort", () => {
    const found = dryRun(edit("one\ntwo", "1\n2"), "one\r\ntwo\r\n");
    expect("lines" in found && marks(found.lines)).toEqual(["-one", "-two", "+1", "+2"]);
  });

  test("is a new file where there was none, and nothing where nothing changes", () => {
    expect(dryRun({ tool: "write_file", path: "b", content: "x\n" }, undefined)).toMatchObject({ isNew: true, lines: [{ kind: "added" }] });
    expect(changeBetween("a\nb\n", "a\nb\n").lines).toEqual([]);
  });

  test("is cut where it is long: lines, and what is in them", () => {
    const { lines, cut } = changeBetween("", `${"x".repeat(10_000)}\n`.repeat(1000));
    expect([lines.length, cut, lines[0]?.text.length]).toEqual([300, 700, 400]);
  });
});

import { describe, expect, test } from "vitest";
import { tool } from "../tool.ts";
import { fileResource, workspacePath } from "../workspace-path.ts";
import { coding, editFile, listFiles, readFile, runCode, searchFiles, shell, writeFile } from "./tools.ts";

describe("the built-in tools", () => {
  test("are what models read of them", () => {
    expect(Object.fromEntries(coding.map(({ name, description }) => [name, description]))).toMatchInlineSnapshot(`
      {
        "edit_file": "Replaces a text in a file of the workspace and returns the changed lines. find must be exactly what is in the file, with its spaces and line breaks, and must be there once: give more lines around it if it is not, or all: true to replace it everywhere.",
        "list_files": "Lists the files of the workspace below a directory, 2 levels deep unless depth says otherwise. Directories end in "/". At most 500 are listed, and .git and node_modules are not entered; a note in brackets says what was left out.",
        "read_file": "Reads a text file of the workspace. The text is returned as it is, without line numbers. A long file is returned in part (400 lines unless lines says otherwise); a note in brackets at the end then says which lines these are and how to read on.",
        "run_code": "Runs a program (javascript, python, bash) in the root of the workspace and returns stdout, stderr and the exit code. Print what you want to see. The code itself is not saved. It is stopped after 120 seconds unless timeout says otherwise.",
        "search_files": "Searches the text files of the workspace for lines that match a regular expression (JavaScript syntax; begin with (?i) to ignore case) and returns them as path:line: text. At most 200 are returned; binary files, .git and node_modules are not searched; notes in brackets say what was left out.",
        "shell": "Runs a command in a shell, in the root of the workspace, and returns stdout, stderr and the exit code. Each command starts anew: cd and variables do not carry over. Long output is shortened in the middle. A command is stopped after 120 seconds unless timeout says otherwise. With background: true it goes on after the call (a server, a watcher), can read the files but not change them, and you get the id of its process; give { process: id } to read what it wrote since, with stop: true to end it.",
        "write_file": "Writes a text file of the workspace: creates it, with the directories above it, or replaces all that was in it. To change a part of a file use edit_file.",
      }
    `);
  });

  test("declare what they write, and leave it to the placement whether they may be repeated", () => {
    expect(coding.map((tool) => [tool.name, tool["~tool"].writes, tool.repeat, tool["~tool"].repeatByPlacement])).toEqual([
      ["shell", "files", "once", true],
      ["read_file", "nothing", "safe", undefined],
      ["write_file", "files", "once", true],
      ["edit_file", "files", "once", true],
      ["list_files", "nothing", "safe", undefined],
      ["search_files", "nothing", "safe", undefined],
      ["run_code", "files", "once", true],
    ]);
  });

  test("of anybody that write files and say how they are repeated do not leave it to the placement", () => {
    const made = (more: object) =>
      tool({ name: "t", description: "d", input: { type: "object" }, run: () => 1, ...more })["~tool"].repeatByPlacement;
    expect([made({ writes: "files" }), made({ writes: "files", repeat: "once" }), made({ writes: "world" }), made({})]).toEqual([
      true,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("name the file they touch however it is written; a command touches every file", () => {
    const resource = (tool: (typeof coding)[number], input: object) => tool["~tool"].resource?.(input as never);
    for (const path of ["a/b", "a/./b", "a//b", "./a/b/", "/workspace/a/b", "//workspace/./a/b", "x/../a/b"])
      for (const tool of [readFile, writeFile, editFile]) expect(resource(tool, { path })).toBe("file:a/b");
    expect([resource(shell, { command: "ls" }), resource(runCode, {}), resource(listFiles, {}), resource(searchFiles, {})]).toEqual([
      "*",
      "*",
      undefined,
      undefined,
    ]);
  });

  test("take no fields that they do not know", async () => {
    for (const tool of coding)
      expect(
        await tool["~tool"].validate({ path: "a", content: "", find: "a", replace: "b", pattern: "a", language: "bash", code: "", cmd: 1 }),
      ).toHaveProperty("problems");
  });
});

describe("paths by their letters", () => {
  test("stay in the workspace or are none", () => {
    expect([".", "", "/workspace", "/workspace/", "a/.."].map((path) => workspacePath(path))).toEqual([".", ".", ".", ".", "."]);
    expect(["..", "a/../..", "/", "/etc", "/workspaces", "/workspace/../etc"].map((path) => workspacePath(path))).toEqual(
      Array(6).fill(undefined),
    );
    expect([workspacePath("b", "a"), workspacePath("../b", "a"), workspacePath("../../b", "a")]).toEqual(["a/b", "b", undefined]);
    expect(fileResource("../x")).toBe("file:../x");
  });
});

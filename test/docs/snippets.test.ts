/**
 * The code in the documentation runs. Each file of docs/snippets is executed in an empty folder, and what it prints is what its
 * `// → …` comments say, in their order; `…` inside such a comment stands for text that differs each time, as ids do.
 * A snippet named x.test.ts holds tests of its own: vitest runs it by itself.
 */
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { filesUnder } from "./files-under.ts";

const docs = fileURLToPath(new URL("../../docs/", import.meta.url));
const snippets = await Promise.all(
  (await filesUnder(join(docs, "snippets"), ".ts")).map(async (path) => ({
    path,
    text: await readFile(join(docs, "snippets", path), "utf8"),
  })),
);

/** What a snippet says that it prints. */
function promised(text: string): readonly string[] {
  return [...text.matchAll(/\/\/ →(.*)$/gm)].map(([, line = ""]) => line.trim());
}

function fits(printed: string, said: string): boolean {
  const literal = said.split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`).test(printed);
}

describe("each snippet prints what it says", () => {
  const home = process.cwd();
  const environment = { ...process.env };
  let folder: string;
  const printed: string[] = [];

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "openrath-snippet-")));
    process.chdir(folder);
    process.env["OPENRATH_HOME"] = join(folder, ".openrath");
    delete process.env["OPENRATH_STORE"];
    printed.length = 0;
    vi.spyOn(console, "log").mockImplementation((...values) => void printed.push(...format(...values).split("\n")));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    process.chdir(home);
    process.env = { ...environment };
    await rm(folder, { recursive: true, force: true });
  });

  test.each(snippets.filter(({ path }) => !path.endsWith(".test.ts")))("$path", async ({ path, text }) => {
    await import(join(docs, "snippets", path));
    const said = promised(text);
    const lines = printed.map((line) => line.trim());
    const same = lines.length === said.length && lines.every((line, index) => fits(line, said[index] ?? ""));
    expect(same ? said : lines).toEqual(said);
  });

  test("a snippet prints something, has tests, or is there for another one", () => {
    const idle = snippets.filter(({ path, text }) => {
      const used = snippets.some((other) => other.path !== path && other.text.includes(`/${path}"`));
      return promised(text).length === 0 && !path.endsWith(".test.ts") && !used;
    });
    expect(idle.map(({ path }) => path)).toEqual([]);
  });
});

describe("pages show files that run", async () => {
  const pages = await Promise.all(
    (await filesUnder(docs, ".md")).map(async (path) => ({ path, text: await readFile(join(docs, path), "utf8") })),
  );
  const includes = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/^\s*<<< (?:@\/|(?:\.\.?\/)+)snippets\/([^\s#{[]+)(?:#([\w-]+))?/gm)].map(([, file = "", region]) => ({
      path,
      file,
      region,
    })),
  );

  // What a guide shows of somebody else's package cannot be a snippet: it is not installed here.
  test("no TypeScript is typed in by hand", () => {
    const byHand = pages.filter(({ text }) => /^\s*```(ts|tsx|typescript|js|javascript)\b(?! \[LangGraph\])/m.test(text));
    expect(byHand.map(({ path }) => path)).toEqual([]);
  });

  test("every snippet is on a page, and every page names snippets and regions that exist", () => {
    const known = new Map(snippets.map(({ path, text }) => [path, text]));
    const wrong = includes.filter(
      ({ file, region }) => !known.has(file) || (region !== undefined && !known.get(file)?.includes(`// #region ${region}\n`)),
    );
    expect(wrong).toEqual([]);
    const unused = [...known.keys()].filter((path) => !includes.some(({ file }) => file === path));
    expect(unused).toEqual([]);
  });
});

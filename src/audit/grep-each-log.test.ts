/** Which logs have a text, each asked for itself; and what of a tree is not looked at. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sqliteStore } from "../store/sqlite.ts";
import { testRath } from "../testing/test-rath.ts";
import { readFile } from "../tool/builtin/tools.ts";
import { type GrepOptions, grep } from "./grep.ts";

let folder = "";
let workspace = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-each-"));
  workspace = join(folder, "workspace");
  await mkdir(join(workspace, ".git"), { recursive: true });
  await writeFile(join(workspace, ".git", "COMMIT_EDITMSG"), "about the tides\n");
  await writeFile(join(workspace, "tides.md"), "all about the tides\n");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Two sessions on the same files, and how to look for a text in them. */
async function two(file: string) {
  const rath = testRath({ store: sqliteStore(file) });
  const made = await Promise.all(
    ["one", "two"].map((name) => rath.session(name).to("memory", { workspace }).call(readFile, { path: "tides.md" })),
  );
  const files = async (options?: GrepOptions) => {
    const found: { readonly session: string; readonly where: string }[] = [];
    for await (const hit of grep(rath, "tides", options)) if (hit.file) found.push(hit);
    return found;
  };
  return { rath, sessions: made.map(({ id }) => id), files };
}

describe.each([
  ["without an index", 1],
  ["with an index", 2],
])("%s", (_name, searches) => {
  // Mutants: one memory of what was met for all logs; of things with the same key the first log's alone is chosen.
  test("a file is a hit in every log that names it, if each is asked", async () => {
    const { rath, sessions, files } = await two(join(folder, `each-${searches}.db`));
    await using _ = rath;
    for (let search = 1; search < searches; search++) await files();
    const found = await files({ eachLog: true });
    expect(found.map(({ session }) => session)).toEqual(expect.arrayContaining(sessions));
    expect(await files()).toHaveLength(1);
  });

  // Mutant: directories are walked whatever they are called.
  test("what lies in a .git is no hit", async () => {
    const { rath, files } = await two(join(folder, `git-${searches}.db`));
    await using _ = rath;
    for (let search = 1; search < searches; search++) await files();
    expect((await files()).map(({ where }) => where)).toEqual(["tides.md"]);
  });
});

/** What counts as `.git`, and that nothing of it leaves a tree: not by `apply`, not by a patch, not through links. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { type ApplyOptions, applyTo } from "./apply.ts";
import { isInGit } from "./git-folder.ts";
import { mergeTrees } from "./merge.ts";
import { ObjectMap } from "./objects.ts";
import { patchBetween } from "./patch.ts";
import { restore } from "./restore.ts";
import { snapshot } from "./snapshot.ts";
import { type Entry, Trees } from "./tree.ts";

describe("a path is in a .git", () => {
  test.each([
    ".git",
    ".git/hooks/pre-commit",
    "sub/.git",
    "a/b/.git/config",
    ".GIT/config",
    ".gIt",
    ".git./config",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    "GIT~1/config",
    ".g\u200cit/config",
    "\ufeff.git",
    ".gi\u00adt",
    "sub\\.git\\config",
  ])("%j", (path) => expect(isInGit(path)).toBe(true));

  test.each(["", "git", ".gitignore", ".github/workflows/ci.yml", ".gitmodules", "a.git/config", ".git2", "x/.gitx/y", "git~10", "...git"])(
    "and %j is not",
    (path) => expect(isInGit(path)).toBe(false),
  );
});

const scratch = mkdtempSync(join(tmpdir(), "openrath-git-folder-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

let trees: Trees;
let directory: string;
let base: string;
let made = 0;

beforeEach(async () => {
  trees = new Trees(new ObjectMap());
  directory = join(scratch, `user${made++}`);
  put({ "a.txt": "a\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", "sub/.git": "gitdir: ../.git/modules/sub\n" });
  put({ "vendored/.git/HEAD": "ref: refs/heads/x\n", "vendored/code.c": "int x;\n" });
  base = (await snapshot(trees, directory)).tree;
});

function put(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}
async function edited(files: Readonly<Record<string, string | Entry | undefined>>): Promise<string> {
  let tree = base;
  for (const [path, spec] of Object.entries(files)) {
    const hash = typeof spec === "string" ? await trees.objects.put(Buffer.from(spec)) : "";
    const entry: Entry | undefined = typeof spec === "string" ? { type: "file", mode: 0o755, size: spec.length, hash } : spec;
    tree = await trees.with(tree, path, entry);
  }
  return tree;
}
const apply = (target: string, options?: ApplyOptions) => applyTo(trees, directory, base, target, options);
const paths = (changes: readonly { readonly path: string }[]): readonly string[] => changes.map(({ path }) => path);
const hook = "#!/bin/sh\ntouch ran\n";

describe("apply", () => {
  test("writes nothing of a .git at any depth or in any spelling, and tells what it left out", async () => {
    const target = await edited({
      "a.txt": "b\n",
      ".git/hooks/pre-commit": hook,
      ".git/config": "[core]\nfsmonitor = ./evil\n",
      ".git/HEAD": undefined,
      ".GIT/hooks/pre-commit": hook,
      "sub/.git": "gitdir: ../evil\n",
      "new/.git/config": "[core]\n",
      "new/.Git": { type: "link", target: "../evil" },
    });
    const told = await apply(target, { dryRun: true });
    const applied = await apply(target);
    expect([paths(applied), paths(told)]).toEqual([["a.txt"], ["a.txt"]]);
    expect(paths(applied.leftOut)).toEqual([
      ".GIT/hooks/pre-commit",
      ".git/HEAD",
      ".git/config",
      ".git/hooks/pre-commit",
      "new/.Git",
      "new/.git/config",
      "sub/.git",
    ]);
    expect(paths(told.leftOut)).toEqual(paths(applied.leftOut));
    expect(readdirSync(directory).sort()).toEqual([".git", "a.txt", "sub", "vendored"]);
    expect(readdirSync(join(directory, ".git")).sort()).toEqual(["HEAD", "config"]);
    expect(readFileSync(join(directory, ".git/config"), "utf8")).toBe("[core]\n");
    expect(readFileSync(join(directory, "sub/.git"), "utf8")).toBe("gitdir: ../.git/modules/sub\n");
  });

  test("is not refused because of it, and counts only what was chosen", async () => {
    put({ ".git/config": "[mine]\n" });
    const target = await edited({ "a.txt": "b\n", ".git/config": "[theirs]\n" });
    const chosen = await apply(target, { paths: ["a.txt"] });
    expect([paths(chosen), chosen.leftOut]).toEqual([["a.txt"], []]);
    expect(paths((await apply(target)).leftOut)).toEqual([".git/config"]);
    expect(readFileSync(join(directory, ".git/config"), "utf8")).toBe("[mine]\n");
  });

  test("keeps a repository whose directory goes", async () => {
    await apply(await edited({ vendored: undefined }));
    expect(readdirSync(join(directory, "vendored"))).toEqual([".git"]);
    expect(readFileSync(join(directory, "vendored/.git/HEAD"), "utf8")).toBe("ref: refs/heads/x\n");
  });

  test("makes a directory of a file without its .git, and finds it done the next time", async () => {
    const target = await edited({ "a.txt": undefined, "a.txt/.git/config": "[core]\n", "a.txt/in": "in" });
    await apply(target);
    expect(readdirSync(join(directory, "a.txt"))).toEqual(["in"]);
    expect(await apply(target)).toHaveLength(0);
  });

  test("writes a link that leads into .git, and nothing through it", async () => {
    const linked = await edited({ hooks: { type: "link", target: ".git/hooks" }, ".git/hooks/pre-commit": hook });
    expect(paths(await apply(linked))).toEqual(["hooks"]);
    expect(existsSync(join(directory, ".git/hooks"))).toBe(false);
    // Later work makes a directory of it.
    mkdirSync(join(directory, ".git/hooks"));
    const opened = await edited({ "hooks/pre-commit": hook });
    expect(paths(await applyTo(trees, directory, linked, opened))).toEqual(["hooks", "hooks/pre-commit"]);
    expect(lstatSync(join(directory, "hooks")).isDirectory()).toBe(true);
    expect(readdirSync(join(directory, ".git/hooks"))).toEqual([]);
  });

  test.each(["hooks", "deep/er"])("is refused where %s is such a link meanwhile", async (name) => {
    mkdirSync(join(directory, ".git/hooks"));
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    symlinkSync(join(directory, ".git/hooks"), join(directory, name));
    await expect(apply(await edited({ [`${name}/pre-commit`]: hook }))).rejects.toSatisfy((error) =>
      RathError.is(error, "workspace.changed"),
    );
    expect(readdirSync(join(directory, ".git/hooks"))).toEqual([]);
  });
});

test("a patch leaves it out and says so", async () => {
  const target = await edited({ "a.txt": "b\n", ".git/hooks/pre-commit": hook, "sub/.git": "gitdir: ../evil\n" });
  const patch = await patchBetween(trees, base, target);
  expect(patch).toMatch(/^# \.git stays in the session: 2 changes left out\ndiff --git a\/a\.txt b\/a\.txt\n/);
  expect(patch.match(/^diff --git/gm)).toHaveLength(1);
  expect(await patchBetween(trees, base, target, { paths: ["a.txt"] })).not.toContain("#");
  expect(await patchBetween(trees, base, await edited({ ".git/x": "x" }))).toBe("# .git stays in the session: 1 change left out\n");
});

const hasGit = (() => {
  try {
    return execFileSync("git", ["--version"]).length > 0;
  } catch {
    console.warn("skipped: a real repository, since git is not installed");
    return false;
  }
})();

const git = (...argv: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=n", "-c", "user.email=n@example.org", ...argv], { cwd: directory, encoding: "utf8" });
/** A real repository with one commit, in a new directory. */
async function repository(): Promise<void> {
  rmSync(directory, { recursive: true });
  mkdirSync(directory);
  git("init", "-q", ".");
  put({ "a.txt": "a\n", "b.txt": "b\n" });
  git("add", ".");
  git("commit", "-qm", "one");
  base = (await snapshot(trees, directory)).tree;
}

test.skipIf(!hasGit)("a hook that a tree brings is not run by the next commit of the real repository", async () => {
  await repository();
  const target = await edited({ "a.txt": "fixed\n", ".git/hooks/pre-commit": hook });
  await apply(target);
  git("commit", "-qam", "two");
  expect(existsSync(join(directory, "ran"))).toBe(false);
  git("checkout", "-q", "HEAD~1");
  execFileSync("git", ["apply"], { cwd: directory, input: await patchBetween(trees, base, target) });
  expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("fixed\n");
});

test.skipIf(!hasGit)("branches that both use git merge into a repository that is whole", async () => {
  await repository();
  const branch = async (work: () => void): Promise<string> => {
    work();
    const { tree } = await snapshot(trees, directory);
    await restore(trees, directory, tree, base);
    return tree;
  };
  const left = await branch(() => {
    put({ "a.txt": "left\n" });
    git("status", "--short");
    git("add", ".");
  });
  const right = await branch(() => {
    put({ "b.txt": "right\n" });
    git("commit", "-qam", "right");
    git("branch", "topic");
  });
  const { tree, conflicts } = await mergeTrees(trees, base, left, right);
  expect(conflicts).toEqual([]);
  await restore(trees, directory, base, tree);
  git("fsck", "--strict");
  expect(git("status", "--porcelain")).toBe("M  a.txt\n M b.txt\n");
  expect(git("log", "--format=%s", "topic")).toBe("right\none\n");
});

/** A private folder below one that everybody writes to, in which others left code. What of it would run says so. */
import { spawnSync } from "node:child_process";
import { chmod, chown, lchown, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packageOf } from "../../src/cli/foreign.ts";
import { projectsOwn } from "../../src/cli/hand-over.ts";
import { findConfig } from "../../src/cli/project.ts";
import { call } from "../golden-cli/world.ts";

const [ada, nobody] = [1000, 65_534];
const skipped = process.getuid?.() !== 0;
if (skipped) console.log("skipped: project files of others (only root can give files away)");

const root = fileURLToPath(new URL("../..", import.meta.url));
let shared = "";
const config = () => join(shared, "openrath.config.mjs");
const mine = () => join(shared, "mine");
const copy = () => join(shared, "node_modules/openrath");

beforeEach(async () => {
  shared = await realpath(await mkdtemp(join(tmpdir(), "openrath-shared-")));
  await chmod(shared, 0o1777);
  await mkdir(mine());
});
afterEach(() => rm(shared, { recursive: true, force: true }));

async function leave(file: string, text: string, owner: number): Promise<void> {
  await writeFile(file, text);
  await chown(file, owner, owner);
}
const leaveConfig = (owner: number, file = config()) => leave(file, 'throw new Error("code of others ran");', owner);
/** A package whose command line would be handed over to. */
async function leaveCopy(owner: number): Promise<void> {
  await mkdir(copy(), { recursive: true });
  await chown(copy(), owner, owner);
  await leave(join(copy(), "package.json"), JSON.stringify({ name: "openrath", version: "0.0.0", bin: { openrath: "./evil.js" } }), owner);
}
const run = (...argv: string[]) => call(undefined, argv, { terminal: true, cwd: mine(), env: { NO_COLOR: "1" } });

describe.skipIf(skipped)("a project file above the current folder", () => {
  // Mutant: findConfig takes whatever it finds.
  test("that is somebody else's is not executed, and what to do is said", async () => {
    await leaveConfig(nobody);
    expect(await run("ls")).toMatchObject({
      exit: 6,
      both: `error: ${config()}, found above ${mine()}, belongs to another user (uid ${nobody}): it is not executed, since its code would run with your rights.\nnext: openrath --config ${config()} …, if you trust that user; else make a project of your own here: openrath init\n`,
    });
    const { exit, out } = await run("doctor", "--json");
    expect(exit).toBe(1);
    expect(JSON.parse(out)).toContainEqual({
      check: "project",
      status: "fail",
      detail: expect.stringContaining(`belongs to another user (uid ${nobody})`),
      fix: expect.stringContaining(`--config ${config()}`),
    });
  });

  test("is executed when it is named", async () => {
    await leaveConfig(nobody);
    expect((await run("ls", "--config", config())).both).toContain("code of others ran");
  });

  test("is taken when it belongs to the caller", async () => {
    await leaveConfig(0);
    expect(findConfig(mine())).toBe(config());
  });

  // Mutant: the owner of the folder counts for nothing.
  test("is taken when it belongs to the owner of the current folder, in which root often works", async () => {
    await leaveConfig(ada);
    expect(() => findConfig(mine())).toThrow("belongs to another user (uid 1000)");
    await chown(mine(), ada, ada);
    expect(findConfig(mine())).toBe(config());
  });

  test("does not matter where one is in the current folder, whoever's that is", async () => {
    await leaveConfig(nobody);
    const own = join(mine(), "openrath.config.mjs");
    await leaveConfig(ada, own);
    expect(findConfig(mine())).toBe(own);
    await rm(own);
    expect(() => findConfig(mine())).toThrow();
  });

  // Mutant: it is asked whose the file is that a link leads to.
  test("is whoever's the link is that leads to it", async () => {
    await leaveConfig(0, join(mine(), "other.mjs"));
    await symlink(join(mine(), "other.mjs"), config());
    expect(findConfig(mine())).toBe(config());
    await lchown(config(), nobody, nobody);
    expect(() => findConfig(mine())).toThrow(`uid ${nobody}`);
  });

  // Mutant: what is root's is refused to ordinary users, or everything is allowed that is not root's.
  test("of root is taken by everybody, and that of one user by no other", async () => {
    await chown(mine(), ada, ada);
    const asAda = (): string => {
      const project = JSON.stringify(pathToFileURL(join(root, "src/cli/project.ts")).href);
      const text = `const { findConfig } = await import(${project}); console.log(findConfig(${JSON.stringify(mine())}));`;
      const argv = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", text];
      const env = { PATH: process.env["PATH"], HOME: mine(), TSX_TSCONFIG_PATH: join(root, "tsconfig.json"), TSX_DISABLE_CACHE: "1" };
      const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: mine(), env, uid: ada, gid: ada, encoding: "utf8" });
      return stdout + stderr;
    };
    await leaveConfig(0);
    expect(asAda()).toBe(`${config()}\n`);
    await leaveConfig(nobody);
    expect(asAda()).toContain(`belongs to another user (uid ${nobody})`);
  });
});

describe.skipIf(skipped)("a copy of the package above the current folder", () => {
  const command = () => pathToFileURL(join(copy(), "evil.js")).href;

  // Mutant: packageOf takes whatever an import would find.
  test("that is somebody else's is not handed over to", async () => {
    await leaveCopy(nobody);
    expect(projectsOwn(["ls"], mine())).toBe(undefined);
    await leaveCopy(0);
    expect(projectsOwn(["ls"], mine())).toBe(command());
  });

  test("nor is what lies beside somebody else's project file, unless that is named", async () => {
    await leaveCopy(nobody);
    await leaveConfig(nobody);
    expect(projectsOwn(["ls"], mine())).toBe(undefined);
    expect(projectsOwn(["ls", "--config", config()], mine())).toBe(command());
  });

  test("does not matter where one is in the current folder", async () => {
    await leaveCopy(nobody);
    expect(projectsOwn(["ls"], shared)).toBe(command());
  });

  test("and so it is with what reads TypeScript", async () => {
    const tsx = join(shared, "node_modules/tsx");
    await mkdir(tsx, { recursive: true });
    await writeFile(join(tsx, "package.json"), "{}");
    expect(packageOf(join(mine(), "openrath.config.ts"), "tsx")).toBe(tsx);
    await chown(tsx, nobody, nobody);
    expect(packageOf(join(mine(), "openrath.config.ts"), "tsx")).toBe(undefined);
  });
});

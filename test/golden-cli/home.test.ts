/** What is said where there is no store: it names the place that was looked at, and whoever named it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call } from "./world.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-home-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

// Mutant: the error speaks of .openrath in the working directory, whatever OPENRATH_HOME says.
test.each([["ls"], ["show", "x"], ["tail", "x"]])("openrath %s where OPENRATH_HOME names a folder that is not there", async (...argv) => {
  const env = { NO_COLOR: "1", OPENRATH_HOME: "missing" };
  expect(await call(undefined, argv, { terminal: true, cwd: folder, env })).toMatchObject({
    exit: 3,
    both: `error: There are no sessions here: OPENRATH_HOME names ${join(folder, "missing")}, which is not there, and ${folder} has no openrath.config.ts (or .mts, .js, .mjs).\nnext: correct OPENRATH_HOME or unset it\n`,
  });
});

test("openrath ls in a folder without a project", async () => {
  expect(await call(undefined, ["ls"], { terminal: true, cwd: folder, env: { NO_COLOR: "1" } })).toMatchObject({
    exit: 3,
    both: expect.stringContaining(`${folder} has no openrath.config.ts (or .mts, .js, .mjs) and no .openrath folder.`),
  });
});

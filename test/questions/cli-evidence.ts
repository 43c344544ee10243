/** The same of a whole example and of every claim, by what is typed. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { projectOf } from "../../src/cli/project.ts";
import { call } from "../golden-cli/world.ts";
import { dossierAnswers } from "../support/dossier-answers.ts";
import { task } from "./story.ts";
import { rich, session } from "./world.ts";

test("Q24 For an example: task, environment, workflow, tools called, sandbox holding side effects, memory read/written, validation signal?", async () => {
  const folder = join(rich.folder, "dossier-by-hand");
  const { exit } = await call(() => projectOf(rich.open(), undefined), ["dossier", session.id, folder], { terminal: false });
  expect(exit).toBe(0);
  const page = await readFile(join(folder, "index.html"), "utf8");
  const shown = [task, "repair", "edit_file", "slug-rule", "ok 2 of 2"];
  expect(shown.filter((words) => !page.includes(words))).toEqual([]);
  expect(await dossierAnswers(folder)).toMatchObject({ task, workflows: ["repair done", "follow done"], verified: true });
});

test("Q29 For each claim: which packet supports it, what does it not prove, what was skipped?", async () => {
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "claims", "--", "--list"], { cwd });
  const rows = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(rows.map(([id]) => id)).toEqual(Array.from({ length: 64 }, (_, index) => `R${index + 1}`));
  // Whether it is run at all, the command, the packet, and what that does not prove.
  for (const [id, status, claim, command, packet] of rows)
    expect([status, claim, command, packet]).toEqual([
      expect.stringMatching(/^(supported|partial|not yet)$/),
      expect.stringMatching(/\w/),
      status === "not yet" ? "" : expect.stringMatching(/^npm |^npx /),
      `packets/${id}`,
    ]);
  expect(rows.filter(([, , , , , limits]) => limits !== "").length).toBeGreaterThan(40);
});

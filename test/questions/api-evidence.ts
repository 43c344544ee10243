/** What is asked of a whole example and of every claim, in a program: from the folder of a dossier, and from the ledger. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readLedger, testsOf } from "../../scripts/claims-ledger.mjs";
import { writePackets } from "../../scripts/claims-packet.mjs";
import { judge } from "../../scripts/claims-verdict.mjs";
import { dossier } from "../../src/audit/audit.ts";
import { version } from "../../src/runtime/version.ts";
import { dossierAnswers } from "../support/dossier-answers.ts";
import { where } from "./rich.ts";
import { task } from "./story.ts";
import { rich, session } from "./world.ts";

test("Q24 For an example: task, environment, workflow, tools called, sandbox holding side effects, memory read/written, validation signal?", async () => {
  const folder = join(rich.folder, "dossier");
  await dossier(session, folder);
  // Reads `manifest.json` and `verification.json`, and lets `rath.import` take the `session` in elsewhere: nothing else is needed.
  const answers = await dossierAnswers(folder);
  const isolation = where === "local" ? ["memory process 1", "local namespace 11"] : ["memory process 12"];
  expect(answers).toMatchObject({
    task,
    environment: { openrath: version(), node: process.version, store: "sqlite", models: [{ model: "acme/fast" }, { model: "acme/deep" }] },
    workflows: ["repair done", "follow done"],
    sandboxes: isolation,
    memory: {
      read: [
        "memory://project/test-command@1 by repair",
        "memory://project/test-command@1 by repair/desk/plan/planner",
        "memory://project/style@1 by repair/desk/plan/planner",
        "memory://project/test-command@1 by follow",
      ],
      written: [
        "memory://project/changelog@1 by repair/desk/attempt",
        "memory://project/slug-rule@1 by repair",
        "memory://project/style@2 by repair",
        "memory://user/ada/release-day@1 by repair",
      ],
    },
    validation: ["tests failed", "tests passed", "tests passed", "review passed"],
    ...{ verified: true, replayed: true },
  });
  const { advisory, edit_file, shell, ...others } = answers.tools;
  expect([advisory, edit_file, shell, Object.keys(others).length]).toEqual([1, 3, 4, 7]);
  // The rejected branch is part of the answer: its edit is among the calls, and says that it is not in the result.
  const calls = (await readFile(join(folder, "calls.jsonl"), "utf8")).trimEnd().split("\n");
  expect(calls.map((line) => JSON.parse(line)).filter(({ tool }) => tool === "edit_file")).toMatchObject([
    { inResult: expect.any(Boolean) },
    { sandbox: { backend: where } },
    { sandbox: { backend: where } },
  ]);
});

test("Q29 For each claim: which packet supports it, what does it not prove, what was skipped?", () => {
  const ledger = readLedger();
  // What `npm run claims` would see on a machine where every command passes, and one test of each file is skipped with its reason.
  const commands = ledger.flatMap((row) => row.commands);
  const ran = new Map(
    commands.filter((command) => testsOf(command) === undefined).map((command) => [command, { code: 0, seconds: 1, output: "" }]),
  );
  const files = [...new Set(commands.flatMap((command) => testsOf(command) ?? []))].map((name) => ({
    ...{ name, status: "passed", startTime: 0, endTime: 1000, message: "" },
    assertionResults: [
      { status: "passed", fullName: "works" },
      { status: "skipped", fullName: "needs a namespace" },
    ],
  }));
  const folder = join(rich.folder, "packets");
  const results = ledger.map((row) => ({ row, judged: judge(row, ran, files) }));
  writePackets(folder, results, { source: { commit: "c0ffee" }, command: "npm run claims", began: "2026-01-01T00:00:00.000Z" });
  for (const { id, status, commands: named, doesNotProve } of ledger) {
    if (status === "not yet") continue;
    const packet = JSON.parse(readFileSync(join(folder, id, "packet.json"), "utf8"));
    const skipped = named.flatMap((command) => (testsOf(command) ?? []).map((part: string) => `${part}: needs a namespace`));
    expect(packet).toMatchObject({
      id,
      status,
      commands: named,
      doesNotProve,
      verdict: "holds",
      rebuild: `npm run claims -- --only ${id}`,
    });
    expect(packet.skipped).toEqual(expect.arrayContaining(skipped));
  }
});

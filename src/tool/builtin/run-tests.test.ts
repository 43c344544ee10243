/** What a command says of the files of a session becomes the verdict of a check. */
import { describe, expect, test } from "vitest";
import type { EffectContext } from "../../session/session.ts";
import { testRath } from "../../testing/test-rath.ts";
import { runTests } from "./run-tests.ts";

const written = (exitCode: number, stdout: string, stderr = "") =>
  runTests("tests")({ sandbox: { exec: async () => ({ exitCode, stdout, stderr, durationMs: 1 }) } } as unknown as EffectContext);

// Mutant: the sandbox is asked to run nothing, and the check fails with its words.
test("a command that is none is refused when the check is made", () => {
  for (const none of [undefined, 5, ["npm", "test"], " "])
    expect(() => runTests(none as never)).toThrow(/^the command of runTests is .*: give (a string|one, like "npm test")\.$/);
});

describe("the verdict", () => {
  test.each([
    ["TAP that passes", 0, "ok 1 - a\nok 2 - b\n1..2\n", "", { passed: true, score: 1, reason: "all 2 tests pass" }],
    [
      "TAP that fails",
      1,
      "not ok 1 - a (b)\n  ---\nok 2 - c\n1..2\n",
      "",
      { passed: false, score: 0.5, reason: "1 of 2 tests fail: a (b)" },
    ],
    [
      "tests inside tests",
      1,
      "    ok 1 - a\n    not ok 2 - b\nok 1 - c\n",
      "",
      { passed: false, score: 2 / 3, reason: "1 of 3 tests fail: b" },
    ],
    ["a test without a name", 1, "not ok 1\n", "", { passed: false, score: 0, reason: "1 of 1 tests fail: a test without a name" }],
    [
      "what is left out",
      0,
      "ok 1 - a\nok 2 - b # SKIP later\nnot ok 3 - c # TODO\n",
      "",
      { passed: true, score: 1, reason: "all 1 tests pass" },
    ],
    ["no test, as TAP", 0, "TAP version 13\n1..0\n", "", { passed: false, reason: "no test was run" }],
    ["no test, as unittest", 0, "", "Ran 0 tests in 0.000s\n\nOK\n", { passed: false, reason: "no test was run" }],
    [
      "unittest that fails",
      1,
      "",
      "test_a (test_dates.Months.test_a) ... ok\ntest_b (test_dates.Months.test_b) ... FAIL\ntest_c (x) ... ERROR\n",
      { passed: false, score: 1 / 3, reason: "2 of 3 tests fail: test_b; test_c" },
    ],
    ["another tool that passes", 0, "12 passing", "", { passed: true, reason: "exit code 0" }],
    ["another tool that fails", 2, "", "boom", { passed: false, reason: "exit code 2" }],
    ["all pass and the command does not", 1, "ok 1 - a\n", "", { passed: false, score: 1, reason: "exit code 1" }],
    ["a test that fails behind a pipe", 0, "ok 1 - a\nnot ok 2 - b\n", "", { passed: false, score: 0.5, reason: "1 of 2 tests fail: b" }],
    ["lines of Windows", 1, "not ok 1 - a\r\nok 2 - b\r\n", "", { passed: false, score: 0.5, reason: "1 of 2 tests fail: a" }],
    ["no such command", 127, "", "not found", { passed: false, reason: "exit code 127" }],
  ] as const)("%s", async (_, exitCode, stdout, stderr, verdict) => {
    expect(await written(exitCode, stdout, stderr)).toEqual(verdict);
  });
});

test("hostile output takes no longer to read than other output", async () => {
  const begun = performance.now();
  const digits = `ok ${"1".repeat(500_000)} # SKIP`;
  await written(1, `${"\n".repeat(500_000)}${" ".repeat(500_000)}${digits}\nnot ok 1 - ${"a ... ".repeat(300)}`);
  expect(performance.now() - begun).toBeLessThan(20_000);
});

test("many failed tests are counted, and some are named", async () => {
  const { reason = "" } = (await written(
    1,
    Array.from({ length: 30 }, (_, index) => `not ok ${index} - ${"n".repeat(300)}`).join("\n"),
  )) as {
    readonly reason?: string;
  };
  expect(reason).toMatch(/^30 of 30 tests fail: n{200}…; .*; 10 more$/);
});

test("it judges the files of the session, and what it writes is not kept", async () => {
  await using rath = testRath();
  const judged = await rath.session().to("memory").check("tests", runTests("echo 'not ok 1 - kept' && touch left.txt && false"));
  expect(judged.checks).toMatchObject([{ name: "tests", passed: false, score: 0, reason: "1 of 1 tests fail: kept" }]);
  expect(judged.checks[0]?.acted?.commands?.[0]).toMatchObject({ exitCode: 1 });
  expect(await judged.files.changes()).toEqual([]);
});

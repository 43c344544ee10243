/** A check by a command: the tests of a repository judge the files of a session, in its sandbox. */
import type { CheckResult, CommandResult, EffectContext } from "../../session/session.ts";

/**
 * A check that runs a command, such as `npm test`, on the files of the session. It passes when the command exits with 0 and some test
 * was run. Where the command writes TAP (`node --test --test-reporter=tap`, and many others) or what `python3 -m unittest -v` writes,
 * the score is the share of tests that passed, and the reason names those that failed. What the command writes to files is not kept.
 *
 * @example
 * const judged = await session.to("local", { workspace: "." }).check("tests", runTests("npm test"));
 * if (!judged.checks.at(-1)?.passed) session = judged.say(`The tests fail: ${judged.checks.at(-1)?.reason}`);
 */
export function runTests(command: string): (context: EffectContext) => Promise<CheckResult> {
  return async ({ sandbox }) => verdict(await sandbox.exec(command));
}

const passedTest = /^\s*ok \d+(?![^\n]*# (?:SKIP|TODO))|^.* \.\.\. ok$/gim;
const failedTest = /^\s*not ok \d+(?: -)? ?((?![^\n]*# (?:SKIP|TODO)).*)$|^(\w+) \(.*\) \.\.\. (?:FAIL|ERROR)$/gim;
const noTest = /^1\.\.0\b|^Ran 0 tests\b/m;

function verdict({ exitCode, stdout, stderr }: CommandResult): CheckResult {
  const output = `${stdout}\n${stderr}`;
  const failed = [...output.matchAll(failedTest)].map(([, tap, unittest]) => tap || unittest || "a test without a name");
  const passed = [...output.matchAll(passedTest)].length;
  const all = passed + failed.length;
  const counted = all === 0 ? {} : { score: passed / all };
  if (noTest.test(output) && all === 0) return { passed: false, reason: "no test was run" };
  if (exitCode === 0) return { passed: true, ...counted, reason: all === 0 ? "exit code 0" : `all ${passed} tests pass` };
  const reason = failed.length === 0 ? `exit code ${exitCode}` : `${failed.length} of ${all} tests fail: ${failed.join("; ")}`;
  return { passed: false, ...counted, reason };
}

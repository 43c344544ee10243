/** A check by a command: the tests of a repository judge the files of a session, in its sandbox. */
import { givenText, unsupported } from "../../session/given.ts";
import type { CheckResult, CommandResult, EffectContext } from "../../session/session.ts";

/**
 * A check that runs a command, such as `npm test`, on the files of the session. It passes when the command exits with 0, no
 * test failed and some test was run. Where the command writes TAP (`node --test --test-reporter=tap`, and many others) or what `python3 -m unittest -v` writes,
 * the score is the share of tests that passed, and the reason names those that failed. What the command writes to files is not kept.
 *
 * @example
 * const judged = await session.to("local", { workspace: "." }).check("tests", runTests("npm test"));
 * if (!judged.checks.at(-1)?.passed) session = judged.say(`The tests fail: ${judged.checks.at(-1)?.reason}`);
 */
export function runTests(command: string): (context: EffectContext) => Promise<CheckResult> {
  if (givenText(command, "the command of runTests").trim() === "")
    throw unsupported("the command of runTests", "is empty", 'give one, like "npm test"');
  return async ({ sandbox }) => verdict(await sandbox.exec(command));
}

/** Lines of TAP, without those of tests that are left out, and lines of unittest. What is longer than a line of either is neither. */
const tapLine = /^[ \t]{0,200}(not )?ok \d{1,9}\b(?: -)? ?(.*)$/i;
const leftOut = /# (?:SKIP|TODO)/i;
const passedUnittest = / \.\.\. ok$/i;
const failedUnittest = /^(\w+) \(.*\) \.\.\. (?:FAIL|ERROR)$/i;
const noTest = /^1\.\.0\b|^Ran 0 tests\b/;
const longestLine = 2000;
/** So many names of failed tests are told, each so long. */
const [mostNamed, longestName] = [20, 200];

function verdict({ exitCode, stdout, stderr }: CommandResult): CheckResult {
  const { passed, failed, none } = counted([...stdout.split(/\r?\n/), ...stderr.split(/\r?\n/)]);
  const all = passed + failed.length;
  const score = all === 0 ? {} : { score: passed / all };
  if (none && all === 0) return { passed: false, reason: "no test was run" };
  if (failed.length > 0) return { passed: false, ...score, reason: `${failed.length} of ${all} tests fail: ${namesOf(failed)}` };
  if (exitCode !== 0) return { passed: false, ...score, reason: `exit code ${exitCode}` };
  return { passed: true, ...score, reason: all === 0 ? "exit code 0" : `all ${passed} tests pass` };
}

/** Line by line: a pattern over the whole output would take forever on hostile output. */
function counted(lines: readonly string[]): { readonly passed: number; readonly failed: readonly string[]; readonly none: boolean } {
  const short = lines.filter(({ length }) => length <= longestLine);
  const tests = short.flatMap(testIn);
  const failed = tests.flatMap(({ ok, name }) => (ok ? [] : [name]));
  return { passed: tests.length - failed.length, failed, none: short.some((line) => noTest.test(line)) };
}

function testIn(line: string): readonly { readonly ok: boolean; readonly name: string }[] {
  const tap = tapLine.exec(line);
  if (tap !== null) {
    const [, not, title = ""] = tap;
    return leftOut.test(title) ? [] : [{ ok: not === undefined, name: title || "a test without a name" }];
  }
  if (passedUnittest.test(line)) return [{ ok: true, name: line }];
  const name = failedUnittest.exec(line)?.[1];
  return name === undefined ? [] : [{ ok: false, name }];
}

function namesOf(failed: readonly string[]): string {
  const named = failed.slice(0, mostNamed).map((name) => (name.length <= longestName ? name : `${name.slice(0, longestName)}…`));
  return [...named, ...(failed.length > mostNamed ? [`${failed.length - mostNamed} more`] : [])].join("; ");
}

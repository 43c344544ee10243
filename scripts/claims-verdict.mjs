// What commands have shown about one claim. A claim holds when each of its commands did, and each had something to show.

import { testsOf } from "./claims-ledger.mjs";

/**
 * The verdict on a row: `ran` gives what came of a command that is no test, `files` are the results of all test files that ran,
 * as vitest reports them, with names relative to the repository.
 */
export function judge(row, ran, files) {
  const parts = row.commands.map((command) => {
    const wanted = testsOf(command);
    return wanted === undefined ? judgeCommand(command, ran.get(command)) : judgeTests(command, wanted, files);
  });
  const problems = parts.flatMap(({ problems: found }) => found);
  if (parts.length === 0) problems.push("no command is named");
  return {
    verdict: problems.length === 0 ? "holds" : "fails",
    seconds: parts.reduce((sum, { seconds }) => sum + seconds, 0),
    passed: parts.reduce((sum, { passed }) => sum + passed, 0),
    skipped: parts.flatMap(({ skipped }) => skipped),
    problems,
    output: parts.map(({ output }) => output).join("\n"),
  };
}

function judgeCommand(command, done) {
  const problems = done === undefined ? [`${command}: was not run`] : done.code === 0 ? [] : [`${command}: exit code ${done.code}`];
  return {
    problems,
    seconds: done?.seconds ?? 0,
    passed: problems.length === 0 ? 1 : 0,
    skipped: [],
    output: `$ ${command}\n${done?.output ?? ""}`,
  };
}

function judgeTests(command, wanted, files) {
  const problems = wanted
    .filter((part) => !files.some(({ name }) => name.includes(part)))
    .map((part) => `${part}: no test of that name ran`);
  const mine = files.filter(({ name }) => wanted.some((part) => name.includes(part)));
  const tests = mine.flatMap(({ name, assertionResults }) => assertionResults.map((test) => ({ ...test, file: name })));
  for (const { name, status, message } of mine) if (status !== "passed") problems.push(`${name}: ${firstLine(message) || "failed"}`);
  const passed = tests.filter(({ status }) => status === "passed").length;
  if (mine.length > 0 && passed === 0) problems.push(`${command}: not one test passed`);
  return {
    problems,
    seconds: mine.reduce((sum, { startTime, endTime }) => sum + (endTime - startTime) / 1000, 0),
    passed,
    skipped: tests.filter(({ status }) => status !== "passed" && status !== "failed").map(({ file, fullName }) => `${file}: ${fullName}`),
    output: [`$ ${command}`, ...tests.map(({ status, file, fullName }) => `${status}  ${file}: ${fullName}`)].join("\n"),
  };
}

function firstLine(text) {
  return (text ?? "").trim().split("\n")[0];
}

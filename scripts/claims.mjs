// `npm run claims`: runs the command behind every claim of docs/claims.md that is called supported, says of each whether it held, and
// fails when one did not. What was seen is left in packets/, one folder for each claim. Options: --only R12,R13 (whatever their status),
// --list (runs nothing), --json (with --list).

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { chosen, readLedger, testsOf } from "./claims-ledger.mjs";
import { ledger, writePackets } from "./claims-packet.mjs";
import { judge } from "./claims-verdict.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const packets = join(root, "packets");
const given = process.argv.slice(2);
const only = given.includes("--only") ? (given[given.indexOf("--only") + 1] ?? "").split(",") : [];
const patience = 30 * 60_000;
// No provider is asked: what is claimed holds without keys.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== "MODEL" && !name.endsWith("_API_KEY")));

const rows = readLedger();
const wanted = chosen(rows, only);
if (given.includes("--list")) list(only.length === 0 ? rows : wanted);
else run();

function list(listed) {
  if (given.includes("--json")) return console.log(JSON.stringify(listed, undefined, 2));
  for (const { id, claim, status, commands, doesNotProve } of listed)
    console.log([id, status, claim, commands.join("; "), `packets/${id}`, doesNotProve].join("\t"));
}

function run() {
  const began = new Date().toISOString();
  for (const { id, status, claim } of rows.filter((row) => !wanted.includes(row)))
    console.log(`not run  ${id} (${only.length > 0 ? "not asked for" : status}): ${claim}`);
  const commands = [...new Set(wanted.flatMap((row) => row.commands))];
  const files = runTests([...new Set(commands.flatMap((command) => testsOf(command) ?? []))]);
  const ran = new Map(commands.filter((command) => testsOf(command) === undefined).map((command) => [command, runCommand(command)]));
  const results = wanted.map((row) => ({ row, judged: judge(row, ran, files) }));
  writePackets(packets, results, { source: source(), command: ["npm run claims", ...given].join(" "), began });
  console.log(`\n${ledger(results)}`);
  for (const { row, judged } of results) for (const name of judged.skipped) console.log(`skipped  ${row.id}: ${name}`);
  const failed = results.filter(({ judged }) => judged.verdict !== "holds");
  for (const { row, judged } of failed) for (const problem of judged.problems) console.log(`FAILED   ${row.id}: ${problem}`);
  console.log(`claims: ${results.length - failed.length} of ${results.length} hold; packets: ${relative(process.cwd(), packets)}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** All tests at once: claims share most of them. */
function runTests(parts) {
  if (parts.length === 0) return [];
  const scratch = mkdtempSync(join(tmpdir(), "openrath-claims-"));
  const report = join(scratch, "report.json");
  console.log(`\nnpx vitest run ${parts.join(" ")}`);
  const { status } = spawnSync(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", ...parts, "--reporter=dot", "--reporter=json", `--outputFile.json=${report}`],
    { cwd: root, stdio: "inherit", timeout: patience, env },
  );
  try {
    const { testResults } = JSON.parse(readFileSync(report, "utf8"));
    // An error that belongs to no test: nobody knows what it would have failed.
    if (status !== 0 && testResults.every((file) => file.status === "passed"))
      throw new Error(`vitest ended with ${status}, though no test failed: nothing is shown. See what it printed above.`);
    return testResults.map((file) => ({ ...file, name: relative(root, file.name) }));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function runCommand(command) {
  console.log(`\n${command}`);
  const start = performance.now();
  const { status, signal, stdout, stderr } = spawnSync("bash", ["-c", command], { cwd: root, encoding: "utf8", timeout: patience, env });
  return { code: status ?? signal, seconds: (performance.now() - start) / 1000, output: `${stdout}${stderr}` };
}

/** What was tested: the commit, whether files differ from it, and the locked dependencies. */
function source() {
  const git = (...args) => spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout?.trim();
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  return {
    name,
    version,
    commit: git("rev-parse", "HEAD") ?? null,
    changed: git("status", "--porcelain")?.split("\n").filter(Boolean) ?? null,
    lock,
  };
}

// Runs the store and integration tests on the supported Nodes other than this one: the versions pinned in test/nodes.
// Their binaries come from the npm package `node` and are installed at first use. Fails if any version fails.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "test/nodes");
const suites = [
  "src/store/memory.test.ts",
  "src/store/sqlite.test.ts",
  "src/store/postgres.test.ts",
  "src/memory/sqlite.test.ts",
  "src/memory/sqlite-search.test.ts",
];
// What is weighed, compiled or generated comes to the same on every Node: `npm test` does it once, `npm run test:storms` what takes minutes.
const once = ["parked", "api-programs", "budgets"].map((name) => `${name}.test.ts`);
// Together they take a minute, so only the newest Node runs them: what differs between Nodes is the driver of SQLite.
const onNewest = readdirSync(join(root, "test/integration"))
  .filter((name) => name.endsWith(".test.ts") && !once.includes(name))
  .map((name) => `test/integration/${name}`);
const patience = 5 * 60_000;

const pinned = Object.entries(readJson(join(folder, "package.json")).dependencies)
  .filter(([alias]) => alias.startsWith("node-"))
  .map(([alias, spec]) => ({
    version: spec.slice(spec.lastIndexOf("@") + 1),
    binary: join(folder, "node_modules", alias, "bin", process.platform === "win32" ? "node.exe" : "node"),
  }));
installPinned();

const present = suites.filter((suite) => existsSync(join(root, suite)));
for (const suite of suites) if (!present.includes(suite)) console.log(`skipped on every Node: ${suite} does not exist`);

// The Node that runs this script runs all tests with `npm test` and `npm run test:storms`.
const others = pinned.filter(({ version }) => version.split(".")[0] !== process.versions.node.split(".")[0]);
const newest = Math.max(...others.map(({ version }) => Number.parseInt(version, 10)));
const results = others.map((node) => runOn(node, Number.parseInt(node.version, 10) === newest ? [...present, ...onNewest] : present));
console.log("\ntests per Node version");
for (const { version, passed, skipped, total, seconds, problem } of results) {
  const verdict = problem === undefined ? "ok    " : "FAILED";
  console.log(
    `  ${verdict}  Node ${version}: ${passed} of ${total} tests passed, ${skipped} skipped, ${seconds} s${problem ? ` (${problem})` : ""}`,
  );
}
process.exitCode = results.every(({ problem }) => problem === undefined) ? 0 : 1;

function installPinned() {
  const providers = join(folder, "node_modules/ai-sdk-openai-4");
  if (existsSync(providers) && pinned.every(({ binary, version }) => versionOf(binary) === version)) return;
  console.log(`installing Node ${pinned.map(({ version }) => version).join(" and ")} into test/nodes`);
  const { status } = spawnSync("npm", ["ci", "--engine-strict=false"], {
    cwd: folder,
    stdio: "inherit",
    shell: process.platform === "win32",
    timeout: patience,
  });
  const wrong = pinned.filter(({ binary, version }) => versionOf(binary) !== version);
  if (status === 0 && wrong.length === 0) return;
  const names = wrong.map(({ version }) => version).join(", ");
  console.error(
    `Node ${names} could not be installed for ${process.platform}-${process.arch}. Next: run \`npm ci\` in test/nodes and read its error.`,
  );
  process.exit(1);
}

function versionOf(binary) {
  const { status, stdout } = spawnSync(binary, ["--version"], { encoding: "utf8" });
  return status === 0 ? stdout.trim().replace(/^v/, "") : undefined;
}

function runOn({ version, binary }, chosen) {
  console.log(`\nNode ${version}: vitest run ${chosen.join(" ")}`);
  const scratch = mkdtempSync(join(tmpdir(), "openrath-nodes-"));
  const report = join(scratch, "report.json");
  const began = Date.now();
  const vitest = [
    "node_modules/vitest/vitest.mjs",
    "run",
    ...["--project", "!storms"],
    ...chosen,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ];
  const { status, signal } = spawnSync(binary, vitest, { cwd: root, stdio: "inherit", timeout: patience });
  const seconds = Math.round((Date.now() - began) / 1000);
  const counts = existsSync(report) ? readJson(report) : undefined;
  rmSync(scratch, { recursive: true, force: true });
  return { version, seconds, ...judge(counts, status, signal) };
}

/** A run that found no test proves nothing, so it counts as failed. */
function judge(counts, status, signal) {
  const passed = counts?.numPassedTests ?? 0;
  const total = counts?.numTotalTests ?? 0;
  const skipped = (counts?.numPendingTests ?? 0) + (counts?.numTodoTests ?? 0);
  if (signal) return { passed, total, skipped, problem: `stopped by ${signal}` };
  if (status !== 0) return { passed, total, skipped, problem: `exit code ${status}` };
  if (passed === 0) return { passed, total, skipped, problem: "no test ran" };
  return { passed, total, skipped, problem: undefined };
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

// Prepares a fresh checkout: checks what the machine must have, and says the next command where something is missing. Idempotent.
// It installs bubblewrap and Chromium where it can, and nothing else: `npm ci` brings the rest.

import { readFile, realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { checkBrowser, checkSandbox } from "./setup-programs.mjs";

const require = createRequire(import.meta.url);
const root = new URL("../", import.meta.url);
const folder = join(fileURLToPath(root), "node_modules");
const installed = (await realpath(folder).catch(() => folder)) + sep;
const manifest = JSON.parse(await readFile(new URL("package.json", root), "utf8"));

const checks = [
  { name: "Node version", run: checkNode },
  { name: "installed packages", run: checkPackages },
  { name: "SQLite driver", run: checkSqlite },
  { name: "sandbox", run: () => checkSandbox() },
  { name: "browser", run: () => checkBrowser() },
];

let missing = 0;
for (const { name, run } of checks) {
  const { found, next, warning } = await run();
  console.log(`${next !== undefined ? "missing" : warning !== undefined ? "warning" : "ok     "}  ${name}: ${found}`);
  if (next !== undefined) missing += 1;
  if ((next ?? warning) !== undefined) console.log(`         next: ${next ?? warning}`);
}
console.log(missing === 0 ? "setup: ready" : `setup: ${missing} of ${checks.length} checks failed, see "next" above`);
process.exitCode = missing === 0 ? 0 : 1;

function checkNode() {
  const floor = manifest.engines.node.replace(">=", "");
  const [wantMajor, wantMinor] = floor.split(".").map(Number);
  const [major, minor] = process.versions.node.split(".").map(Number);
  const enough = major > wantMajor || (major === wantMajor && minor >= wantMinor);
  const found = `${process.versions.node} (needs ${floor} or newer)`;
  return enough ? { found } : { found, next: `install Node ${floor} or newer, then run \`npm ci && npm run setup\` again` };
}

function checkPackages() {
  const names = Object.keys(manifest.dependencies);
  const absent = names.filter((name) => !resolves(name));
  if (absent.length === 0) return { found: names.join(", ") };
  return { found: `${absent.join(", ")} not installed`, next: "npm ci" };
}

/** node:sqlite where Node has it without a flag, better-sqlite3 otherwise: the same order as the SQLite store. */
async function checkSqlite() {
  const builtIn = await attempt(async () => {
    const { DatabaseSync } = await quietly(() => import("node:sqlite"));
    return versionOf(new DatabaseSync(":memory:"));
  });
  if (builtIn.value !== undefined) return { found: `node:sqlite, SQLite ${builtIn.value}` };
  const native = await attempt(() => {
    if (!resolves("better-sqlite3")) throw new Error("better-sqlite3 is not installed");
    const Database = require("better-sqlite3");
    return versionOf(new Database(":memory:"));
  });
  if (native.value !== undefined) return { found: `better-sqlite3, SQLite ${native.value}` };
  const next = resolves("better-sqlite3")
    ? "npm rebuild better-sqlite3   (needs a C++ compiler, make and Python where no prebuilt binary can be had; or use Node 22.13 or newer)"
    : "npm ci --include=optional   (or use Node 22.13 or newer, which has SQLite built in)";
  return { found: `neither node:sqlite nor better-sqlite3 loads (${firstLine(native.error)})`, next };
}

function versionOf(database) {
  const { version } = database.prepare("select sqlite_version() as version").get();
  database.close();
  return version;
}

async function attempt(action) {
  try {
    return { value: await action() };
  } catch (error) {
    return { error };
  }
}

/** Node 22 announces node:sqlite as experimental on each first import; that is no news here. */
async function quietly(action) {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return await action();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** In the node_modules of this repository: a parent folder may have others, which `npm ci` did not choose. */
function resolves(name) {
  try {
    return fileURLToPath(import.meta.resolve(name)).startsWith(installed);
  } catch {
    return false;
  }
}

function firstLine(error) {
  return String(error?.message ?? error).split("\n")[0];
}

// The package as a user gets it: packed, found by its name in a registry, installed into an empty folder by the commands of the README,
// on every supported Node. Doors, types, command line, inspector and the README's example are tried there; sizes and starts have budgets.
// Needs the registry of npm for the dependencies. `--node 22` takes one Node, `--keep` leaves the folders.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sizes, starts } from "../test/package/installed/budgets.mjs";
import { checks } from "../test/package/installed/checks.mjs";
import { commands } from "../test/package/installed/readme.mjs";
import { serveRegistry } from "../test/package/installed/registry.mjs";
import { fromTarball } from "../test/package/installed/tarball.mjs";
import { checkTypes } from "../test/package/installed/types.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const given = process.argv.slice(2);
const only = given.includes("--node") ? given[given.indexOf("--node") + 1] : undefined;
const patience = 10 * 60_000;
const begins = "the README's first commands, in an empty folder";
const scratch = realpathSync(mkdtempSync(join(tmpdir(), "openrath-package-")));
// npx keeps what it installed by name and version: a cache of our own, without that part, never has an older build of this version.
const cache = join(root, "node_modules/.cache/test-package");
rmSync(join(cache, "_npx"), { recursive: true, force: true });

if (!existsSync(join(root, "dist/inspector/index.html"))) loud("npm", ["run", "build"], root);
const [packed] = JSON.parse(loud("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", scratch], root));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const upstream = process.env.npm_config_registry ?? loud("npm", ["config", "get", "registry"], root).trim();
const registry = await serveRegistry(join(scratch, packed.filename), manifest, upstream);

let failed = 0;
try {
  const nodes = nodesHere().filter(({ version }) => only === undefined || version.split(".")[0] === only);
  if (nodes.length === 0) throw new Error(`There is no Node ${only} among those of test/nodes and this one.`);
  sizes(packed).forEach(judge);
  const projects = nodes.map(projectOn);
  // Installing waits for the registry most of the time: after the first, which fills the cache, all at once. What is measured comes after it.
  const begin = ({ version, quickStart }) => attempt(`Node ${version}: ${begins}`, quickStart);
  const begun = [await begin(projects[0]), ...(await Promise.all(projects.slice(1).map(begin)))];
  for (const [index, project] of projects.entries()) {
    if (!begun[index]) continue;
    console.log(`\nNode ${project.version}`);
    for (const [name, check] of checks) await attempt(name, () => check(project));
    // Declarations are the same on every Node.
    if (index === 0) await attempt("strict TypeScript", () => checkTypes(project));
    if (index === 0)
      await attempt("from the tarball", () => fromTarball(project, join(scratch, packed.filename), join(scratch, "from-tarball")));
    await attempt("starts", () => void starts(project).forEach(judge));
  }
} finally {
  registry.close();
  if (!given.includes("--keep")) rmSync(scratch, { recursive: true, force: true });
  else console.log(`kept: ${scratch}`);
}
console.log(failed === 0 ? "\npackage: all checks passed" : `\npackage: ${failed} checks FAILED`);
process.exitCode = failed === 0 ? 0 : 1;

/** This Node, and those of test/nodes. */
function nodesHere() {
  const folder = join(root, "test/nodes");
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const names = Object.keys(dependencies).filter((name) => name.startsWith("node-"));
  const binaries = names.map((name) => join(folder, "node_modules", name, "bin/node"));
  if (!binaries.every((binary) => existsSync(binary))) loud("npm", ["ci", "--engine-strict=false"], folder);
  const others = binaries.map((binary) => ({ binary, version: loud(binary, ["--version"], root).trim().slice(1) }));
  const own = { binary: process.execPath, version: process.versions.node };
  return [own, ...others.filter(({ version }) => version.split(".")[0] !== own.version.split(".")[0])];
}

/** The commands of the README in an empty folder, and the project that they made. */
function projectOn({ binary, version }) {
  const empty = join(scratch, `node-${version}`);
  mkdirSync(empty);
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|OPENRATH_)|_API_KEY$/i.test(name));
  const env = {
    ...Object.fromEntries(kept),
    ...{ PATH: `${dirname(binary)}${delimiter}${process.env.PATH}`, npm_config_registry: registry.url, npm_config_cache: cache },
    ...{ npm_config_yes: "true", npm_config_fund: "false", npm_config_audit: "false", npm_config_update_notifier: "false" },
    // Node has SQLite itself from 22.13 on: there the optional driver, which may have to be compiled, is left out.
    ...(Number.parseInt(version, 10) >= 22 ? { npm_config_omit: "optional" } : prebuilt()),
  };
  const folder = join(empty, "agents");
  const run = async (line, cwd = folder) => {
    const { code, out, err } = await shell(line, cwd, env);
    if (code !== 0) throw new Error(`${line}: exit code ${code}\n${out}${err}`);
    return out;
  };
  const quickStart = async () => {
    const out = await run(commands, empty);
    if (!out.includes("There are 6 words.")) throw new Error(`no answer in: ${out}`);
    return "There are 6 words.";
  };
  return { root, folder, env, node: binary, version, run, quickStart };
}

/** The driver as `npm ci` compiled it here, where its install script looks for one that is built: users download it, compiling takes a minute. */
function prebuilt() {
  const driver = join(root, "node_modules/better-sqlite3");
  if (!existsSync(join(driver, "build/Release/better_sqlite3.node"))) return {};
  const { version } = JSON.parse(readFileSync(join(driver, "package.json"), "utf8"));
  const name = `better-sqlite3-v${version}-node-v${process.versions.modules}-${process.platform}-${process.arch}.tar.gz`;
  const folder = join(scratch, "prebuilds");
  mkdirSync(folder);
  loud("tar", ["-czf", join(folder, name), "build/Release/better_sqlite3.node"], driver);
  return { npm_config_better_sqlite3_local_prebuilds: folder };
}

async function attempt(name, check) {
  const began = performance.now();
  try {
    const seen = await check();
    console.log(`  ok      ${((performance.now() - began) / 1000).toFixed(1)} s  ${name}${seen ? `: ${seen}` : ""}`);
    return true;
  } catch (error) {
    failed += 1;
    console.log(`  FAILED  ${name}: ${error.stack}`);
    return false;
  }
}

function judge({ what, figure, limit, shown, limits }) {
  if (figure > limit) failed += 1;
  console.log(`  ${figure > limit ? "FAILED" : "ok    "}  ${what}: ${shown(figure)}, limit ${limits(limit)}`);
}

/** Not synchronous: the registry lives in this process. */
function shell(line, cwd, env) {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-e", "-c", line], { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: patience });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code: code ?? signal, out, err }));
  });
}

function loud(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", timeout: patience });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed in ${cwd}\n${stdout}${stderr}`);
  return stdout;
}

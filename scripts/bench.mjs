// `npm run bench`: builds the library if dist is missing or stale, installs the peers at first use, runs bench/main.mjs.
// Options: --json (only JSON on stdout; with npm use `npm run -s bench -- --json`), --only NAME[,NAME], --quick.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const bench = join(root, "bench");

const built = modified(join(root, "dist/index.js"));
if (newestSource(join(root, "src")) > built) {
  say(built === 0 ? "Building the library" : "Building the library again: src/ is newer than dist/");
  run("npm", ["run", "build"], root);
}
if (modified(join(bench, "node_modules/.package-lock.json")) < modified(join(bench, "package-lock.json"))) {
  say("Installing the peers into bench/ with npm ci (first use or new lock file; compiles better-sqlite3, a minute or two)");
  run("npm", ["ci", "--no-engine-strict"], bench); // a peer names a newer Node than ours; `npm run` hands down the root's strictness
}
const { status } = spawnSync(process.execPath, [join(bench, "main.mjs"), ...process.argv.slice(2)], { cwd: bench, stdio: "inherit" });
process.exitCode = status ?? 1;

function run(command, args, cwd) {
  const done = spawnSync(command, args, { cwd, stdio: ["ignore", 2, 2] }); // stdout belongs to the report
  if (done.status === 0) return;
  say(`${command} ${args.join(" ")} failed in ${cwd}`);
  process.exit(1);
}

function newestSource(directory) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  const sources = files.filter((file) => file.isFile() && !/\.test(-d)?\.ts$/.test(file.name));
  return Math.max(0, ...sources.map((file) => modified(join(file.parentPath, file.name))));
}

function modified(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

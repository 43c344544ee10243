// Runs the subjects one after another, each in its own process (own heap, own compiled code), and prints one report.
// Started by scripts/bench.mjs, which sees to the build and to the peers.
import { fork } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { row, table } from "./report.mjs";

const SUBJECTS = [
  "commit",
  "agent",
  "peers",
  "disk",
  "fork",
  "best-of-n",
  "open",
  "audit",
  "replay",
  "start",
  "group",
  "workspace",
  "retrieval",
  "memory",
  "runs",
  "server",
];

const usage = `npm run bench -- [--quick] [--only NAME,...] [--json]\nNames: ${SUBJECTS.join(", ")}.\n`;
const options = { json: { type: "boolean" }, quick: { type: "boolean" }, only: { type: "string" }, help: { type: "boolean" } };
const { values } = given();
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const wanted = values.only?.split(",") ?? SUBJECTS;
const unknown = wanted.filter((name) => !SUBJECTS.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no benchmark named ${unknown.join(", ")}. Known: ${SUBJECTS.join(", ")}.\n`);
  process.exit(2);
}

const rows = [];
let broken = false;
for (const [index, name] of wanted.entries()) {
  process.stderr.write(`[${index + 1}/${wanted.length}] ${name}\n`);
  const measured = await measure(name);
  broken ||= measured === undefined;
  rows.push(...(measured ?? [{ ...row(name, null, "failed"), ok: false }]));
}
rmSync(join(import.meta.dirname, ".tmp"), { recursive: true, force: true });
process.stdout.write(values.json ? `${JSON.stringify(rows, null, 2)}\n` : `\n${table(rows)}\n`);
process.exitCode = broken ? 1 : 0; // a missed goal is a result, not an error

function given() {
  try {
    return parseArgs({ options });
  } catch (error) {
    process.stderr.write(`${error.message}\n${usage}`);
    process.exit(2);
  }
}

/** The rows of one subject, or undefined if its process failed. */
function measure(name) {
  const child = fork(join(import.meta.dirname, "subject.mjs"), [name, ...(values.quick ? ["--quick"] : [])], {
    execArgv: ["--expose-gc"],
    stdio: ["ignore", 2, 2, "ipc"],
  });
  return new Promise((resolve) => {
    let measured;
    child.on("message", (message) => (measured = message));
    child.on("exit", (code) => resolve(code === 0 ? measured : undefined));
  });
}

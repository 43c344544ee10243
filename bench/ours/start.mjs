// What starting costs: a bare Node, Node that imports the package, and the command line; in turns.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { median, now, progress } from "../measure.mjs";
import { row } from "../report.mjs";

const entry = new URL("../../dist/index.js", import.meta.url);
const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const COMMANDS = {
  bare: ["--input-type=module", "-e", ""],
  import: ["--input-type=module", "-e", `await import(${JSON.stringify(entry.href)})`],
  cli: [cli, "--version"],
};

export async function measure({ quick }) {
  const passes = quick ? 7 : 15;
  const names = Object.keys(COMMANDS).filter((name) => name !== "cli" || existsSync(cli));
  const times = Object.fromEntries(names.map((name) => [name, []]));
  progress(`${passes} starts of ${names.join(", ")}`);
  for (let pass = 0; pass <= passes; pass++) {
    for (const name of names) {
      const ms = start(COMMANDS[name]);
      if (pass > 0) times[name].push(ms); // the first is warm-up
    }
  }
  return [
    row("bare Node", median(times.bare), "ms"),
    row('import "openrath" over bare Node', median(times.import.map((ms, i) => ms - times.bare[i])), "ms", "<= 60"),
    row("openrath --version", times.cli ? median(times.cli) : null, times.cli ? "ms" : "not built", "<= 150"),
  ];
}

function start(args) {
  const begin = now();
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`);
  return now() - begin;
}

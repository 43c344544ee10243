#!/usr/bin/env node
/** The command `openrath`. It imports nothing of the package before a command needs it, so that it starts at once. */
import { readFileSync } from "node:fs";

const help = `Usage: openrath [--version | --help]

  -v, --version  print the version
  -h, --help     print this text

There are no commands yet. This version is a library: import it with
  import { openrath } from "openrath";
Commands to list, show, resume, replay, verify, export and import sessions come later.
`;

const options = new Map([
  ["--help", () => help],
  ["-h", () => help],
  ["--version", version],
  ["-v", version],
]);

/** Gives the exit code. Data goes to stdout, everything else to stderr. */
function main([first = "--help", extra]: readonly string[]): number {
  const text = options.get(first);
  if (text === undefined) return misused(`There is no ${first.startsWith("-") ? "option" : "command"} "${first}".`);
  if (extra !== undefined) return misused(`"${first}" takes no arguments, but "${extra}" was given.`);
  process.stdout.write(text());
  return 0;
}

function misused(problem: string): number {
  process.stderr.write(`${problem} See: openrath --help\n`);
  return 2;
}

/** From the manifest two folders up, which is the same from src/ and from dist/. */
function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return `${(JSON.parse(manifest) as { readonly version: string }).version}\n`;
}

process.exitCode = main(process.argv.slice(2));

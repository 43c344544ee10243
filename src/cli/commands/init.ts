/** `openrath init [DIR]`: a small project that runs at once, offline from a script, and live when MODEL names a model. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Command } from "commander";
import { version } from "../../runtime/version.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { projectFiles } from "../project-files.ts";
import { shellWord } from "../shell-word.ts";
import { show } from "../shown.ts";

interface Options {
  readonly yes?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("make a small project")
    .description(
      "Makes a small TypeScript project: a project file, one agent with one tool, and a test. It runs offline, and live when MODEL names a model.",
    )
    .argument("[dir]", "the folder; default: this one")
    .option("-y, --yes", "write over files that are there")
    .action((folder: string | undefined, options: Options) => init(cli, folder, options));
}

async function init(cli: Cli, given: string | undefined, { yes }: Options): Promise<void> {
  const folder = resolve(cli.host.cwd, given ?? (await asked(cli)));
  const files = projectFiles(nameOf(folder), version());
  const there = Object.keys(files).filter((file) => existsSync(join(folder, file)));
  if (there.length > 0)
    await cli.confirm(`${folder} has ${there.join(", ")} already. Write over ${there.length === 1 ? "it" : "them"}?`, yes);
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  if (cli.asJson) return cli.data({ folder, files: Object.keys(files) });
  for (const file of Object.keys(files)) cli.print(show`${relative(cli.host.cwd, join(folder, file))}`);
  const place = relative(cli.host.cwd, folder);
  cli.next(`${place === "" ? "" : `cd ${shellWord(place)} && `}npm install`);
  cli.afterwards("npm test && npm start");
}

async function asked(cli: Cli): Promise<string> {
  if (!cli.canAsk) return ".";
  const { isCancel, text } = await import("@clack/prompts");
  const folder = await text({
    message: "Which folder?",
    placeholder: ".",
    defaultValue: ".",
    output: process.stderr,
    signal: cli.host.signal,
  });
  if (isCancel(folder)) throw new Fault(exits.interrupted, "Nothing was made.");
  return folder;
}

/** What npm takes as a name. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "");
  return name === "" ? "agents" : name;
}

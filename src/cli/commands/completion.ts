/** `openrath completion SHELL`: a script that completes commands, options, their choices, and ids. */
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { tabbed } from "../print-list.ts";
import { runRows, sessionRows } from "../sessions.ts";
import { shellScript, shells } from "../shell-scripts.ts";

const where = {
  bash: "openrath completion bash > ~/.local/share/bash-completion/completions/openrath",
  zsh: "openrath completion zsh > ~/.zsh/completions/_openrath, in a folder of $fpath",
  fish: "openrath completion fish > ~/.config/fish/completions/openrath.fish",
};

export function define(command: Command, cli: Cli): void {
  command
    .summary("print a script that completes commands and ids")
    .description("Prints a script for a shell: commands, options, choices, and ids of sessions and runs.");
  for (const shell of shells)
    command
      .command(shell)
      .summary(`for ${shell}: ${where[shell]}`)
      .action(() => cli.host.out.write(shellScript(shell, command.parent as Command)));
  command
    .command("ids", { hidden: true })
    .summary("ids of sessions and runs, the newest first, with what they are called")
    .action(() => printIds(cli));
}

const most = 200;
/** A shell waits for it while somebody types. */
const patienceMs = 250;
/** A shell expands the words it is given: an id from a stranger's bundle may be anything. */
const harmless = /^[0-9A-Za-z][0-9A-Za-z-]*$/;

/** Whatever goes wrong, nothing is said: the line that is being typed must not be disturbed. */
async function printIds(cli: Cli): Promise<void> {
  const enough = new Promise<undefined>((resolve) => setTimeout(resolve, patienceMs, undefined).unref());
  const found = await Promise.race([listed(cli), enough]).catch(() => undefined);
  for (const [id, title] of found ?? [])
    if (harmless.test(id)) cli.print(tabbed([id, title.slice(0, 60).replace(/[^\p{L}\p{N}.,!?_-]+/gu, " ")]));
}

async function listed(cli: Cli): Promise<readonly (readonly [id: string, title: string])[]> {
  const project = await cli.project();
  const sessions = (await sessionRows(project)).filter((row) => row.parent === undefined).slice(-most);
  const runs = (await runRows(project)).slice(-most);
  return [
    ...sessions.reverse().map((row) => [row.id, row.title ?? "session"] as const),
    ...runs.reverse().map((row) => [row.id, `run of ${row.workflow}, ${row.status}`] as const),
  ];
}

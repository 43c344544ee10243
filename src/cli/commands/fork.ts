/** `openrath fork ID@step`: a branch of its own that begins there. */
import type { Command } from "commander";
import { shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

export function define(command: Command, cli: Cli): void {
  command
    .summary("begin a branch at a step")
    .description("Begins a branch at a place and prints its id. The source stays as it is.")
    .argument("<id>", "where it begins: ID, ID@step or ID@event")
    .option("-l, --label <label>", "a name for the branch")
    .action((id: string, { label }: { readonly label?: string }) => fork(cli, id, label));
}

async function fork(cli: Cli, id: string, label: string | undefined): Promise<void> {
  const { rath } = await cli.project();
  const source = await openSession(cli, id);
  const forked = await rath.save(source.fork(label));
  if (cli.asJson) return cli.data({ ...forked.toJSON(), from: source.toJSON(), label: label ?? null });
  const short = await shortIds(cli);
  cli.print(show`${cli.onTerminal ? short(forked.id) : forked.id}`);
  cli.note(show`forked from ${short(source.id)} at step ${source.step} (${shortEvent(source.head)})`);
  cli.next(`openrath run WORKFLOW --session ${short(forked.id)} --input "…"`);
}

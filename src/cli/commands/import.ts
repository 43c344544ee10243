/** `openrath import FILE`: takes a bundle into this store, after it was verified. */
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { progressing } from "../progress.ts";
import { shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

export function define(command: Command, cli: Cli): void {
  command
    .summary("take a bundle into this store")
    .description(
      "Verifies a bundle and takes it into this store. Ids stay; what is there already is left alone; a session that goes on differently here is refused (exit 4).",
    )
    .argument("<file>", "the file or folder that export made")
    .action((file: string) => importBundle(cli, file));
}

async function importBundle(cli: Cli, file: string): Promise<void> {
  const { rath } = await cli.project({ make: true });
  const session = await progressing(cli, "importing", "events", () => rath.import(resolve(cli.host.cwd, file)));
  if (cli.asJson) return cli.data(session.toJSON());
  const short = await shortIds(cli);
  cli.print(show`${cli.onTerminal ? short(session.id) : session.id}`);
  cli.note(show`imported, at step ${session.step}. If it was signed elsewhere, verify takes that key with --key.`);
  cli.next(`openrath show ${short(session.id)}`);
}

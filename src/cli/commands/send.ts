/** `openrath send RUN SIGNAL`: sends a signal to a run that waits for one, now or later. */
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { personHere } from "../decide.ts";
import { textOf } from "../options.ts";
import { findOpenRun, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly key?: string;
  readonly by?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("send a signal to a run")
    .description(
      "Sends a signal that session.receive in the run takes, exactly once, now or later. It is durable: whoever executes the run finds it.",
    )
    .argument("<id>", "a run, or a session whose open run it is")
    .argument("<signal>", "its name, as the program asks for it")
    .argument("[data]", "what it says: JSON, else text; @FILE, or - for stdin")
    .option("-k, --key <key>", "sent again with the same key it is one signal")
    .option("--by <person>", "who sends it; default: the user of this machine")
    .action((id: string, signal: string, data: string | undefined, options: Options) => send(cli, id, signal, data, options));
}

async function send(cli: Cli, name: string, signal: string, given: string | undefined, { key, by }: Options): Promise<void> {
  const { rath } = await cli.project();
  const { id, session, workflow } = await findOpenRun(cli, name);
  const data = given === undefined ? undefined : readAs(await textOf(cli, given));
  const who = by ?? personHere(cli);
  await rath.send(id, signal, data, { by: who, ...(key === undefined ? {} : { key }) });
  if (cli.asJson) return cli.data({ run: id, session, signal, data: data ?? null, by: who, key: key ?? null });
  cli.note(show`sent ${signal} to run ${(await shortIds(cli))(id)} of ${workflow}, by ${who}`);
}

/** JSON where it is JSON; any other text is meant as it stands. */
function readAs(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

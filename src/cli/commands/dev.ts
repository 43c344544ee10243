/** `openrath dev`: serves the project while it is written. A change restarts the server; open runs go on with the new code. */
import { createServer } from "node:net";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { Dev } from "../dev.ts";
import { exits, Fault } from "../fault.ts";
import { portOf } from "../options.ts";
import { configOf } from "../project.ts";

interface Options {
  readonly port: number;
  readonly open: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("serve the project, and again whenever it changes")
    .description(
      "Serves the project on this machine with a worker, and prints a link that lets one browser in. When a file of the project changes, the server starts again and open runs go on with the new code. Each run that ends is replayed at once. Keys: r runs the newest session again with the changed code, l prints a link for another browser, q stops.",
    )
    .option("-p, --port <number>", "which port; 0 takes a free one", portOf("--port"), 7284)
    .option("--no-open", "do not open a browser")
    .action((options: Options) => dev(cli, options));
}

async function dev(cli: Cli, { port, open }: Options): Promise<void> {
  const config = configOf(cli.settings.config, cli.host.cwd);
  if (config === undefined)
    throw new Fault(exits.notFound, `There is no project here: ${cli.host.cwd} has no openrath.config.ts (or .mts, .js, .mjs).`, {
      next: "openrath init",
    });
  cli.host.heedTermination?.();
  cli.handlesInterrupt = true;
  await new Dev(cli, { config, port: port === 0 ? await freePort() : port, open }).run();
}

/** The same one for every server it starts: whoever was let in comes back to it. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}

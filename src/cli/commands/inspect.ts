/** `openrath inspect FILE|ID`: looks at one session in a browser: of the project, or of a file that export made. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { importSessions } from "../../audit/import/import.ts";
import { openrath } from "../../openrath.ts";
import type { Rath } from "../../runtime/rath.ts";
import { runtimeOf } from "../../runtime/replay.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { openBrowser } from "../open-browser.ts";
import { portOf } from "../options.ts";
import { progressing } from "../progress.ts";
import { openSession } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly port: number;
  readonly open: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("look at a session in the browser")
    .description(
      "Opens the inspector at a session of the project, or at a file that export made: a bundle is verified, held in memory and only looked at, and nothing of it is kept. Answers on this machine alone, to the one browser that the link lets in, until Ctrl+C.",
    )
    .argument("<file|id>", "a file or folder that export made, a session file of OpenRath 1, or a session: ID, or ID@step")
    .option("-p, --port <number>", "which port; 0 takes a free one", portOf("--port"), 0)
    .option("--no-open", "do not open a browser")
    .action((what: string, options: Options) => inspect(cli, what, options));
}

async function inspect(cli: Cli, what: string, { port, open }: Options): Promise<void> {
  // Nothing, resolved, is the folder one stands in.
  if (what.trim() === "") throw new Fault(exits.usage, "Which session, or which file? It cannot be empty.", { next: "openrath ls" });
  const file = resolve(cli.host.cwd, what);
  const isFile = existsSync(file);
  if (!isFile && !/^[0-9a-f-]+(@[0-9a-f]+)?$/i.test(what))
    throw new Fault(exits.notFound, `There is no file ${file}, and no id of a session looks like that.`, { next: "openrath export ID" });
  const { rath, session } = isFile ? await fromFile(cli, file) : await fromStore(cli, what);
  const [{ createServer }, { listen }, { browserLink }] = await Promise.all([
    import("../../server/server.ts"),
    import("../../server/listen.ts"),
    import("../browser-link.ts"),
  ]);
  cli.host.heedTermination?.();
  cli.handlesInterrupt = true;
  const server = createServer(rath);
  await using listening = await listen(server, { port });
  // What is done to a file in memory would be lost: it can only be looked at.
  const link = browserLink(cli, server, listening.url, isFile ? "viewer" : "admin", `/s/${session.id}/graph`);
  cli.print(show`${link}`);
  cli.note(show`lets one browser in, and answers until Ctrl+C`);
  if (open) openBrowser(link);
  const { signal } = cli.host;
  if (!signal.aborted) await new Promise((stopped) => signal.addEventListener("abort", stopped, { once: true }));
  if (isFile) await rath.close();
}

interface Found {
  readonly rath: Rath;
  readonly session: Session;
}

async function fromStore(cli: Cli, id: string): Promise<Found> {
  const { rath } = await cli.project();
  return { rath, session: await openSession(cli, id) };
}

async function fromFile(cli: Cli, file: string): Promise<Found> {
  const rath = openrath({ store: "memory" });
  const imported = await progressing(cli, "reading", "events", () => importSessions(runtimeOf(rath.session()), file));
  await remembered(rath, imported.session);
  return { rath, session: imported.session };
}

/** What the session itself remembered is in its events. What it was based on and is not in the file stays out. */
async function remembered(rath: Rath, session: Session): Promise<void> {
  await rath.memory.publish(session).catch((error: unknown) => {
    if (!RathError.is(error, "memory.changed")) throw error;
  });
}

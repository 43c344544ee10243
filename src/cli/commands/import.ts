/** `openrath import FILE`: takes sessions into this store: a bundle after it was verified, or files of OpenRath 1. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { type Imported, importSessions } from "../../audit/import/import.ts";
import { plural } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { progressing } from "../progress.ts";
import { shortIds } from "../sessions.ts";
import { show } from "../shown.ts";
import { placeOf } from "../store-place.ts";

export function define(command: Command, cli: Cli): void {
  command
    .summary("take sessions into this store")
    .description(
      "Verifies a bundle and takes it into this store. Ids stay; what is there already is left alone; a session that goes on differently here is refused (exit 4). Session files of OpenRath 1 are taken in too, one by one or a folder of them: each begins a session that says where it comes from, and goes on like any other.",
    )
    .argument("<file>", "the file or folder that export made, a session file of OpenRath 1, or a folder of such files")
    .option("--placed", "let tools act where the bundle says, as on the machine it comes from; else they act only where this one says")
    .action((file: string, { placed }: { readonly placed?: true }) => importFile(cli, file, placed));
}

async function importFile(cli: Cli, file: string, placed?: boolean): Promise<void> {
  // Nothing, resolved, is the folder one stands in.
  if (file.trim() === "") throw new Fault(exits.usage, "Which file? It cannot be empty.", { next: "openrath export ID FILE makes one" });
  const path = resolve(cli.host.cwd, file);
  if (!existsSync(path))
    throw new Fault(exits.notFound, `There is no file or folder ${path}.`, { next: "openrath export ID FILE makes one" });
  const { runtime } = await cli.project({ make: true });
  const imported = await progressing(cli, "importing", "events", () => importSessions(runtime, path, { placed }));
  const { format, session } = imported;
  const place = placeOf(await runtime.store());
  if (cli.asJson)
    return cli.data({
      ...session.toJSON(),
      ...{ format, store: place },
      sessions: imported.sessions.map(({ session: one, ...about }) => ({ ...one.toJSON(), ...about })),
    });
  if (format !== "bundle") return printForeign(cli, imported, place);
  const short = await shortIds(cli);
  cli.print(show`${cli.onTerminal ? short(session.id) : session.id}`);
  cli.note(show`imported into ${place}, at step ${session.step}. If it was signed elsewhere, verify takes that key with --key.`);
  cli.next(`openrath show ${short(session.id)}`);
}

async function printForeign(cli: Cli, { session, sessions }: Imported, place: string): Promise<void> {
  const short = await shortIds(cli);
  for (const { session: one, source, known, interrupted } of sessions) {
    cli.print(show`${cli.onTerminal ? short(one.id) : one.id}`);
    const facts = [
      one.lineage.kind,
      `step ${one.step}`,
      ...(interrupted ? ["was interrupted"] : []),
      ...(known ? ["was here already"] : []),
    ];
    cli.note(show`${source}: ${facts.join(", ")}`);
  }
  const fresh = sessions.filter(({ known }) => !known).length;
  cli.note(
    show`recognised: ${sessions.length === 1 ? "a session" : plural(sessions.length, "session")} of OpenRath 1; ${plural(fresh, "session")} imported into ${place}`,
  );
  cli.next(`openrath show ${short(session.id)}`);
}

/** `openrath verify ID`: is the record what was written? */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { count, plural, shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { collected } from "../options.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { openSession } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly anchor?: string;
  readonly key?: readonly string[];
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("check the record against its hashes and signatures")
    .description(
      "Reads everything behind a session again and checks hashes, signatures and contents. Problems are printed; then the exit code is 4. It is 1 when nothing is wrong but signatures are of keys that are not known here.",
    )
    .argument("<id>", "a session")
    .option("--anchor <file>", "statements kept elsewhere, against a record that was cut back")
    .option("--key <key>", "a key of another home whose signatures count; may be given again", collected)
    .action((id: string, options: Options) => verifySession(cli, id, options));
}

async function verifySession(cli: Cli, id: string, { anchor, key }: Options): Promise<void> {
  const session = await openSession(cli, id);
  const file = anchor === undefined ? undefined : resolve(cli.host.cwd, anchor);
  if (file !== undefined && !existsSync(file))
    throw new Fault(exits.notFound, `There is no file ${file} with statements to check against.`);
  const { verify } = await import("../../audit/verify.ts");
  const found = await progressing(cli, "verifying", "events", () => verify(session, { anchor: file, keys: key }));
  const intact = found.problems.length === 0;
  if (!found.ok) cli.exit = intact ? exits.error : exits.differs;
  if (cli.asJson) return cli.data({ session: session.toJSON(), ...found, statement: found.statement ?? null });
  if (!intact)
    printList(cli, found.problems, {
      columns: [
        { name: "EVENT", cell: ({ event }) => cli.ink.cyan(shortEvent(event)), plain: ({ event }) => event },
        { name: "PROBLEM", cell: ({ problem }) => problem },
      ],
      data: (problem) => problem,
      empty: show``,
    });
  const erased = found.erased === 0 ? "" : `, ${count(found.erased)} erased`;
  const counted = `${plural(found.events, "event")} checked${erased}, ${found.unsigned === 0 ? "all signed" : `${count(found.unsigned)} not signed yet`}`;
  if (!intact) cli.warn(show`${cli.errInk.red("not intact:")} ${plural(found.problems.length, "problem")}; ${counted}`);
  else if (!found.ok) {
    const [key = ""] = found.unknownKeys;
    cli.warn(
      show`${cli.errInk.yellow("not proven:")} nothing is wrong, but it is signed by ${plural(found.unknownKeys.length, "key")} not known here: ${found.unknownKeys.join(", ")}; ${counted}`,
    );
    cli.next(`openrath verify ${id} --key ${key}, if openrath doctor shows this key where it was signed`);
  } else if (cli.onTerminal) cli.print(show`${cli.ink.green("intact:")} ${counted}`);
  else cli.print(show`ok\t${found.events}\t${found.unsigned}`);
  if (cli.onTerminal)
    for (const { entry, by, at, reason, events } of found.erasures)
      cli.note(
        show`${cli.errInk.dim("erased:")} ${plural(events, "event")} by ${by} on ${at.slice(0, 10)}: ${reason} (entry ${shortEvent(entry)})`,
      );
  if (found.statement !== undefined && file === undefined && cli.onTerminal)
    cli.note(
      show`${cli.errInk.dim("Keep its newest statement elsewhere to notice later if it was cut back: --json shows it, --anchor takes it.")}`,
    );
}

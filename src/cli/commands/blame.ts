/** `openrath blame ID PATH[:LINE]`: the event that wrote each line of a file, or one of them. */
import type { Command } from "commander";
import { type BlameLine, blame } from "../../audit/blame.ts";
import type { Session } from "../../session/session.ts";
import { plural, shortEvent } from "../../wire/format.ts";
import { neutral } from "../../wire/neutral.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { printList, tabbed } from "../print-list.ts";
import { openSession } from "../sessions.ts";
import { Shown, show } from "../shown.ts";

export function define(command: Command, cli: Cli): void {
  command
    .summary("say which event wrote each line of a file")
    .description(
      "Shows each line of a file of a session with the event that wrote it, through forks, merges and nested work. What was in the directory before is the placement's.",
    )
    .argument("<id>", "a session, or a place in it: ID@step")
    .argument("<path>", "a file, from the root of the workspace; PATH:LINE for one line of it")
    .action((id: string, path: string) => blameFile(cli, id, path));
}

async function blameFile(cli: Cli, id: string, path: string): Promise<void> {
  const session = await openSession(cli, id);
  const lines = await linesOf(session, path);
  // What is in a file keeps its white space, which a list would take away.
  if (!cli.onTerminal && !cli.asJson) for (const line of lines) cli.print(plainLine(line));
  else
    printList(cli, lines, {
      columns: [
        { name: "LINE", cell: ({ line }) => line, right: true },
        { name: "EVENT", cell: ({ event }) => cli.ink.cyan(shortEvent(event.id)) },
        { name: "BY", cell: ({ event }) => event.by },
        { name: "STEP", cell: ({ event }) => event.step, right: true },
        { name: "TEXT", cell: ({ text }) => text },
      ],
      data: dataOf,
      empty: show`${path} is empty.`,
    });
}

/** A file may be called like another one and a line: it goes first. */
async function linesOf(session: Session, path: string): Promise<readonly BlameLine[]> {
  const [, file = "", wanted = ""] = /^(.+):([1-9]\d*)$/s.exec(path) ?? [];
  if (file === "") return blame(session, path);
  const asNamed = await blame(session, path).catch(() => undefined);
  if (asNamed !== undefined) return asNamed;
  const lines = await blame(session, file);
  const line = lines[Number(wanted) - 1];
  if (line !== undefined) return [line];
  throw new Fault(exits.notFound, `${file} has ${plural(lines.length, "line")}: there is no line ${wanted}.`, {
    next: `openrath blame ${session.id} ${file}`,
  });
}

function plainLine({ line, event, text }: BlameLine): Shown {
  return new Shown(`${tabbed([line, event.id, event.by, event.step]).text}\t${neutral(text)}`, 0);
}

function dataOf({ line, text, event, call }: BlameLine): object {
  return { line, text, event: event.id, call: call ?? null, kind: event.kind, by: event.by, session: event.session, step: event.step };
}

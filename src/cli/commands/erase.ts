/** `openrath erase`: removes for good what sessions, events and memories say, after showing what would go. */
import type { Command } from "commander";
import type { EraseOptions, EraseTarget } from "../../runtime/erase.ts";
import type { EraseReport } from "../../runtime/erase-report.ts";
import { plural, shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { personHere } from "../decide.ts";
import { exits, Fault } from "../fault.ts";
import { collected, textOf } from "../options.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";
import { warnUnclean } from "../warn-unclean.ts";

interface Options {
  readonly event?: readonly string[];
  readonly matching?: string;
  readonly memory?: readonly string[];
  readonly principal?: string;
  readonly tag?: string;
  readonly project?: boolean;
  readonly reason?: string;
  readonly by?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("remove for good what a session says, or only a text in it")
    .description(
      "Removes the data of events, the contents that only they name, and the memories made of them. What is left still verifies: envelopes stay, and an entry of the erasure log says who erased what, when and why. Shows what would go, and asks.",
    )
    .argument("[id]", "a session: all it says, or with --matching only what holds a text")
    .option(
      "--matching <text>",
      "only what holds this text, of the session or with --project of everything; @FILE and - read it from there",
    )
    .option("--project", "with --matching: everything in the project")
    .option("--event <id>", "an event; may be given again", collected)
    .option("--memory <uri>", "a memory, or one version of it as uri@version; may be given again", collected)
    .option("--principal <id>", "all sessions of a person")
    .option("--tag <tag>", "all sessions with a tag")
    .requiredOption("--reason <text>", "why, for the record: without what is erased")
    .option("--by <person>", "who erases, for the record; default: the user of this machine")
    .option("-n, --dry-run", "only show what would go")
    .option("-y, --yes", "do not ask")
    .action((id: string | undefined, options: Options) => eraseFor(cli, id, options));
}

async function eraseFor(cli: Cli, id: string | undefined, options: Options): Promise<void> {
  const { reason = "", by = personHere(cli), dryRun = false, yes } = options;
  const target = await targetOf(cli, id, options);
  const { rath } = await cli.project();
  const run = (how: EraseOptions): Promise<EraseReport> =>
    progressing(cli, how.dryRun === true ? "looking for it" : "erasing", "events", () => rath.erase(target, how));
  const would = await run({ by, reason, dryRun: true });
  const nothing = would.events.length + would.blobs.length + would.memories.length === 0;
  if (dryRun || nothing) return tell(cli, would);
  if (!cli.asJson) await list(cli, would);
  await cli.confirm(`Erase ${counts(would)} for good? This cannot be undone.`, yes);
  const report = await run({ by, reason });
  const shown = new Set(would.left.map(({ id }) => id));
  const more = report.left.filter(({ id }) => !shown.has(id));
  if (!cli.asJson && more.length > 0) await list(cli, { ...report, events: [], blobs: [], memories: [], shared: [], left: more });
  await tell(cli, report, false);
}

async function targetOf(cli: Cli, id: string | undefined, options: Options): Promise<EraseTarget> {
  const { event, memory, principal, tag, project } = options;
  const matching = options.matching === undefined ? undefined : await textOf(cli, options.matching);
  if (id === undefined && matching !== undefined && project !== true)
    throw new Fault(exits.usage, "--matching needs a session to look in: name one, or say --project to look in everything.");
  if (project === true && (id !== undefined || matching === undefined))
    throw new Fault(exits.usage, "--project goes with --matching and no session: a whole project is not erased at once.");
  const session = id === undefined ? undefined : (await openSession(cli, id)).id;
  const target: EraseTarget = { session, events: event, memories: memory, principal, tag, matching };
  const given = Object.fromEntries(Object.entries(target).filter(([, value]) => value !== undefined));
  if (Object.keys(given).length === 0)
    throw new Fault(exits.usage, "Say what to erase: a session, --event, --memory, --principal, --tag, or --matching with --project.");
  return given;
}

function counts({ events, blobs, memories }: EraseReport): string {
  const parts = [
    events.length === 0 ? "" : plural(events.length, "event"),
    blobs.length === 0 ? "" : plural(blobs.length, "blob"),
    memories.length === 0 ? "" : `${memories.length} ${memories.length === 1 ? "memory" : "memories"}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** What goes, and what is left, one line each. */
async function list(cli: Cli, report: EraseReport): Promise<void> {
  const rows = [
    ...report.events.map((id) => ({ does: "erase", what: "event", id, why: "" })),
    ...report.blobs.map((id) => ({ does: "erase", what: "blob", id, why: fileAt(report, id) })),
    ...report.memories.map((id) => ({ does: "erase", what: "memory", id, why: "" })),
    ...report.shared.map((id) => ({ does: "shared", what: "session", id, why: "stands on what is erased" })),
    ...report.left.map(({ what, id, why }) => ({ does: "left", what, id, why })),
  ];
  const short = await shortIds(cli);
  printList(cli, rows, {
    columns: [
      { name: "", cell: ({ does }) => (does === "erase" ? cli.ink.red(does) : does), plain: ({ does }) => does },
      { name: "WHAT", cell: ({ what }) => what },
      { name: "ID", cell: ({ id }) => cli.ink.cyan(/^[0-9a-f]{64}$/.test(id) ? shortEvent(id) : short(id)), plain: ({ id }) => id },
      { name: "WHY", cell: ({ why }) => why },
    ],
    data: (row) => row,
    empty: show``,
  });
}

function fileAt({ files }: EraseReport, blob: string): string {
  const path = files.find((file) => file.blob === blob)?.path;
  return path === undefined ? "" : `file ${path}`;
}

async function tell(cli: Cli, report: EraseReport, listed = true): Promise<void> {
  if (cli.asJson) {
    const { toString: _, ...data } = report;
    return cli.data(data);
  }
  const done = counts(report);
  if (listed && (done !== "" || report.left.length > 0)) await list(cli, report);
  if (done === "") cli.note(show`There is nothing to erase.`);
  else if (report.dryRun) cli.note(show`${done} would be erased; nothing was`);
  else cli.note(show`${cli.errInk.green("erased")} ${done}; entry ${shortEvent(report.entries[0] ?? "")} says so`);
  if (report.left.length > 0)
    cli.note(
      show`${plural(report.left.length, "thing")} still ${report.left.length === 1 ? "says, names" : "say, name"} or may hold it: see above`,
    );
  if (!report.scrubbed) warnUnclean(cli);
}

/** `openrath ls`: the sessions of the store, or its runs, newest first. */
import type { Command } from "commander";
import { openRuns } from "../../runtime/open-runs.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import type { LogRow } from "../../store/store.ts";
import { ago, count, exact, money } from "../../wire/format.ts";
import { standingOf } from "../../wire/standing.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { wholeOf } from "../options.ts";
import { type Column, printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import type { Project } from "../project.ts";
import { listRuns } from "../runs.ts";
import { statusInk, whatOf } from "../session-text.ts";
import { sessionRows, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly all?: boolean;
  readonly tag?: string;
  readonly status?: string;
  readonly limit?: number;
  readonly runs?: boolean;
}

interface Item {
  readonly session: Session;
  readonly status: string;
  readonly row: LogRow;
  readonly branches: number;
}

const onePage = 50;
const statuses: readonly string[] = ["idle", "queued", "running", "waiting", "failed", "cancelled", "rejected"];

export function define(command: Command, cli: Cli): void {
  command
    .summary("list sessions, or runs")
    .description("Lists sessions, newest first. Forks are counted with the session they come from.")
    .option("-a, --all", "forks too, each on its own line")
    .option("--tag <tag>", "only those with this tag")
    .option(
      "--status <status>",
      "only idle, queued, running, waiting, failed, cancelled or rejected ones; of runs: queued, running, waiting, done, failed or cancelled",
    )
    .option("-r, --runs", "the runs instead: how they stand, who executes them, since when, and when they go on")
    .option("-n, --limit <number>", `at most so many; 0 for all (default on a terminal: ${onePage})`, wholeOf("--limit"))
    .action((options: Options) => ls(cli, options));
}

async function ls(cli: Cli, options: Options): Promise<void> {
  const limit = (options.limit ?? (cli.onTerminal ? onePage : 0)) || Number.POSITIVE_INFINITY;
  if (options.runs === true) {
    if (options.tag !== undefined || options.all === true)
      throw new Fault(exits.usage, "--tag and --all are about sessions: leave out --runs.");
    return listRuns(cli, { status: options.status, limit });
  }
  if (options.status !== undefined && !statuses.includes(options.status))
    throw new Fault(exits.usage, `Sessions are ${statuses.join(", ")}, not ${options.status}.`);
  const project = await cli.project();
  const rows = await sessionRows(project);
  const parents = new Map(rows.map((row) => [row.id, row.parent]));
  const branches = new Map<string, number>();
  for (const row of rows) {
    const root = rootOf(row.id, parents);
    branches.set(root, (branches.get(root) ?? 0) + 1);
  }
  const wanted = rows.filter((row) => (options.all === true || !parents.has(row.parent ?? "")) && fits(row, options)).reverse();
  const open = await openRuns(await project.runtime.store());
  const items: Item[] = [];
  let left = 0;
  await progressing(cli, "listing", "sessions", async (progress) => {
    for (const row of wanted) {
      if (items.length >= limit) left++;
      else {
        const session = await openOrTell(cli, project, row.id);
        progress.add();
        if (session === undefined) continue;
        const status = standingOf(session.status, open.get(row.id) ?? []);
        if (options.status === undefined || status === options.status)
          items.push({ session, status, row, branches: branches.get(row.id) ?? 1 });
      }
    }
  });
  printList(cli, items, {
    columns: columns(cli, await shortIds(cli), parents),
    data: ({ session, status, row, branches: made }) => ({
      ...session.toJSON(),
      ...{ status, title: row.title ?? null, label: session.lineage.label ?? null, parent: row.parent ?? null },
      ...{ tags: row.tags ?? [], branches: made, usage: session.usage, changed: session.now().toISOString() },
    }),
    empty:
      options.tag === undefined && options.status === undefined
        ? show`There are no sessions. Start one with: openrath run WORKFLOW --input "…"`
        : show`There are no sessions like that. Forks are listed with --all.`,
  });
  if (left > 0) cli.note(show`${cli.errInk.dim(`and ${count(left)} older: --limit ${items.length + left}`)}`);
}

/** One that is damaged is named, and keeps nobody from the others. */
async function openOrTell(cli: Cli, { rath }: Project, id: string): Promise<Session | undefined> {
  try {
    return await rath.open(id);
  } catch (error) {
    if (!RathError.is(error, "store.corrupt")) throw error;
    cli.warn(show`${cli.errInk.yellow("not read:")} session ${id}: ${error.message}`);
    cli.exit = exits.error;
    return undefined;
  }
}

function columns(cli: Cli, short: (id: string) => string, parents: ReadonlyMap<string, string | undefined>): readonly Column<Item>[] {
  const tokens = ({ session: { usage } }: Item): number => usage.input + usage.output;
  return [
    { name: "ID", cell: ({ session }) => cli.ink.cyan(short(session.id)), plain: ({ session }) => session.id },
    { name: "STATUS", cell: ({ status }) => statusInk(cli, status) },
    { name: "SESSION", cell: ({ session, row }) => whatOf(session, row.title), rest: true },
    {
      name: "FORK OF",
      cell: ({ row }) => short(parents.has(row.parent ?? "") ? (row.parent ?? "") : ""),
      plain: ({ row }) => row.parent ?? "",
      optional: true,
      spare: true,
    },
    {
      name: "BRANCHES",
      cell: ({ branches }) => (branches > 1 ? branches : ""),
      plain: ({ branches }) => branches,
      right: true,
      optional: true,
      spare: true,
    },
    { name: "STEP", cell: ({ session }) => session.step, right: true },
    {
      name: "TOKENS",
      cell: (item) => (tokens(item) > 0 ? count(tokens(item)) : ""),
      plain: tokens,
      right: true,
      optional: true,
      spare: true,
    },
    {
      name: "COST",
      cell: ({ session: { usage } }) => (usage.usd > 0 ? money(usage.usd) : ""),
      plain: ({ session }) => exact(session.usage.usd),
      right: true,
      optional: true,
      spare: true,
    },
    {
      name: "CHANGED",
      cell: ({ session }) => ago(session.now().toISOString(), cli.host.now()),
      plain: ({ session }) => session.now().toISOString(),
    },
  ];
}

function rootOf(id: string, parents: ReadonlyMap<string, string | undefined>): string {
  let root = id;
  for (let parent = parents.get(root); parent !== undefined && parents.has(parent); parent = parents.get(root)) root = parent;
  return root;
}

function fits(row: LogRow, { tag }: Options): boolean {
  return tag === undefined || row.tags?.includes(tag) === true;
}

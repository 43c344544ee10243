/** `openrath sandbox`: what is open on this disk, a command where a session is placed, and the removal of what was left behind. */
import type { Command } from "commander";
import { graph } from "../../audit/graph.ts";
import type { SandboxRecord } from "../../session/session.ts";
import { ago, plural, size } from "../../wire/format.ts";
import { sizeOf } from "../../workspace/leftovers.ts";
import { machine } from "../../workspace/machine.ts";
import { type Orphan, openCheckouts, orphans, removeOrphan } from "../../workspace/owner.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { printList } from "../print-list.ts";
import { execIn } from "../sandbox-exec.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Removing {
  readonly orphans?: boolean;
  readonly elsewhere?: boolean;
  readonly yes?: boolean;
}

interface Row extends Orphan {
  readonly status: "open" | "orphaned" | "elsewhere";
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("list sandboxes, run a command in one, remove what is left")
    .description("Sandboxes whose files are on this disk. They are caches: what is on record is in the sessions.");
  command
    .command("ls", { isDefault: true })
    .summary("list the sandboxes on this disk, or all that were ever opened")
    .option("-a, --all", "every sandbox on record: who opened it, whether and why it was closed")
    .option("--session <id>", "on record, only of this session and its branches")
    .action((options: { readonly all?: boolean; readonly session?: string }) =>
      options.all === true || options.session !== undefined ? onRecord(cli, options.session) : ls(cli),
    );
  command
    .command("exec")
    .summary("run a command where a session is placed")
    .description(
      "Runs a command where a session is placed, on a fork of it, so that it is on record and the session stays as it is. Ends with the exit code of the command.",
    )
    .argument("<session>", "a session, or a place in it: ID@step")
    .argument("<command...>", "after --: one text for a shell, or a program and its arguments")
    .option("-t, --timeout <time>", "stop it after this time, like 30s or 5m (exit 124); default: 2m")
    .action((session: string, words: readonly string[], options: { readonly timeout?: string }) => execIn(cli, session, words, options));
  command
    .command("rm")
    .summary("remove sandboxes whose process is gone")
    .argument("[ids...]", "beginnings of their ids")
    .option("--orphans", "all of them")
    .option("--elsewhere", "also those you name of a machine or container that is gone for good: nobody here can see that")
    .option("-y, --yes", "do not ask")
    .action((ids: readonly string[], options: Removing) => rm(cli, ids, options));
}

async function rowsOf(cli: Cli): Promise<readonly Row[]> {
  const home = await homeOf(cli);
  if (home === undefined) return [];
  const dead = new Set((await orphans(home)).map(({ id }) => id));
  return (await openCheckouts(home)).map((one) => ({ ...one, status: statusOf(one, dead) }));
}

function statusOf({ id, owner }: Orphan, dead: ReadonlySet<string>): Row["status"] {
  if (dead.has(id)) return "orphaned";
  return owner === undefined || owner.host === machine() ? "open" : "elsewhere";
}

async function homeOf(cli: Cli): Promise<string | undefined> {
  return (await cli.project()).runtime.sandboxes.places.home();
}

async function ls(cli: Cli): Promise<void> {
  const rows = await Promise.all((await rowsOf(cli)).map(async (row) => ({ ...row, bytes: await sizeOf(row.directory) })));
  const short = await shortIds(cli);
  const paint = { open: cli.ink.green, orphaned: cli.ink.yellow, elsewhere: cli.ink.dim };
  printList(cli, rows, {
    columns: [
      { name: "ID", cell: ({ id }) => cli.ink.cyan(id) },
      { name: "FILES", cell: ({ owner }) => owner?.kind ?? "" },
      { name: "SESSION", cell: ({ owner }) => short(owner?.session ?? ""), plain: ({ owner }) => owner?.session ?? "" },
      { name: "PROCESS", cell: ({ owner }) => owner?.pid ?? "", right: true },
      { name: "STATUS", cell: ({ status }) => paint[status](status), plain: ({ status }) => status },
      {
        name: "SINCE",
        cell: ({ owner }) => (owner === undefined ? "" : ago(owner.opened, cli.host.now())),
        plain: ({ owner }) => owner?.opened ?? "",
      },
      { name: "SIZE", cell: ({ bytes }) => size(bytes), plain: ({ bytes }) => bytes, right: true },
    ],
    data: ({ id, owner, status, bytes, directory }) => ({
      ...{
        id,
        status,
        files: owner?.kind ?? null,
        session: owner?.session ?? null,
        process: owner?.pid ?? null,
        host: owner?.host ?? null,
      },
      ...{ since: owner?.opened ?? null, bytes, directory },
    }),
    empty: show`No sandbox has files on this disk.`,
  });
  if (rows.some(({ status }) => status === "orphaned")) cli.next("openrath sandbox rm --orphans");
}

/** Every sandbox that was opened, and what became of it, whoever's disk it was on. */
async function onRecord(cli: Cli, session: string | undefined): Promise<void> {
  const { rath } = await cli.project();
  const of = session === undefined ? undefined : new Set((await graph(await openSession(cli, session))).nodes.map(({ id }) => id));
  const records: SandboxRecord[] = [];
  for await (const record of rath.sandboxes()) if (of?.has(record.session) !== false) records.push(record);
  const short = await shortIds(cli);
  const paint = { open: cli.ink.green, closed: cli.ink.dim, lost: cli.ink.yellow, unknown: cli.ink.yellow };
  printList(cli, records, {
    columns: [
      { name: "ID", cell: ({ id }) => cli.ink.cyan(id) },
      { name: "ISOLATION", cell: ({ isolation }) => isolation },
      { name: "SESSION", cell: (one) => short(one.session), plain: (one) => one.session },
      { name: "RUN", cell: ({ run }) => short(run), plain: ({ run }) => run },
      { name: "STATUS", cell: ({ status }) => paint[status](status), plain: ({ status }) => status },
      { name: "OPENED", cell: ({ opened }) => ago(opened, cli.host.now()), plain: ({ opened }) => opened },
      { name: "CLOSED", cell: ({ closed }) => closed?.problem ?? closed?.reason ?? "", rest: true },
    ],
    data: (record) => ({ ...record, workspace: record.workspace ?? null, closed: record.closed ?? null }),
    empty: show`No sandbox was ever opened here.`,
  });
}

async function rm(cli: Cli, ids: readonly string[], { orphans: all = false, elsewhere = false, yes }: Removing): Promise<void> {
  if (all === ids.length > 0) throw new Fault(exits.usage, "Name sandboxes, or say --orphans for all whose process is gone.");
  const rows = await rowsOf(cli);
  const chosen = all ? rows.filter(({ status }) => status === "orphaned") : ids.map((id) => named(rows, id));
  // All are looked at before any is removed.
  for (const row of chosen) refuseInUse(row, elsewhere);
  const far = chosen.filter(({ status }) => status === "elsewhere");
  const hosts = [...new Set(far.map(({ owner }) => owner?.host ?? ""))].join(", ");
  if (far.length > 0) await cli.confirm(`Remove ${plural(far.length, "sandbox")} of ${hosts}? What still runs there loses its files.`, yes);
  const home = (await homeOf(cli)) ?? "";
  for (const row of chosen) await removeOrphan(home, row, elsewhere);
  if (cli.asJson) return cli.data({ removed: chosen.map(({ id }) => id) });
  for (const { id } of chosen) cli.print(show`${id}`);
  cli.note(chosen.length === 0 ? show`There are no sandboxes whose process is gone.` : show`removed ${plural(chosen.length, "sandbox")}`);
}

function named(rows: readonly Row[], id: string): Row {
  const found = rows.filter((row) => row.id === id || row.id.startsWith(id));
  const exact = found.find((row) => row.id === id) ?? found[0];
  if (exact === undefined || id === "")
    throw new Fault(exits.notFound, `There is no sandbox ${id} on this disk.`, { next: "openrath sandbox ls" });
  if (found.length > 1 && exact.id !== id) throw new Fault(exits.usage, `${id} is the beginning of ${found.length} ids: write more of it.`);
  return exact;
}

/** Files under a running process are not taken away: it would work on with others. */
function refuseInUse({ id, status, owner }: Row, elsewhere: boolean): void {
  if (status === "orphaned" || (status === "elsewhere" && elsewhere)) return;
  if (status === "elsewhere")
    throw new Fault(
      exits.notAllowed,
      `Sandbox ${id} is of ${owner?.host ?? "another machine"}, which cannot be seen from here. Nothing was removed.`,
      {
        next: `openrath sandbox rm ${id} --elsewhere, if that machine or container is gone`,
      },
    );
  throw new Fault(
    exits.notAllowed,
    `Sandbox ${id} is in use by process ${owner?.pid ?? "that is just starting"}: end that first. Nothing was removed.`,
    {
      next: "openrath sandbox ls",
    },
  );
}

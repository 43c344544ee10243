/** `openrath db`: the database behind the store: bring it to this version's format, check it, copy it. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { accessFile } from "../../access/sqlite-upkeep.ts";
import { memoryFile } from "../../memory/sqlite-upkeep.ts";
import { accessBeside, memoryBeside } from "../../openrath.ts";
import { RathError } from "../../session/errors.ts";
import type { DatabaseTables } from "../../store/postgres-upkeep.ts";
import { type DatabaseFile, storeFile } from "../../store/sqlite-upkeep.ts";
import { count, plural, size } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { countsText, type Database, databasesOf } from "../databases.ts";
import { exits, Fault } from "../fault.ts";
import type { Finding } from "../finding.ts";
import { collected } from "../options.ts";
import { dump } from "../pg-dump.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { sessionRows } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly store?: string;
}

interface CheckOptions extends Options {
  readonly all?: boolean;
  readonly key?: readonly string[];
}

/** Where the copy of each is, beside that of the store, and what it is. */
const besides = { store: (file: string) => file, memory: memoryBeside, access: accessBeside };
const files = { store: storeFile, memory: memoryFile, access: accessFile };

/** So many of the newest sessions are verified unless all are asked for. */
const sample = 100;

export function define(command: Command, cli: Cli): void {
  command
    .summary("migrate, check and back up the database of the store")
    .description(
      "Looks after the databases of the store, of its memory and of its keys. Without --store it is the one of the project file, of OPENRATH_STORE, or in .openrath/.",
    );
  const verb = (name: string, summary: string): Command =>
    command.command(name).summary(summary).option("--store <address>", "a file, or the URL of a PostgreSQL database");
  verb("migrate", "bring it to the format of this version")
    .description("Brings the database to the format of this version, in one transaction. There is no way back: make a backup first.")
    .option("--check", "change nothing; exit 4 if there is something to do")
    .action((options: Options & { readonly check?: boolean }) => migrate(cli, options));
  verb("check", "say whether it is sound")
    .description(
      "Checks the format, the integrity of the database and the record of its newest sessions: hashes, signatures, contents. Exit 4 when something is wrong. Nothing is changed.",
    )
    .option("-a, --all", `verify every session, not the newest ${sample}`)
    .option("--key <key>", "a key of another home whose signatures count; may be given again", collected)
    .action((options: CheckOptions) => check(cli, options));
  verb("backup", "copy it to a new file while it is in use")
    .description(
      "Copies the store to FILE, its memory and its keys beside it, as they are at this moment, while others work on them. The copy is verified. Of a PostgreSQL database it is made by pg_dump.",
    )
    .argument("<file>", "a file that is not there yet")
    .action((file: string, options: Options) => backup(cli, file, options));
}

interface Step {
  readonly database: Database;
  readonly from: number;
}

async function migrate(cli: Cli, { store, check: dry = false }: Options & { readonly check?: boolean }): Promise<void> {
  const steps: Step[] = [];
  for (const database of await databasesOf(cli, store)) {
    // A file is made by the first run. Tables may have to be made by somebody who is allowed to, before anybody else connects.
    const from = (await database.format()) ?? (database.tables === undefined ? undefined : 0);
    if (from !== undefined) steps.push({ database, from });
  }
  const due = steps.filter(({ database, from }) => from < database.newest);
  if (!dry) for (const { database } of due) await database.migrate();
  printList(cli, steps, {
    columns: [
      { name: "WHAT", cell: ({ database }) => database.what },
      { name: "FROM", cell: ({ from }) => from, right: true },
      { name: "TO", cell: ({ database }) => database.newest, right: true },
      { name: "WHERE", cell: ({ database }) => database.place },
    ],
    data: ({ database, from }) => ({
      ...{ what: database.what, place: database.place, from, to: database.newest },
      changed: !dry && from < database.newest,
    }),
    empty: show`There is no database yet: the first run makes it, in the newest format.`,
  });
  if (steps.length === 0) return;
  if (due.length === 0) cli.note(show`There is nothing to do.`);
  else if (!dry) cli.note(show`${cli.errInk.green("migrated")} ${due.map(({ database }) => database.what).join(", ")}`);
  else {
    cli.exit = exits.differs;
    cli.warn(show`${due.map(({ database }) => database.what).join(", ")} would be migrated; nothing was changed`);
    cli.next("openrath db backup FILE, then openrath db migrate");
  }
}

async function check(cli: Cli, options: CheckOptions): Promise<void> {
  const databases = await databasesOf(cli, options.store);
  const findings: Finding[] = [];
  for (const database of databases) findings.push(...(await checked(database)));
  // Opening it further would bring an older one to the newest format, and a damaged one is worse than its sessions can say.
  if (findings.every(({ status }) => status !== "fail") && findings[0]?.status === "ok") findings.push(...(await verified(cli, options)));
  const failed = findings.filter(({ status }) => status === "fail");
  if (failed.length > 0) cli.exit = exits.differs;
  const paint = { ok: cli.ink.green, warn: cli.ink.yellow, fail: cli.ink.red, none: cli.ink.dim };
  printList(cli, findings, {
    columns: [
      { name: "CHECK", cell: ({ check: what }) => what },
      { name: "STATUS", cell: ({ status }) => paint[status](status === "none" ? "-" : status), plain: ({ status }) => status },
      { name: "DETAIL", cell: ({ detail }) => detail },
    ],
    data: ({ check: what, status, detail, fix }) => ({ check: what, status, detail, fix: fix ?? null }),
    empty: show``,
  });
  for (const { check: what, fix } of failed) if (fix !== undefined) cli.warn(show`${cli.errInk.red(what)}: ${fix}`);
}

/** One that cannot even be opened is what a check is there to find. */
async function checked(database: Database): Promise<readonly Finding[]> {
  try {
    return await database.check();
  } catch (error) {
    if (!RathError.is(error, "store.corrupt")) throw error;
    return [{ check: database.what, status: "fail", detail: error.message }];
  }
}

async function verified(cli: Cli, { all = false, key: keys }: CheckOptions): Promise<readonly Finding[]> {
  const project = await cli.project();
  const rows = await sessionRows(project);
  const chosen = all ? rows : rows.slice(-sample);
  const [{ verifyStore }, { verifyLog }] = await Promise.all([
    import("../../audit/verify-store.ts"),
    import("../../audit/check-record.ts"),
  ]);
  const broken: Finding[] = [];
  const foreign = new Set<string>();
  let events = 0;
  await progressing(cli, "verifying", "events", async (progress) => {
    const only = new Set(chosen.map(({ id }) => id));
    // What sessions share is read once, and counted once.
    const { families } = await verifyStore(project.runtime, { keys, only, onProgress: (read) => progress.add(read) });
    for (const { sessions, verification } of families) {
      events += verification.events;
      // A copy, and what another machine wrote, was signed with a key that is elsewhere: no damage, and no proof either.
      if (verification.unknownKeys.length > 0)
        for (const row of sessions) if ((await verifyLog(project.runtime, row, { keys })).unknownKeys.length > 0) foreign.add(row.id);
      const wrong = new Map<string, string>();
      for (const { session = "", problem } of verification.problems) {
        const id = only.has(session) ? session : (sessions[0]?.id ?? "");
        if (!wrong.has(id)) wrong.set(id, problem);
      }
      for (const [id, detail] of wrong) broken.push({ check: `session ${id}`, status: "fail", detail, fix: `openrath verify ${id}` });
    }
  });
  const rest = rows.length - chosen.length;
  const left = rest === 0 ? "" : `, ${count(rest)} older not looked at: --all`;
  return [
    ...(foreign.size === 0
      ? []
      : [
          {
            ...{ check: "signatures", status: "warn" as const },
            detail: `${plural(foreign.size, "session")} signed by a key that is not here: give it with --key, or check where it is`,
          },
        ]),
    ...(broken.length > 0
      ? broken
      : [
          {
            check: "sessions",
            status: "ok" as const,
            detail: `${plural(chosen.length, "session")}, ${plural(events, "event")} verified${left}`,
          },
        ]),
  ];
}

async function backup(cli: Cli, to: string, { store }: Options): Promise<void> {
  const databases = await databasesOf(cli, store);
  const file = resolve(cli.host.cwd, to);
  const tables = databases.find((database) => database.tables !== undefined)?.tables;
  if (tables !== undefined) return dumped(cli, tables, file);
  const copies = databases.flatMap(({ what, file: from }) =>
    from === undefined || from.format() === undefined ? [] : [{ what, from, to: besides[what](file) }],
  );
  if (copies.length === 0) throw new Fault(exits.notFound, "There is nothing to back up: there is no database yet.");
  for (const copy of copies) await refuseExisting(copy.to);
  for (const copy of copies) {
    if (cli.host.err.isTTY) cli.note(show`copying ${copy.from.path}, ${size(copy.from.bytes())} …`);
    copy.from.copyTo(copy.to);
    proven(copyOf(copy));
  }
  printList(cli, copies, {
    columns: [
      { name: "WHAT", cell: ({ what }) => what },
      { name: "FILE", cell: (copy) => copy.to },
      { name: "HOLDS", cell: (copy) => countsText(copyOf(copy)) },
    ],
    data: (copy) => ({ what: copy.what, file: copy.to, bytes: copyOf(copy).bytes(), holds: copyOf(copy).counts() }),
    empty: show``,
  });
  cli.note(show`${cli.errInk.dim(`signing-key.pem is not in it: keep a copy of that elsewhere, where only you can read it.`)}`);
  cli.next(`openrath db check --store ${file}`);
}

async function dumped(cli: Cli, tables: DatabaseTables, file: string): Promise<void> {
  await refuseExisting(file);
  if ((await tables.format()) === undefined) throw new Fault(exits.notFound, "There is nothing to back up: there is no database yet.");
  const bytes = await progressing(cli, "dumping", "files", () => dump(tables, file));
  if (cli.asJson) return cli.data([{ what: "store", file, bytes }]);
  cli.print(show`store\t${file}\t${size(bytes)}`);
  cli.next(`pg_restore --dbname=URL ${file}, into a database without these schemas`);
}

async function refuseExisting(file: string): Promise<void> {
  if ((await stat(file).catch(() => undefined)) === undefined) return;
  throw new Fault(exits.differs, `${file} is there already, and backups overwrite nothing.`, { next: "name a file that is not there yet" });
}

function copyOf({ what, to }: { readonly what: Database["what"]; readonly to: string }): DatabaseFile {
  return files[what](to);
}

/** A copy that cannot be read is none. */
function proven(copy: DatabaseFile): void {
  const problems = copy.problems();
  if (problems.length > 0)
    throw new Fault(exits.differs, `${copy.path} is a damaged copy: ${problems[0]}. Do not rely on it.`, { next: "openrath db check" });
}

/** The databases behind a project, as whoever operates them sees them: those of the store, of its memory and of its keys. */
import type { Runtime } from "../runtime/runtime.ts";
import { tenancyOf } from "../runtime/tenancy.ts";
import type { DatabaseTables } from "../store/postgres-upkeep.ts";
import { type DatabaseFile, storeFileOf } from "../store/sqlite-upkeep.ts";
import { plural, seconds, size } from "../wire/format.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import type { Finding } from "./finding.ts";
import { show } from "./shown.ts";

export interface Database {
  readonly what: "store" | "memory" | "access";
  /** Never with a password. */
  readonly place: string;
  readonly newest: number;
  /** Undefined while there is none. */
  format(): Promise<number | undefined>;
  migrate(): Promise<void>;
  check(): Promise<readonly Finding[]>;
  /** Where it is kept in a file of its own. */
  readonly file?: DatabaseFile;
  /** Where it is kept in PostgreSQL. */
  readonly tables?: DatabaseTables;
}

/** Looking through larger files takes seconds, in which nothing can be drawn. */
const largeBytes = 64 * 1024 * 1024;

export async function databasesOf(cli: Cli, store: string | undefined): Promise<readonly Database[]> {
  const { runtime } = await cli.project({ store });
  const open = await runtime.store();
  const kept = storeFileOf(open);
  const { storeTablesOf } = await import("../store/postgres-upkeep.ts");
  const tables = storeTablesOf(open);
  if (kept === undefined && tables === undefined)
    throw new Fault(exits.usage, "This store is neither a file nor a PostgreSQL database of ours: look after it with its own tools.");
  const main = tables === undefined ? inFile(cli, "store", kept as DatabaseFile) : inTables("store", tables, () => checkTables(tables));
  return [main, ...(await memoryOf(cli, runtime)), ...(await accessOf(cli, runtime))];
}

async function memoryOf(cli: Cli, runtime: Runtime): Promise<readonly Database[]> {
  const memory = await runtime.memories.store();
  const { memoryFileOf } = await import("../memory/sqlite-upkeep.ts");
  const file = memoryFileOf(memory);
  if (file !== undefined) return [inFile(cli, "memory", file)];
  const { memoryTablesOf } = await import("../memory/postgres-upkeep.ts");
  const tables = memoryTablesOf(memory);
  return tables === undefined ? [] : [inTables("memory", tables, () => checkFormat("memory", tables))];
}

export async function accessOf(cli: Cli, runtime: Runtime): Promise<readonly Database[]> {
  await using access = await tenancyOf(runtime).openAccess();
  const { accessFileOf } = await import("../access/sqlite-upkeep.ts");
  const file = accessFileOf(access);
  if (file !== undefined) return [inFile(cli, "access", file)];
  const { accessTablesOf } = await import("../access/postgres-upkeep.ts");
  const tables = accessTablesOf(access);
  return tables === undefined ? [] : [inTables("access", tables, () => checkFormat("access", tables))];
}

async function checkFormat(what: Database["what"], tables: DatabaseTables): Promise<readonly Finding[]> {
  const format = await tables.format();
  if (format === undefined) return [{ check: what, status: "none", detail: `${tables.place} has no tables for it yet` }];
  return [formatFinding(what, format, tables.newest)];
}

function inFile(cli: Cli, what: Database["what"], file: DatabaseFile): Database {
  return {
    what,
    file,
    place: file.path,
    newest: file.newest,
    format: async () => file.format(),
    migrate: () => file.migrate(),
    check: async () => checkFile(cli, what, file),
  };
}

function inTables(what: Database["what"], tables: DatabaseTables, check: Database["check"]): Database {
  const { place, newest, schema } = tables;
  return {
    ...{ what, tables, newest, check, place: `${place}, schema ${schema}` },
    format: () => tables.format(),
    migrate: () => tables.migrate(),
  };
}

/** Leases are judged by the server's clock, deadlines and timers by the machine's. */
const mostSkewMs = 1000;

async function checkTables(tables: DatabaseTables): Promise<readonly Finding[]> {
  const format = await tables.format();
  if (format === undefined) return [{ check: "store", status: "none", detail: `${tables.place} has no schema ${tables.schema} yet` }];
  const finding = formatFinding("store", format, tables.newest);
  if (finding.status !== "ok") return [finding];
  const { factsOf } = await import("../store/postgres-upkeep.ts");
  const { server, skewMs, boss, bytes, counts } = await factsOf(tables);
  const skewed = Math.abs(skewMs) > mostSkewMs;
  return [
    finding,
    { check: "server", status: "ok", detail: `PostgreSQL ${server}, ${tables.place}` },
    {
      ...{ check: "clock", status: skewed ? "warn" : "ok" },
      detail: skewed
        ? `the server's is ${seconds(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} this machine's`
        : "that of this machine",
      fix: skewed ? "let both follow the same time server" : undefined,
    },
    boss === undefined
      ? { check: "pg-boss", status: "none", detail: "no worker has made its tables yet" }
      : { check: "pg-boss", status: "ok", detail: `tables of version ${boss}` },
    { check: "store holds", status: "ok", detail: `${countsOf(counts)}, ${size(bytes)} in the database` },
  ];
}

function checkFile(cli: Cli, what: Database["what"], file: DatabaseFile): readonly Finding[] {
  const format = file.format();
  if (format === undefined) return [{ check: what, status: "none", detail: `${file.path} is not there yet` }];
  if (file.bytes() > largeBytes && cli.host.err.isTTY) cli.note(show`reading ${file.path}, ${size(file.bytes())} …`);
  const problems = file.problems();
  return [
    formatFinding(what, format, file.newest),
    ...(problems.length > 0
      ? problems.map((detail): Finding => ({ check: `${what} integrity`, status: "fail", detail, fix: "restore it from a backup" }))
      : [{ check: `${what} integrity`, status: "ok", detail: `${file.path} is sound` } as const]),
    { check: `${what} holds`, status: "ok", detail: countsText(file) },
  ];
}

function formatFinding(what: Database["what"], now: number, newest: number): Finding {
  const check = `${what} format`;
  if (now === newest) return { check, status: "ok", detail: `${now}, the newest` };
  return { check, status: "fail", detail: `${now}; this version of openrath writes ${newest}`, fix: "openrath db migrate" };
}

export function countsText(file: DatabaseFile): string {
  return `${countsOf(file.counts())}, ${size(file.bytes())}`;
}

function countsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([noun, number]) => plural(number, singular(noun)))
    .join(", ");
}

function singular(noun: string): string {
  return noun.endsWith("ies") ? noun.replace(/ies$/, "y") : noun.replace(/s$/, "");
}

/** The databases behind a project, as whoever operates them sees them: that of the store and that of its memory. */
import { type DatabaseFile, storeFileOf } from "../store/sqlite-upkeep.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import type { Finding } from "./finding.ts";
import { plural, size } from "./format.ts";
import { show } from "./shown.ts";

export interface Database {
  readonly what: "store" | "memory";
  /** Never with a password. */
  readonly place: string;
  readonly newest: number;
  /** Undefined while there is none. */
  format(): Promise<number | undefined>;
  migrate(): Promise<void>;
  check(): Promise<readonly Finding[]>;
  /** Where it is kept in a file of its own. */
  readonly file?: DatabaseFile;
}

/** Looking through larger files takes seconds, in which nothing can be drawn. */
const largeBytes = 64 * 1024 * 1024;

export async function databasesOf(cli: Cli, store: string | undefined): Promise<readonly Database[]> {
  const { runtime } = await cli.project({ store });
  const kept = storeFileOf(await runtime.store());
  if (kept === undefined)
    throw new Fault(exits.usage, "This store is neither a file nor a PostgreSQL database of ours: look after it with its own tools.");
  const { memoryFileOf } = await import("../memory/sqlite-upkeep.ts");
  const memory = memoryFileOf(await runtime.memories.store());
  return [inFile(cli, "store", kept), ...(memory === undefined ? [] : [inFile(cli, "memory", memory)])];
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

export function formatFinding(what: Database["what"], now: number, newest: number): Finding {
  const check = `${what} format`;
  if (now === newest) return { check, status: "ok", detail: `${now}, the newest` };
  return { check, status: "fail", detail: `${now}; this version of openrath writes ${newest}`, fix: "openrath db migrate" };
}

export function countsText(file: DatabaseFile): string {
  const counts = Object.entries(file.counts()).map(([noun, number]) => plural(number, singular(noun)));
  return `${counts.join(", ")}, ${size(file.bytes())}`;
}

function singular(noun: string): string {
  return noun === "memories" ? "memory" : noun.replace(/s$/, "");
}

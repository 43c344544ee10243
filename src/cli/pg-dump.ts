/** A dump of a PostgreSQL database by its own tool: only that knows how. */
import { spawn } from "node:child_process";
import { open, rm, stat } from "node:fs/promises";
import type { DatabaseTables } from "../store/postgres-upkeep.ts";
import { exits, Fault } from "./fault.ts";

/** What to type where it cannot be done from here. */
function dumpCommand({ schema }: DatabaseTables, file: string): string {
  return `pg_dump --format=custom --schema=${schema} --schema=${schema}_boss --file=${file} "$DATABASE_URL"`;
}

/** Writes the schemas of a store to a new file that only its owner can read; gives its size. */
export async function dump(tables: DatabaseTables, file: string): Promise<number> {
  const { url, schema } = tables;
  if (url === undefined)
    throw new Fault(exits.usage, "This store was given a pool of connections, so pg_dump cannot be told where the database is.", {
      next: dumpCommand(tables, file),
    });
  const address = new URL(url);
  const { password } = address;
  // Arguments can be read by everybody on this machine, the environment cannot.
  address.password = "";
  const args = ["--no-password", "--format=custom", `--schema=${schema}`, `--schema=${schema}_boss`, `--dbname=${address.href}`];
  const target = await open(file, "wx", 0o600);
  try {
    const said = await ran("pg_dump", args, { PGPASSWORD: decodeURIComponent(password) }, target.fd);
    if (said !== undefined)
      throw new Fault(exits.error, `pg_dump could not copy ${tables.place}: ${said}`, { next: dumpCommand(tables, file) });
    await target.sync();
    return (await stat(file)).size;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await target.close();
  }
}

/** Undefined when it went well, else what it said. */
function ran(command: string, args: readonly string[], env: Readonly<Record<string, string>>, out: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const inherited = env["PGPASSWORD"] === "" ? process.env : { ...process.env, ...env };
    const child = spawn(command, args, { env: inherited, stdio: ["ignore", out, "pipe"] });
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.on("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "ENOENT" ? "it is not installed here. Its major version must be that of the server, or newer" : error.message),
    );
    child.on("close", (code) => resolve(code === 0 ? undefined : said.trim() || `it ended with ${code}`));
  });
}

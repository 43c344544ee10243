/** Finding what a user names: sessions, places in them, events and runs, each by a unique beginning of its id. */
import { hasEnded } from "../runtime/run-row.ts";
import type { Session } from "../session/session.ts";
import type { LogRow, RunRow } from "../store/store.ts";
import { shortener } from "../wire/format.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import type { Project } from "./project.ts";

/** `ID`, `ID@step` or `ID@event`. */
export async function openSession(cli: Cli, name: string): Promise<Session> {
  const { rath } = await cli.project();
  return rath.open(name.toLowerCase());
}

/** The rows of all sessions, in order of creation. */
export async function sessionRows({ runtime }: Project, parent?: string): Promise<readonly LogRow[]> {
  const rows: LogRow[] = [];
  for await (const row of (await runtime.store()).sessions({ log: "session", parent })) rows.push(row);
  return rows;
}

/** Shortens the ids of sessions and runs where people read them; complete everywhere else. A short one means one thing only. */
export async function shortIds(cli: Cli): Promise<(id: string) => string> {
  if (!cli.onTerminal && !cli.host.err.isTTY) return (id) => id;
  const project = await cli.project();
  const ids = new Set([...(await sessionRows(project)), ...(await runRows(project))].map((row) => row.id));
  const short = shortener(ids);
  // What was made since then is told apart from the rest too.
  return (id) => (ids.has(id) ? short : shortener([...ids, id]))(id);
}

/** The runs there are, or those of a session, oldest first. */
export async function runRows({ runtime }: Project, session?: string): Promise<readonly RunRow[]> {
  const rows: RunRow[] = [];
  for await (const row of (await runtime.store()).runs({})) if (session === undefined || row.session === session) rows.push(row);
  return rows;
}

/** A run by a beginning of its id that no other run has. */
export async function runNamed(cli: Cli, name: string): Promise<RunRow | undefined> {
  const found = name === "" ? [] : (await runRows(await cli.project())).filter(({ id }) => id.startsWith(name.toLowerCase()));
  if (found.length > 1) throw new Fault(exits.usage, `${name} is the beginning of ${found.length} ids of runs: write more of it.`);
  return found[0];
}

/** A run by a beginning of its id, or the newest run of a session named so that has not ended; else the newest. */
export function findOpenRun(cli: Cli, name: string): Promise<RunRow> {
  return findRun(cli, name, (runs) => runs.findLast(({ status }) => !hasEnded(status)) ?? runs.at(-1));
}

/** A run by a beginning of its id, or one of the runs of a session named so: the newest, unless told otherwise. */
export async function findRun(
  cli: Cli,
  name: string,
  choose: (runs: readonly RunRow[]) => RunRow | undefined = (runs) => runs.at(-1),
): Promise<RunRow> {
  const project = await cli.project();
  const wanted = name.toLowerCase();
  const runs = await runRows(project);
  const sessions = (await sessionRows(project)).filter((row) => row.id.startsWith(wanted));
  const newest = sessions.flatMap((session) => choose(runs.filter((run) => run.session === session.id)) ?? []);
  const found = new Set([...runs.filter((run) => run.id.startsWith(wanted)), ...newest]);
  const [run, ...others] = runs.some(({ id }) => id === wanted) ? runs.filter(({ id }) => id === wanted) : found;
  if (others.length > 0) throw new Fault(exits.usage, `${name} is the beginning of several ids, of ${found.size} runs: write more of it.`);
  if (run !== undefined) return run;
  const [session] = sessions;
  throw session === undefined
    ? new Fault(exits.notFound, `There is no run ${name} in this store.`, { next: "openrath ls --runs" })
    : new Fault(exits.notFound, `Session ${session.id} has no durable run.`, { next: `openrath run WORKFLOW --session ${session.id}` });
}

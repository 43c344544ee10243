/** Finding what a user names: sessions, places in them, events and runs, each by a unique beginning of its id. */
import type { Run } from "../runtime/runs.ts";
import type { Session } from "../session/session.ts";
import type { LogRow } from "../store/store.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import { shortener } from "./format.ts";
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

/** Shortens session ids on a terminal; complete everywhere else. */
export async function shortSessions(cli: Cli): Promise<(id: string) => string> {
  if (!cli.onTerminal && !cli.host.err.isTTY) return (id) => id;
  return shortener((await sessionRows(await cli.project())).map((row) => row.id));
}

/** A run by a beginning of its id, or the newest run of a session. */
export async function findRun(cli: Cli, name: string): Promise<Run> {
  const { rath } = await cli.project();
  const runs: Run[] = [];
  for await (const run of rath.runs()) runs.push(run);
  const wanted = name.toLowerCase();
  const found = runs.filter((run) => run.id.startsWith(wanted));
  const exact = found.find((run) => run.id === wanted);
  if (exact !== undefined || found.length === 1) return (exact ?? found[0]) as Run;
  if (found.length > 1) throw new Fault(exits.usage, `${name} is the beginning of ${found.length} run ids: write more of it.`);
  const session = await rath.open(wanted).catch(() => undefined);
  const newest = runs.filter((run) => run.session === session?.id).at(-1);
  if (newest !== undefined) return newest;
  throw new Fault(
    exits.notFound,
    session === undefined ? `There is no run ${name} in this store.` : `Session ${session.id} has no durable run.`,
    {
      next: session === undefined ? "openrath ls" : `openrath run WORKFLOW --session ${session.id}`,
    },
  );
}

/** The runs of a session, oldest first. */
export async function runsOf(
  { runtime }: Project,
  session: string,
): Promise<readonly { readonly id: string; readonly workflow: string; readonly status: string }[]> {
  const runs: { readonly id: string; readonly workflow: string; readonly status: string }[] = [];
  for await (const row of (await runtime.store()).runs({})) if (row.session === session) runs.push(row);
  return runs;
}

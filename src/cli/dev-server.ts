/** What a server does besides, while its project is written: it replays what ends, and runs the newest session again when asked. */
import type { RunWork } from "../runtime/worker.ts";
import { textOfThrown } from "../session/thrown.ts";
import { money, plural } from "../wire/format.ts";
import type { Cli } from "./cli.ts";
import type { Project } from "./project.ts";
import { runRows } from "./sessions.ts";
import { show } from "./shown.ts";

/** A run that ended is replayed at once: what is not a function of its record shows while one still knows what one wrote. */
export async function replayEnded(cli: Cli, { rath, workflows }: Project, { run, session, workflow, status }: RunWork): Promise<void> {
  const code = Object.hasOwn(workflows, workflow) ? workflows[workflow] : undefined;
  if (status !== "done" || code === undefined) return;
  try {
    const { replay } = await import("../runtime/replay.ts");
    const report = await replay(await rath.open(session), code);
    const name = show`${workflow} ${run.slice(0, 8)}`;
    if (report.identical) cli.note(show`${name} ${cli.errInk.green("done")}, replayed: ${String(report)}`);
    else cli.warn(show`${name} ${cli.errInk.red("does not replay")}: ${String(report)}`);
  } catch (error) {
    cli.warn(show`${workflow} was not replayed: ${textOfThrown(error)}`);
  }
}

/** Runs the newest session again with the code as it is now, on a fork; says how much of the record served. */
export async function rerunNewest(cli: Cli, project: Project): Promise<void> {
  const newest = (await runRows(project)).at(-1);
  if (newest === undefined) {
    cli.warn(show`there is nothing to run again: no run was started here`);
    return;
  }
  const code = Object.hasOwn(project.workflows, newest.workflow) ? project.workflows[newest.workflow] : undefined;
  if (code === undefined) {
    cli.warn(show`the newest run is of "${newest.workflow}", which the project does not name any more`);
    return;
  }
  cli.note(show`running ${newest.workflow} again`);
  try {
    const { rerun } = await import("../runtime/rerun.ts");
    const { session, reused, of, saved, split } = await rerun(await project.rath.open(newest.session), code);
    const since = split === undefined ? "" : `, the rest from step ${split.step} (${split.kind}) on`;
    cli.note(
      show`${session.id.slice(0, 8)}: ${reused} of ${plural(of, "result")} reused${saved.usd > 0 ? `, ${money(saved.usd)} saved` : ""}${since}`,
    );
    if (session.text !== "") cli.note(show`${session.text}`);
  } catch (error) {
    cli.warn(show`it was not run again: ${textOfThrown(error)}`);
  }
}

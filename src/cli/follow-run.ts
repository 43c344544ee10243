/** Follows a run until it cannot go on by itself: what is said and done on the way, what came out, and the exit code. */
import type { Settled } from "../runtime/run.ts";
import type { Run } from "../runtime/run-handle.ts";
import type { Pending, Session } from "../session/session.ts";
import { plural, seconds, shortEvent } from "../wire/format.ts";
import { pendingText } from "../wire/pending-line.ts";
import type { Cli } from "./cli.ts";
import { exitCodeOf } from "./exit-code.ts";
import { type Exit, exits } from "./fault.ts";
import { type Heard, listen } from "./listen.ts";
import { progressing } from "./progress.ts";
import { reportError } from "./report-error.ts";
import { answerCommand, outputOf, outputText, stopOf, stopText, usageText } from "./session-text.ts";
import { shortIds } from "./sessions.ts";
import { json, show } from "./shown.ts";

interface FollowOptions {
  /** Show only what happens after this event. */
  readonly after?: string | undefined;
  readonly timedOut?: () => boolean;
  /** One turn of many: no remarks about what went well. */
  readonly brief?: boolean;
  /** Another process executes it: Ctrl+C ends following it, not the run. */
  readonly others?: boolean;
}

/** Waits through timers, prints, and sets the exit code. */
export async function followRun(cli: Cli, run: Run, options: FollowOptions = {}): Promise<Settled> {
  cli.handlesInterrupt = options.others !== true;
  const began = cli.host.now().getTime();
  const { settled, heard } = await progressing(cli, `running ${run.workflow}`, "events", async (progress) => {
    const listening = listen(cli, run, { after: options.after, onEvent: () => progress.add() });
    const came = await settle(cli, run);
    await listening.until(came);
    return { settled: came, heard: listening };
  });
  cli.exit = exitOf(settled, options.timedOut?.() === true);
  if (cli.settings.jsonl === true) cli.print(json({ type: "settled", ...dataOf(run, settled) }));
  else if (cli.settings.json === true) cli.data(dataOf(run, settled));
  else await tell(cli, run, settled, heard, options.brief === true ? undefined : cli.host.now().getTime() - began);
  return settled;
}

/** A run that waits for nothing but the time goes on by itself. */
async function settle(cli: Cli, run: Run): Promise<Settled> {
  for (;;) {
    const settled = await run.settle();
    if (settled.status !== "waiting" || settled.diverged !== undefined || cli.host.signal.aborted) return settled;
    const wakes = settled.pending.map((one) => (one.kind === "timer" ? Date.parse(one.wakes) : undefined));
    if (wakes.length === 0 || wakes.includes(undefined)) return settled;
    const left = Math.min(...(wakes as number[])) - Date.now();
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(left, 20), 1000)));
  }
}

/** The exit code of what a run came to. */
export function exitOf(settled: Settled, timedOut: boolean): Exit {
  switch (settled.status) {
    case "done":
      return exitOfStop(settled.session.stop);
    case "waiting":
      return settled.diverged === undefined ? exits.waiting : exits.differs;
    case "failed":
      return exitCodeOf(settled.error);
    case "cancelled":
      return timedOut ? exits.timeout : exits.interrupted;
    default:
      return settled satisfies never;
  }
}

/** A run may end well and its agent not. */
function exitOfStop(stop: Session["stop"]): Exit {
  switch (stop) {
    case undefined:
    case "finished":
      return exits.ok;
    case "length":
    case "rounds":
    case "budget":
      return exits.limit;
    case "refused":
      return exits.notAllowed;
    case "invalid":
      return exits.invalid;
    case "cancelled":
      return exits.interrupted;
    case "error":
      return exits.error;
    default:
      return stop satisfies never;
  }
}

function dataOf(run: Run, settled: Settled): object {
  const { session } = settled;
  return {
    ...{ run: run.id, workflow: run.workflow, status: settled.status, session: session.id, head: session.head, step: session.step },
    ...{ stop: session.stop ?? null, reason: stopOf(session)?.reason ?? null },
    ...{ output: outputOf(session) ?? null, usage: session.usage },
    ...(settled.status === "waiting" ? { pending: settled.pending, diverged: settled.diverged ?? null } : {}),
    ...(settled.status === "failed" ? { error: { code: settled.error.code, message: settled.error.message } } : {}),
  };
}

async function tell(cli: Cli, run: Run, settled: Settled, heard: Heard, ms: number | undefined): Promise<void> {
  const { session } = settled;
  const short = await shortIds(cli);
  const id = short(session.id);
  switch (settled.status) {
    case "done": {
      const output = outputText(cli, session);
      if (output !== undefined && output !== heard.lastText) cli.print(show`${output.replace(/\n$/, "")}`);
      const stop = stopOf(session);
      if (stop !== undefined) cli.warn(show`${cli.errInk.yellow("stopped:")} ${stopText(stop)}`);
      if (ms === undefined) return;
      const { usage } = session;
      const changes = await session.files.changes();
      const facts = [
        ...[`session ${id}`, `step ${session.step}`],
        ...(changes.length === 0 ? [] : [`${plural(changes.length, "file")} changed`]),
        ...(usage.input + usage.output === 0 ? [] : [usageText(usage)]),
        seconds(ms),
      ];
      if (stop === undefined) cli.note(show`${cli.errInk.green("done")} ${cli.errInk.dim(facts.join(", "))}`);
      else cli.note(show`${cli.errInk.dim(facts.join(", "))}`);
      cli.next(`openrath log ${id} --graph`, ...(changes.length === 0 ? [] : [`openrath diff ${id} --patch`, `openrath apply ${id}`]));
      return;
    }
    case "waiting":
      if (settled.diverged !== undefined) {
        cli.warn(
          show`${cli.errInk.red("diverged:")} ${settled.diverged.text}. The program does not ask for what it recorded; nothing was called.`,
        );
        cli.next(`openrath replay ${id}`, `openrath resume ${short(run.id)} --on-divergence fork, to go the new way on a fork`);
        return;
      }
      if (ms === undefined) return;
      tellPending(cli, settled.pending);
      cli.afterwards(`openrath resume ${short(run.id)}`);
      return;
    case "failed":
      reportError(cli, settled.error);
      cli.note(show`${cli.errInk.dim(`session ${id}, step ${session.step}: what was done is on record`)}`);
      cli.next(`openrath log ${id} --oneline`);
      return;
    case "cancelled":
      cli.warn(
        show`${cli.errInk.yellow("cancelled")} ${cli.errInk.dim(`session ${id}, step ${session.step}: what was done is on record`)}`,
      );
      cli.next(`openrath log ${id} --oneline`);
      return;
    default:
      settled satisfies never;
  }
}

function tellPending(cli: Cli, pending: readonly Pending[]): void {
  cli.warn(
    show`${cli.errInk.yellow("waiting")} for ${plural(pending.filter(({ kind }) => kind !== "timer" && kind !== "signal").length, "answer")}`,
  );
  for (const one of pending) {
    cli.warn(show`  ${one.kind} ${shortEvent(one.id)}: ${pendingText(one)}`);
    const command = answerCommand(one, shortEvent(one.id));
    if (command !== undefined) cli.next(command);
  }
}

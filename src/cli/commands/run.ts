/** `openrath run WHAT`: starts a durable run and follows it. */
import type { Command } from "commander";
import { Agent } from "../../agent/agent.ts";
import { type Run, startedBefore } from "../../runtime/run-handle.ts";
import type { Duration, Session } from "../../session/session.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { findWorkflow } from "../find-workflow.ts";
import { followRun } from "../follow-run.ts";
import { anyNumberOf, collected, durationOf, numberOf, textOf } from "../options.ts";
import { openSession, shortIds } from "../sessions.ts";
import { shellWord } from "../shell-word.ts";
import { show } from "../shown.ts";

interface Options {
  readonly input?: string;
  readonly session?: string;
  readonly budget?: number;
  readonly key?: string;
  readonly timeout?: string;
  readonly priority?: number;
  readonly deadline?: string;
  readonly queue?: boolean;
  readonly title?: string;
  readonly tag?: readonly string[];
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("start a run and follow it")
    .description(
      "Starts a workflow of the project file, or one that a file exports, and follows it. The result goes to stdout. Killed on the way, it goes on with: openrath resume.",
    )
    .argument("<what>", "a name of the project file, or FILE[#export]")
    .option("-i, --input <text>", "what is said first: text, @FILE, or - for stdin")
    .option("-s, --session <id>", "go on with this session instead of a new one")
    .option("-b, --budget <usd>", "stop before more than this is spent, in US dollars", numberOf("--budget"))
    .option("-k, --key <key>", "the same key and input are the same run, however often it is started")
    .option("-t, --timeout <time>", "cancel after this time, like 30s or 5m (exit 124)")
    .option("--deadline <time>", "it fails if it has not ended by then, whoever executes it: like 2h, or 2026-12-31T12:00Z")
    .option("--priority <number>", "of several that wait for a worker the highest goes first", anyNumberOf("--priority"))
    .option("--queue", "only queue it, for openrath worker, and print its id")
    .option("--title <title>", "a title for the new session")
    .option("--tag <tag>", "a tag for the new session; may be given again", collected)
    .action((what: string, options: Options) => run(cli, what, options));
}

async function run(cli: Cli, what: string, options: Options): Promise<void> {
  const { rath } = await cli.project({ make: true });
  const { workflow, name } = await findWorkflow(cli, what);
  const input = options.input === undefined ? undefined : await textOf(cli, options.input);
  const session = await startOf(cli, input, options);
  if (workflow instanceof Agent && session.messages.length === 0)
    throw new Fault(exits.usage, `Agent ${what} would be asked nothing: the session has no message yet.`, {
      next: `openrath run ${shellWord(what)} --input "…"`,
    });
  const timeout = options.timeout === undefined ? undefined : AbortSignal.timeout(durationOf(options.timeout, "--timeout"));
  const signal = timeout === undefined ? cli.host.signal : AbortSignal.any([cli.host.signal, timeout]);
  const limits = options.budget === undefined ? undefined : { usd: options.budget };
  const { key, priority } = options;
  const deadline = options.deadline === undefined ? undefined : deadlineOf(options.deadline);
  if (options.queue === true) {
    const queued = await rath.run(name ?? (workflow as never), session, { key, priority, deadline, limits, queue: true });
    return tellQueued(cli, queued, name !== undefined);
  }
  const short = await shortIds(cli);
  // Nothing is waited for between start and following: what is said first would be heard late.
  const started = await rath.run(name ?? (workflow as never), session, { key, priority, deadline, signal, limits });
  const again = startedBefore.has(started) ? ", started before with this key: what has a result comes from the record" : "";
  cli.note(show`${cli.errInk.dim(`run ${short(started.id)}${again}`)}`);
  await followRun(cli, started, { timedOut: () => timeout?.aborted === true });
}

async function startOf(cli: Cli, input: string | undefined, { session, title, tag }: Options): Promise<Session> {
  const { rath } = await cli.project();
  if (session === undefined) return rath.session(input, { title, tags: tag });
  const opened = await openSession(cli, session);
  return input === undefined ? opened : opened.say(input);
}

/** Its id is the data: whoever works on the store executes it. */
async function tellQueued(cli: Cli, run: Run, named: boolean): Promise<void> {
  if (cli.asJson) return cli.data({ run: run.id, session: run.session, workflow: run.workflow, status: await run.status() });
  cli.print(show`${run.id}`);
  if (!named) cli.warn(show`Only a worker whose openrath.config.ts names "${run.workflow}" executes it.`);
  cli.note(show`${cli.errInk.dim(`queued in session ${run.session}: openrath worker executes it`)}`);
  cli.next(`openrath ls --runs`);
}

function deadlineOf(text: string): Duration | Date {
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text);
  durationOf(text, "--deadline");
  return text as Duration;
}

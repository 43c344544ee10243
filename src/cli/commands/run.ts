/** `openrath run WHAT`: starts a durable run and follows it. */
import type { Command } from "commander";
import { durationMs } from "../../session/duration.ts";
import type { Duration, Session } from "../../session/session.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { findWorkflow } from "../find-workflow.ts";
import { followRun } from "../follow-run.ts";
import { collected, numberOf, textOf } from "../options.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly input?: string;
  readonly session?: string;
  readonly budget?: number;
  readonly key?: string;
  readonly timeout?: string;
  readonly title?: string;
  readonly tag?: readonly string[];
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("start a run and follow it")
    .description(
      "Starts a workflow of the configuration, or one that a file exports, and follows it. The result goes to stdout. Killed on the way, it goes on with: openrath resume.",
    )
    .argument("<what>", "a name of the configuration, or FILE[#export]")
    .option("-i, --input <text>", "what is said first: text, @FILE, or - for stdin")
    .option("-s, --session <id>", "go on with this session instead of a new one")
    .option("-b, --budget <usd>", "stop before more than this is spent, in US dollars", numberOf("--budget"))
    .option("-k, --key <key>", "the same key and input are the same run, however often it is started")
    .option("-t, --timeout <time>", "cancel after this time, like 30s or 5m (exit 124)")
    .option("--title <title>", "a title for the new session")
    .option("--tag <tag>", "a tag for the new session; may be given again", collected)
    .action((what: string, options: Options) => run(cli, what, options));
}

async function run(cli: Cli, what: string, options: Options): Promise<void> {
  const { rath } = await cli.project({ make: true });
  const { workflow, name } = await findWorkflow(cli, what);
  const input = options.input === undefined ? undefined : await textOf(cli, options.input);
  const session = await startOf(cli, input, options);
  const timeout = options.timeout === undefined ? undefined : AbortSignal.timeout(timeoutMs(options.timeout));
  const signal = timeout === undefined ? cli.host.signal : AbortSignal.any([cli.host.signal, timeout]);
  const limits = options.budget === undefined ? undefined : { usd: options.budget };
  const short = await shortIds(cli);
  // Nothing is waited for between start and following: what is said first would be heard late.
  const started = await rath.run(name ?? (workflow as never), session, { key: options.key, signal, limits });
  cli.note(show`${cli.errInk.dim(`run ${short(started.id)}`)}`);
  await followRun(cli, started, { timedOut: () => timeout?.aborted === true });
}

async function startOf(cli: Cli, input: string | undefined, { session, title, tag }: Options): Promise<Session> {
  const { rath } = await cli.project();
  if (session === undefined) return rath.session(input, { title, tags: tag });
  const opened = await openSession(cli, session);
  return input === undefined ? opened : opened.say(input);
}

function timeoutMs(text: string): number {
  if (!/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(text)) throw new Fault(exits.usage, `--timeout takes a time like 30s, 5m or 2h, not ${text}.`);
  return durationMs(text as Duration);
}

/** A command of a person where a session is placed: a call of the tool `shell` on a fork, told as it goes. */
import { durationMs } from "../session/duration.ts";
import type { CommandRecord, Duration, Sandbox, Session, Tool, ToolContext } from "../session/session.ts";
import { shell } from "../tool/builtin/shell.ts";
import { plural } from "../wire/format.ts";
import { neutral } from "../wire/neutral.ts";
import type { Cli } from "./cli.ts";
import { type Exit, exits, Fault } from "./fault.ts";
import { kindOf } from "./print-changes.ts";
import { openSession, shortIds } from "./sessions.ts";
import { shellWord } from "./shell-word.ts";
import { show } from "./shown.ts";
import type { Terminal } from "./terminal.ts";

export async function execIn(cli: Cli, id: string, words: readonly string[], options: { readonly timeout?: string }): Promise<void> {
  const timeout = options.timeout === undefined ? undefined : secondsOf(options.timeout);
  const source = await openSession(cli, id);
  if (source.placement === undefined)
    throw new Fault(exits.invalid, `Session ${source.id} is not placed anywhere: a program places it with session.to("local", …).`);
  cli.handlesInterrupt = true;
  const fork = source.fork("exec");
  const done = await fork.call(telling(cli, shell), { command: lineOf(words), ...(timeout === undefined ? {} : { timeout }) });
  const { changes, acted } = done.calls.at(-1) ?? { changes: [], acted: undefined };
  const command = acted?.commands?.at(-1) as CommandRecord;
  cli.exit = exitOf(cli, command);
  if (cli.asJson) {
    const { exitCode, stdout, stderr, stopped = null, ms } = command;
    return cli.data({ session: done.toJSON(), from: source.toJSON(), exitCode, stopped, ms, stdout, stderr, changes });
  }
  await tell(cli, source, done, command);
}

async function tell(cli: Cli, source: Session, done: Session, { stopped }: CommandRecord): Promise<void> {
  const changes = done.calls.at(-1)?.changes ?? [];
  if (stopped !== undefined) cli.warn(show`${cli.errInk.yellow("stopped:")} ${stopped}`);
  const most = 20;
  for (const change of changes.slice(0, most)) cli.note(show`${cli.errInk.dim(kindOf(change))} ${change.path}`);
  if (changes.length > most) cli.note(cli.errInk.dim(`… ${changes.length - most} more`));
  const short = await shortIds(cli);
  const id = short(done.id);
  cli.note(
    show`${cli.errInk.dim(`session ${id}, ${changes.length === 0 ? "no file changed" : `${plural(changes.length, "file")} changed`}`)}`,
  );
  if (changes.length > 0)
    cli.next(done.placement?.workspace === undefined ? `openrath diff ${short(source.id)}@${source.step} ${id}` : `openrath apply ${id}`);
}

/** The codes of commands are theirs; a limit or Ctrl+C is said as everywhere. */
function exitOf({ host }: Cli, { exitCode, stopped }: CommandRecord): Exit {
  if (stopped === "time") return exits.timeout;
  if (stopped === "cancelled" && host.signal.aborted) return exits.interrupted;
  return exitCode as Exit;
}

/** The same tool, whose output is heard as it comes. */
function telling(cli: Cli, tool: typeof shell): typeof shell {
  const run: Tool["~run"] = (input, context) => tool["~run"](input, heard(cli, context));
  return { ...tool, "~run": run as (typeof shell)["~run"] };
}

function heard(cli: Cli, context: ToolContext): ToolContext {
  const { sandbox, signal, key, deps } = context;
  const exec: Sandbox["exec"] = (command, options = {}) =>
    sandbox.exec(command, {
      ...options,
      signal: AbortSignal.any([cli.host.signal, ...(options.signal === undefined ? [] : [options.signal])]),
      onOutput: (from, text) => {
        options.onOutput?.(from, text);
        if (!cli.asJson) write(from === "stdout" ? cli.host.out : cli.host.err, text);
      },
    });
  return {
    ...{ signal, key, deps, progress: (update) => context.progress(update) },
    // A child is made when somebody asks for it.
    get session() {
      return context.session;
    },
    sandbox: { ...bound(sandbox), exec },
  };
}

function bound(sandbox: Sandbox): Omit<Sandbox, "exec"> {
  return {
    read: (path) => sandbox.read(path),
    write: (path, content) => sandbox.write(path, content),
    list: (path) => sandbox.list(path),
    remove: (path) => sandbox.remove(path),
  };
}

/** Harmless on a terminal; to a file or another program as it is. */
function write(terminal: Terminal, text: string): void {
  terminal.write(terminal.isTTY ? neutral(text) : text);
}

/** One word is a line for a shell; several are a program and its arguments, each as it stands. */
function lineOf(words: readonly string[]): string {
  const [only = "", ...more] = words;
  return more.length === 0 ? only : words.map(shellWord).join(" ");
}

function secondsOf(text: string): number {
  if (!/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(text)) throw new Fault(exits.usage, `--timeout takes a time like 30s, 5m or 2h, not ${text}.`);
  return durationMs(text as Duration) / 1000;
}

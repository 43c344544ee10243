/** The tool `shell`: commands in the sandbox, in the foreground and in the background. */
import { setTimeout } from "node:timers/promises";
import type { CommandResult, SandboxProcess, Tool, ToolContext } from "../../session/session.ts";
import { builtin } from "./builtin.ts";
import { defaultSeconds, runCommand } from "./run-command.ts";
import { shorten } from "./shorten.ts";

/** What a model may ask for: exactly one of `command` and `process`. */
interface ShellInput {
  readonly command?: string | undefined;
  readonly timeout?: number | undefined;
  readonly background?: boolean | undefined;
  readonly process?: string | undefined;
  readonly stop?: boolean | undefined;
}
interface ProcessState {
  readonly process: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode?: number | undefined;
}

const tool = builtin<ShellInput, CommandResult | ProcessState>({
  name: "shell",
  description:
    "Runs a command in a shell, in the root of the workspace, and returns stdout, stderr and the exit code. " +
    "Each command starts anew: cd and variables do not carry over. Long output is shortened in the middle. " +
    `A command is stopped after ${defaultSeconds} seconds unless timeout says otherwise. ` +
    "With background: true it goes on after the call (a server, a watcher), can read the files but not change them, and you get the id of its process; " +
    "give { process: id } to read what it wrote since, with stop: true to end it.",
  properties: {
    command: { type: "string", minLength: 1, description: "The command line. Give this or process, not both." },
    timeout: { type: "number", exclusiveMinimum: 0, description: "Seconds." },
    background: { type: "boolean", description: "Let the command go on after the call." },
    process: { type: "string", description: "The id of a background process, to read its output." },
    stop: { type: "boolean", description: "End that process." },
  },
  required: [],
  writes: "files",
  resource: () => "*",
  run: async (input, context) => {
    const { command, timeout, background, process: id, stop } = input;
    if ((command === undefined) === (id === undefined)) throw new Error("Give either command or process.");
    if (command === undefined) return stateOf(await found(id as string, context), stop === true);
    if (stop !== undefined) throw new Error("stop ends a process: give its id as process, and no command.");
    if (background !== true) return runCommand(command, { timeout }, context);
    if (timeout !== undefined) throw new Error("A background process has no timeout: leave it out, and end the process with stop.");
    return started(command, context);
  },
});

/**
 * Runs a command in the sandbox of the session. A command that fails is a result with its exit code. What a model reads of long
 * output is its beginning and its end; the record of the call has the whole. Models can also leave a command running in the
 * background; programs have `context.sandbox.start` for that.
 *
 * @example
 * const tested = await session.to("local", { workspace: "." }).call(shell, { command: "npm test", timeout: 300 });
 * if (tested.output.exitCode !== 0) session = tested.say("The tests fail.");
 */
export const shell: Tool<{ readonly command: string; readonly timeout?: number | undefined }, CommandResult> = tool as Tool<
  ShellInput,
  CommandResult
>;

/** Most processes say at once whether they could begin. */
const firstLookMs = 500;

async function started(command: string, { sandbox, signal }: ToolContext): Promise<ProcessState> {
  if (sandbox.start === undefined) throw new Error("This sandbox has no background processes: run the command without background.");
  const process = await sandbox.start(command);
  await setTimeout(firstLookMs, undefined, { signal }).catch(() => {}); // it was started all the same
  return stateOf(process, false);
}

async function found(id: string, { sandbox }: ToolContext): Promise<SandboxProcess> {
  const process = sandbox.process?.(id);
  if (process === undefined)
    throw new Error(`There is no background process ${JSON.stringify(id)}: it was not started here, or the sandbox was closed since.`);
  return process;
}

async function stateOf(process: SandboxProcess, stop: boolean): Promise<ProcessState> {
  if (stop) await process.stop();
  const { stdout, stderr } = await process.read();
  const { id, exitCode } = process;
  return { process: id, stdout: shorten(stdout, gone), stderr: shorten(stderr, gone), ...(exitCode === undefined ? {} : { exitCode }) };
}

/** Output of commands is on record; of background processes only what is returned here. */
const gone = "they are kept nowhere: read the output more often, or let the command print less";

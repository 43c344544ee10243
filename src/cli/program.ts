/** Every command there is, and how one call of the command line goes from words to an exit code. */
import { type Argument, Command, CommanderError, Help, type Option } from "commander";
import { version } from "../runtime/version.ts";
import { neutral } from "../wire/neutral.ts";
import { Cli, type Settings } from "./cli.ts";
import { type Exit, exits, Fault } from "./fault.ts";
import { type Open, openProject } from "./project.ts";
import { reportError } from "./report-error.ts";
import type { Host } from "./terminal.ts";

/** What a file in commands/ exports: it describes a command and says what it does. */
interface Definition {
  define(command: Command, cli: Cli): void;
}

/** One file a command, loaded only when it is called or explained. */
const groups: Readonly<Record<string, Readonly<Record<string, () => Promise<Definition>>>>> = {
  "Start:": {
    init: () => import("./commands/init.ts"),
    dev: () => import("./commands/dev.ts"),
    doctor: () => import("./commands/doctor.ts"),
    completion: () => import("./commands/completion.ts"),
  },
  "Run:": {
    run: () => import("./commands/run.ts"),
    resume: () => import("./commands/resume.ts"),
    cancel: () => import("./commands/cancel.ts"),
    send: () => import("./commands/send.ts"),
    tail: () => import("./commands/tail.ts"),
    chat: () => import("./commands/chat.ts"),
  },
  "Sessions:": {
    ls: () => import("./commands/ls.ts"),
    show: () => import("./commands/show.ts"),
    log: () => import("./commands/log.ts"),
    fork: () => import("./commands/fork.ts"),
    merge: () => import("./commands/merge.ts"),
    replay: () => import("./commands/replay.ts"),
    rerun: () => import("./commands/rerun.ts"),
    cost: () => import("./commands/cost.ts"),
    diff: () => import("./commands/diff.ts"),
    blame: () => import("./commands/blame.ts"),
    why: () => import("./commands/why.ts"),
    bisect: () => import("./commands/bisect.ts"),
    grep: () => import("./commands/grep.ts"),
    apply: () => import("./commands/apply.ts"),
    erase: () => import("./commands/erase.ts"),
    gc: () => import("./commands/gc.ts"),
  },
  "People:": {
    approvals: () => import("./commands/approvals.ts"),
    resolve: () => import("./commands/resolve.ts"),
  },
  "Parts:": {
    memory: () => import("./commands/memory.ts"),
    mcp: () => import("./commands/mcp.ts"),
    sandbox: () => import("./commands/sandbox.ts"),
  },
  "Trust:": {
    verify: () => import("./commands/verify.ts"),
    dossier: () => import("./commands/dossier.ts"),
    scan: () => import("./commands/scan.ts"),
    export: () => import("./commands/export.ts"),
    import: () => import("./commands/import.ts"),
    inspect: () => import("./commands/inspect.ts"),
  },
  "Operate:": {
    serve: () => import("./commands/serve.ts"),
    worker: () => import("./commands/worker.ts"),
    keys: () => import("./commands/keys.ts"),
    db: () => import("./commands/db.ts"),
  },
};

/** Executes one command line and gives its exit code. */
export async function runCli(argv: readonly string[], host: Host, open: Open = openProject): Promise<Exit> {
  const cli = new Cli(host, open);
  try {
    const program = await programFor(argv, cli);
    await unlessInterrupted(cli, program.parseAsync(wordsOf(argv, program), { from: "user" }));
    return host.signal.aborted && !cli.handlesInterrupt ? exits.interrupted : cli.exit;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exits.ok : exits.usage;
    return reportError(cli, error);
  } finally {
    await cli.close().catch((error: unknown) => reportError(cli, error));
  }
}

/** Help about a command that is not there is refused like the command itself, which says which is meant. */
function wordsOf(argv: readonly string[], program: Command): string[] {
  const [first, about] = argv;
  if (first === undefined) return ["--help"];
  const isMissing =
    about !== undefined && !about.startsWith("-") && about !== "help" && program.commands.every((one) => one.name() !== about);
  return first === "help" && isMissing ? [about] : [...argv];
}

/** All commands, or the one that is called, with everything that is said about them. */
export async function programFor(argv: readonly string[], cli: Cli): Promise<Command> {
  const program = new Command("openrath")
    .description("Run, list, fork, replay and verify sessions of agents.")
    .version(version(), "-v, --version", "print the version")
    .helpOption("-h, --help", "print this text")
    .configureHelp({
      groupItems: optionsFirst,
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(argumentTerm)].join(" "),
    })
    .addHelpCommand(helpCommand().helpGroup("Start:"))
    .addHelpText("after", '\nIds may be shortened to a beginning that only one has.\n"openrath help COMMAND" explains a command.');
  common(program, cli);
  const known = Object.values(groups).flatMap((group) => Object.keys(group));
  // A script for a shell is about all of them.
  const wanted = known.includes(argv[0] ?? "") && !(argv[0] === "completion" && argv[1] !== "ids") ? argv[0] : undefined;
  for (const [heading, commands] of Object.entries(groups))
    for (const [name, load] of Object.entries(commands)) {
      if (wanted !== undefined && name !== wanted) continue;
      const command = program.command(name).helpGroup(heading);
      (await load()).define(command, cli);
      if (command.commands.length > 0) command.addHelpCommand(helpCommand());
      for (const one of [command, ...command.commands]) common(one, cli);
      if (wanted !== undefined) refuseUnknown(command, argv[1]);
    }
  program.hook("preAction", (_, called) => {
    const [all, given] = [program.opts<Settings>(), called.opts<Settings>()];
    // An option that says no is true where it is not given: either place may say it.
    cli.settings = { ...all, ...given, color: all.color !== false && given.color !== false };
  });
  return program;
}

function helpCommand(): Command {
  return new Command("help").argument("[command]").description("explain a command");
}

/** One that lists by default would take a misspelt command for too many words. */
function refuseUnknown(command: Command, word: string | undefined): void {
  const names = command.commands.map((one) => one.name());
  if (names.length === 0 || word === undefined || word.startsWith("-") || word === "help" || names.includes(word)) return;
  throw new Fault(exits.usage, `There is no command "${pathOf(command)} ${word}". There are: ${names.join(", ")}.`, {
    next: `${pathOf(command)} --help`,
  });
}

/** A command's own options stand above what every command takes, also where it only has --help. */
function optionsFirst<T extends Command | Option>(unsorted: T[], visible: T[], groupOf: (item: T) => string): Map<string, T[]> {
  const groups = new Help().groupItems(unsorted, visible, groupOf);
  const own = groups.get("Options:");
  return own === undefined ? groups : new Map([["Options:", own], ...groups]);
}

/** What every command takes, and where its own words go. */
function common(command: Command, cli: Cli): void {
  const { out, err } = cli.host;
  command
    .optionsGroup("Output:")
    .option("--json", "data as JSON")
    .option("--jsonl", "data as JSON, one value a line")
    .option("-q, --quiet", "no remarks, only data and errors")
    .option("--no-color", "no colours (also: NO_COLOR)")
    .option("--ascii", "draw with ASCII characters")
    .option("--config <file>", "the file that exports rath (default: openrath.config.ts, here or above)")
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(neutral(text)),
      getOutHelpWidth: () => Math.min(100, out.columns),
      getErrHelpWidth: () => Math.min(100, err.columns),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError(`See: ${pathOf(command)} --help`)
    .exitOverride();
}

function argumentTerm(argument: Argument): string {
  const { required, variadic } = argument;
  const term = `${argument.name()}${variadic ? "…" : ""}`;
  return required ? term.toUpperCase() : `[${term.toUpperCase()}]`;
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** A command that does not handle Ctrl+C itself is left as it stands: it only read, or what it began can be resumed. */
async function unlessInterrupted(cli: Cli, work: Promise<unknown>): Promise<void> {
  const { signal } = cli.host;
  let stop: () => void = () => {};
  const interrupted = new Promise<never>((_, reject) => {
    stop = () => {
      if (!cli.handlesInterrupt) reject(new Fault(exits.interrupted, "Interrupted."));
    };
    signal.addEventListener("abort", stop);
  });
  try {
    await Promise.race([work, interrupted]);
  } finally {
    signal.removeEventListener("abort", stop);
    work.catch(() => {}); // left where it stands
  }
}

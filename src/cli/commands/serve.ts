/** `openrath serve`: the project behind HTTP, with a worker beside it unless others work. */
import { type Command, Option } from "commander";
import type { RunWork } from "../../runtime/worker.ts";
import type { Listening } from "../../server/listen.ts";
import type { Server } from "../../server/server.ts";
import { RathError } from "../../session/errors.ts";
import type { Duration } from "../../session/session.ts";
import { plural, seconds } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { replayEnded, rerunNewest } from "../dev-server.ts";
import { exits, Fault } from "../fault.ts";
import { openBrowser } from "../open-browser.ts";
import { collected, durationOf, portOf, wholeOf } from "../options.ts";
import type { Project } from "../project.ts";
import { show } from "../shown.ts";
import { placeOf } from "../store-place.ts";

interface Options {
  readonly host: string;
  readonly port: number;
  readonly auth: "keys" | "none-on-loopback";
  readonly name?: readonly string[];
  readonly origin?: readonly string[];
  readonly worker: boolean;
  readonly concurrency: number;
  readonly drain: string;
  readonly logLevel: string;
  /** Of `openrath dev`. */
  readonly dev?: boolean;
  readonly open?: boolean;
  readonly link?: boolean;
}

const levels = ["silent", "error", "warn", "info"];

export function define(command: Command, cli: Cli): void {
  command
    .summary("serve the project over HTTP")
    .description(
      "Answers under /v1 (described at /openapi.json) and works on the runs of the store. Every call needs a key: openrath keys create --role operator makes one. SIGTERM and Ctrl+C end it: calls under way are answered, streams are told to come back, runs are given time or left for others; a second one stops it at once.",
    )
    .option("--host <address>", "where to listen; loopback unless told otherwise", "127.0.0.1")
    .option("-p, --port <number>", "which port; 0 takes a free one", portOf("--port"), 7284)
    .option("--name <name>", "a host name under which it is reached, beside those of this machine; may be repeated", collected)
    .option("--origin <origin>", "a web page that may call it, like https://app.example.com; may be repeated", collected)
    .option("--auth <how>", '"keys", or "none-on-loopback": calls from this machine need no key', "keys")
    .option("--no-worker", "only answers: the runs are left to openrath worker")
    .option("-c, --concurrency <number>", "how many runs at once", wholeOf("--concurrency"), 16)
    .option("--drain <time>", "how long calls and effects under way get when it ends, like 10s or 2m", "10s")
    .option("--log-level <level>", `which calls are logged as JSON lines to stderr: ${levels.join(", ")}`, "warn")
    .addOption(new Option("--dev").hideHelp())
    .addOption(new Option("--open").hideHelp())
    .addOption(new Option("--link").hideHelp())
    .action((options: Options) => serve(cli, options));
}

async function serve(cli: Cli, options: Options): Promise<void> {
  const { host, port, auth, name = [], origin = [], drain, logLevel } = options;
  const graceMs = durationOf(drain, "--drain");
  if (!levels.includes(logLevel)) throw new Fault(exits.usage, `--log-level takes ${levels.join(", ")}, not ${logLevel}.`);
  if (auth !== "keys" && auth !== "none-on-loopback")
    throw new Fault(exits.usage, `--auth takes keys or none-on-loopback, not ${String(auth)}.`);
  const project = await cli.project({ make: true });
  // What is wrong with the store is said before anybody is let in.
  await project.rath.ready();
  const [{ createServer }, { listen }, { default: pino }] = await Promise.all([
    import("../../server/server.ts"),
    import("../../server/listen.ts"),
    import("pino"),
  ]);
  const log = pino({ level: logLevel, base: { service: "openrath" } }, pino.destination(2));
  const server = asUsage(() => createServer(project.rath, { auth, hosts: name, origins: origin, log }));
  const { signal } = cli.host;
  cli.host.heedTermination?.();
  cli.handlesInterrupt = true;
  const listening = await listen(server, { host, port });
  await greet(cli, project, listening, options);
  if (options.dev === true) await develop(cli, project, server, listening, options);
  const working = work(cli, project, server, options);
  await Promise.race([aborted(signal), working]);
  cli.note(show`stopping: nothing new is begun, what is under way has ${seconds(graceMs)}; once more stops at once`);
  await Promise.all([listening.close(graceMs), working]);
  cli.note(show`stopped`);
}

/** What the server does not take was given as an option. */
function asUsage<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!RathError.is(error, "value.unsupported")) throw error;
    throw new Fault(exits.usage, error.message.replace("server.hosts", "--name").replace("server.origins", "--origin"), { cause: error });
  }
}

/** Until the signal; a worker that cannot go on ends the server too: it would take runs that nobody executes. */
async function work(cli: Cli, project: Project, server: Server, { worker, concurrency, drain, dev }: Options): Promise<void> {
  const { signal } = cli.host;
  if (!worker || Object.keys(project.workflows).length === 0) return aborted(signal);
  const { workBeside } = await import("../../server/work.ts");
  const onRun = dev === true ? (run: RunWork) => void replayEnded(cli, project, run) : undefined;
  await workBeside(server, { concurrency, drain: drain as Duration, signal, onRun });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** While the project is written: a link for a browser, and what whoever started this process asks for by keys. */
async function develop(cli: Cli, project: Project, server: Server, { url }: Listening, { open, link }: Options): Promise<void> {
  const { browserLink } = await import("../browser-link.ts");
  const letIn = (): string => browserLink(cli, server, url, "admin");
  const tell = (address: string): void => cli.note(show`open ${cli.errInk.cyan(address)} (it lets one browser in)`);
  process.on("message", (asked) => {
    if (asked === "rerun") void rerunNewest(cli, project);
    if (asked === "link") tell(letIn());
  });
  process.once("disconnect", () => process.exit(1)); // nobody is there any more who would stop it
  if (open !== true && link !== true) return;
  const address = letIn();
  tell(address);
  if (open === true) openBrowser(address);
}

async function greet(cli: Cli, { runtime, workflows }: Project, { url }: Listening, { worker, concurrency, auth }: Options): Promise<void> {
  const names = Object.keys(workflows);
  cli.note(show`${url} answers for ${placeOf(await runtime.store())}`);
  if (names.length === 0) cli.note(show`there are no workflows: sessions can be read and said something to, nothing can be run`);
  else if (worker) cli.note(show`works on ${names.join(", ")}, ${plural(concurrency, "run")} at once`);
  else cli.note(show`does not work on runs: openrath worker does`);
  if (auth === "none-on-loopback") cli.note(show`calls from this machine need no key and may do everything`);
  else cli.note(show`calls need a key: openrath keys create --role operator`);
}

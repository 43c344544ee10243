/** `openrath worker`: executes the runs that wait in the store, with any number of others, until it is told to stop. */
import type { Command } from "commander";
import type { RunWork, WorkState } from "../../runtime/worker.ts";
import type { Duration } from "../../session/session.ts";
import { plural, seconds } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { type HealthServer, parseAddress, serveHealth } from "../health.ts";
import { durationOf, wholeOf } from "../options.ts";
import { statusInk } from "../session-text.ts";
import { shortIds } from "../sessions.ts";
import { json, show } from "../shown.ts";
import { placeOf } from "../store-place.ts";

interface Options {
  readonly concurrency: number;
  readonly drain: string;
  readonly health?: string;
  readonly verbose?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("execute the runs that wait in the store")
    .description(
      "Takes runs of the workflows that the project file names and executes them: queued ones, those whose time or answer has come, and those whose worker died. Any number may work on one store. SIGTERM and Ctrl+C end it: what is under way is given time, the rest is left for others; a second one stops it at once.",
    )
    .option("-c, --concurrency <number>", "how many runs at once", wholeOf("--concurrency"), 16)
    .option("--drain <time>", "how long effects under way get when it ends, like 10s or 2m", "10s")
    .option("--health <address>", "PORT or HOST:PORT of an HTTP endpoint with /health and /ready; loopback unless a host is given")
    .option("--verbose", "say which runs are taken and what they come to (default on a terminal)")
    .action((options: Options) => work(cli, options));
}

async function work(cli: Cli, { concurrency, drain, health, verbose }: Options): Promise<void> {
  const forMs = durationOf(drain, "--drain");
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new Fault(exits.usage, `--concurrency takes a whole number from 1 on, not ${concurrency}.`);
  if (health !== undefined) parseAddress(health);
  const { rath, runtime, workflows, config } = await cli.project({ make: true });
  const names = Object.keys(workflows);
  if (names.length === 0)
    throw new Fault(exits.usage, `There is nothing to work on: ${config ?? "this folder"} names no workflows.`, {
      next: "export const rath = openrath({ workflows: { … } }) in openrath.config.ts, or openrath init",
    });
  // What is wrong with the store is said before anything is taken.
  await rath.ready();
  const place = placeOf(await runtime.store());
  let state: WorkState | undefined;
  const { signal } = cli.host;
  cli.host.heedTermination?.();
  cli.handlesInterrupt = true;
  const server =
    health === undefined ? undefined : await serveHealth(health, { state: () => state, concurrency, now: () => cli.host.now() });
  const draining = (): void =>
    cli.note(show`stopping: nothing new is begun, what is under way has ${seconds(forMs)}; once more stops at once`);
  signal.addEventListener("abort", draining, { once: true });
  const short = cli.host.err.isTTY ? await shortIds(cli) : (id: string) => id;
  try {
    await rath.work({
      ...{ concurrency, drain: drain as Duration, signal },
      report: (now) => {
        if (state === undefined) greet(cli, now, { names, place, concurrency, server });
        if (cli.asJson && news(state, now)) cli.print(json(now));
        state = now;
      },
      onRun: (run) => {
        if (verbose === true || (cli.host.err.isTTY && !cli.asJson)) tell(cli, run, short);
      },
    });
  } finally {
    signal.removeEventListener("abort", draining);
    await server?.[Symbol.asyncDispose]();
  }
  cli.note(show`stopped: ${plural(state?.taken ?? 0, "run")} taken`);
}

function greet(
  cli: Cli,
  { worker }: WorkState,
  about: {
    readonly names: readonly string[];
    readonly place: string;
    readonly concurrency: number;
    readonly server: HealthServer | undefined;
  },
): void {
  cli.note(show`worker ${worker} works on ${about.place}, ${plural(about.concurrency, "run")} at once`);
  cli.note(show`workflows: ${about.names.join(", ")}`);
  if (about.server !== undefined) cli.note(show`health: ${about.server.url}`);
}

/** That it looked once more in vain is none. */
function news(before: WorkState | undefined, now: WorkState): boolean {
  return (["status", "executing", "taken", "problem"] as const).some((field) => before?.[field] !== now[field]);
}

function tell(cli: Cli, { run, workflow, status }: RunWork, short: (id: string) => string): void {
  cli.note(show`${cli.errInk.dim(cli.host.now().toISOString().slice(11, 19))} ${short(run)} ${workflow} ${statusInk(cli, status)}`);
}

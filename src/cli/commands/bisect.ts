/** `openrath bisect ID --run CMD`: the first step at which a command fails. */
import type { Command } from "commander";
import { type Bisection, type BisectStep, bisect, bisectionText } from "../../audit/bisect.ts";
import { runtimeOf } from "../../runtime/replay.ts";
import { RathError } from "../../session/errors.ts";
import type { CommandResult, Session } from "../../session/session.ts";
import { eventLine } from "../../wire/event-line.ts";
import { plural, shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { type Exit, exits, Fault } from "../fault.ts";
import { progressing } from "../progress.ts";
import { openSession, shortIds } from "../sessions.ts";
import { clip, show } from "../shown.ts";

interface Options {
  readonly run: string;
  readonly good?: string;
  readonly bad?: string;
  readonly every?: boolean;
  readonly confirm?: boolean;
  readonly host?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("find the first step at which a command fails")
    .description(
      "Restores the files of a session step by step, each time into a fresh sandbox, and runs a command there: exit 0 is good, 125 cannot be told, everything else up to 127 is bad. Finds the first bad step with few tries. Nothing is recorded.",
    )
    .argument("<id>", "a session, or a place in it: ID@step")
    .requiredOption("--run <command>", "what is run, as a line for a shell")
    .option("--good <step>", "a step or an event that is known to be good")
    .option("--bad <step>", "one that is known to be bad (default: the newest)")
    .option("--every", "look at every step, not only at those that changed files")
    .option("--confirm", "run it twice where it was found, in case it does not always say the same")
    .option("--host", "run it on this machine itself, without a sandbox")
    .action((id: string, options: Options) => find(cli, id, options));
}

const ends: Readonly<Record<Bisection["result"], Exit>> = {
  found: exits.ok,
  "never-fails": exits.notFound,
  "always-fails": exits.differs,
  unclear: exits.error,
  contradictory: exits.differs,
};

async function find(cli: Cli, id: string, options: Options): Promise<void> {
  const session = await openSession(cli, id);
  await refuseWithoutSandbox(cli, options);
  const gone = new Set<string>();
  const check = async (place: Session): Promise<boolean | undefined> => {
    const erased = await erasedIn(place);
    if (erased === undefined) return passes(place, options, cli.host.signal);
    gone.add(erased);
    return undefined;
  };
  const found = await progressing(cli, "checking", "checks", ({ add }) =>
    bisect(session, check, {
      good: placeIn(options.good),
      bad: placeIn(options.bad),
      places: options.every === true ? "steps" : "files",
      confirm: options.confirm,
      signal: cli.host.signal,
      onStep: (step) => {
        add();
        tell(cli, step);
      },
    }),
  );
  cli.exit = ends[found.result];
  if (gone.size > 0)
    cli.warn(
      show`Skipped is where a content was erased, since the command would miss it: ${[...gone].map((path) => JSON.stringify(path)).join(", ")}`,
    );
  await print(cli, session, found);
}

/** The first file of a place whose content was erased: a command would find no such file, and say something else than it did then. */
async function erasedIn(place: Session): Promise<string | undefined> {
  for await (const { path, entry } of runtimeOf(place).sandboxes.trees.walk(place.files.hash))
    if (entry.type === "withheld" && entry.why === "erased") return path;
  return undefined;
}

/** A command in the files of a place; undefined where it says that it cannot be told. */
async function passes(place: Session, { run, host }: Options, signal: AbortSignal): Promise<boolean | undefined> {
  const kind = host === true ? "host" : "local";
  const placed = place.placement?.sandbox === kind ? place : place.to(kind, {});
  const done = await placed.do("bisect", ({ sandbox }) => sandbox.exec(run, { signal }), { repeat: "safe" });
  const { exitCode, stopped } = done.output as CommandResult;
  signal.throwIfAborted();
  if (exitCode > 127 && stopped === undefined)
    throw new Fault(
      exits.error,
      `The command ended with ${exitCode}: codes above 127 mean that it was killed or could not run, so nothing can be said.`,
    );
  return exitCode === 125 ? undefined : exitCode === 0;
}

/** Commands of strangers run on the machine itself only when somebody says so. */
async function refuseWithoutSandbox(cli: Cli, { host }: Options): Promise<void> {
  if (host === true) return;
  const { runtime } = await cli.project();
  await runtime.sandboxes.places.backend("local").catch((cause: unknown) => {
    throw new Fault(exits.error, `There is no sandbox here to run the command in: ${RathError.is(cause) ? cause.message : String(cause)}`, {
      cause,
      next: "openrath doctor, or add --host to run it on this machine itself, where it can change anything",
    });
  });
}

function placeIn(given: string | undefined): number | string | undefined {
  return given === undefined || !/^\d{1,9}$/.test(given) ? given?.toLowerCase() : Number(given);
}

function tell(cli: Cli, { step, event, verdict, left }: BisectStep): void {
  if (cli.asJson) return;
  const paint = { good: cli.errInk.green, bad: cli.errInk.red, skipped: cli.errInk.yellow };
  cli.note(show`step ${step} ${cli.errInk.dim(`(${shortEvent(event)})`)} ${paint[verdict](verdict)}, ${left} left`);
}

async function print(cli: Cli, session: Session, found: Bisection): Promise<void> {
  if (cli.asJson) return cli.data(found);
  const { result, bad, good } = found;
  if (result !== "found" || bad === undefined || good === undefined) {
    cli.warn(show`${bisectionText(found)}`);
    if (result === "always-fails") cli.next(`openrath bisect ${session.id} --run … --good STEP, with a step at which it passed`);
    return;
  }
  const events = new Map([...session.events()].map((event) => [event.id as string, event]));
  const short = (await shortIds(cli))(session.id);
  const line = clip(
    eventLine(bad, (id) => events.get(id)),
    160,
  );
  if (cli.onTerminal) {
    cli.print(show`${cli.ink.bold(`step ${bad.step} is the first bad one:`)} ${cli.ink.cyan(shortEvent(bad.id))} ${line}`);
    cli.note(
      show`${cli.errInk.dim(`step ${good.step} (${shortEvent(good.id)}) is the last good one; ${plural(found.checks, "check")} of ${plural(found.places, "place")}`)}`,
    );
  } else cli.print(show`${bad.step}\t${bad.id}\t${line}`);
  cli.next(
    `openrath show ${short}@${bad.step}`,
    `openrath why ${short} event=${shortEvent(bad.id)}`,
    `openrath diff ${short}@${good.step}..${short}@${bad.step}`,
  );
}

/** `openrath rerun ID`: executes again on a fork with one thing changed; what is equal is reused. */
import type { Command } from "commander";
import { lineageEvents } from "../../audit/lineage-events.ts";
import { runtimeOf } from "../../runtime/replay.ts";
import { type BegunRerun, beginRerun, type RerunOptions, withMessage } from "../../runtime/rerun.ts";
import { runBehind } from "../../runtime/run-record.ts";
import { byStep } from "../../session/log.ts";
import type { Pending, Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { money, plural, shortEvent } from "../../wire/format.ts";
import { pendingText } from "../../wire/pending-line.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { collected, parsedJson, wholeOf } from "../options.ts";
import { printFields } from "../print-list.ts";
import type { Project } from "../project.ts";
import { recordedWorkflow } from "../recorded-workflow.ts";
import { outputOf, outputText } from "../session-text.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly from?: number;
  readonly set?: readonly string[];
  readonly live?: boolean;
  readonly workflow?: string;
}

type Change = Exclude<RerunOptions["change"], undefined>;

export function define(command: Command, cli: Cli): void {
  command
    .summary("execute again on a fork with one thing changed")
    .description(
      "Executes the workflow that made a session again, on a fork, with one thing changed. Every result whose inputs are equal is reused and costs nothing.",
    )
    .argument("<id>", "a session")
    .option("--from <step>", "change what the program holds at this step; default: its input", wholeOf("--from"))
    .option(
      "--set <what=value>",
      "message=TEXT (another message), model=NAME or instructions=TEXT (for the agent of the first model call, or of the first from --from on), or EVENT=JSON (another result; EVENT is a step or an id)",
      collected,
    )
    .option("--live", "let effects happen that may not be repeated; else they ask (exit 8)")
    .option("-w, --workflow <name>", "a name of the project file, or FILE[#export]; default: the recorded name")
    .action((id: string, options: Options) => rerunSession(cli, id, options));
}

async function rerunSession(cli: Cli, id: string, options: Options): Promise<void> {
  const workflow = await recordedWorkflow(cli, id, options.workflow);
  const project = await cli.project();
  const session = await openSession(cli, id);
  const change = await changeOf(session, options);
  const begun = await beginRerun(session, workflow, { from: options.from, change, effects: options.live === true ? "live" : "ask" });
  const again = await Promise.race([begun.ended, asksFirst(project, begun)]);
  if ("asks" in again) {
    refused(cli, again.asks, options.live === true);
    return;
  }
  const { reused, of, saved, split, session: made } = again;
  if (cli.asJson)
    return cli.data({
      session: made.toJSON(),
      from: session.toJSON(),
      reused,
      of,
      saved,
      split: split ?? null,
      output: outputOf(made) ?? null,
    });
  const short = await shortIds(cli);
  printFields(cli, [
    ["session", cli.onTerminal ? short(made.id) : made.id],
    ["reused", `${reused} of ${plural(of, "result")}${saved.usd > 0 ? `, ${money(saved.usd)} saved` : ""}`],
    split === undefined ? undefined : ["split", `at step ${split.step}, ${split.kind} ${shortEvent(split.id)}`],
    ["output", outputText(cli, made) ?? ""],
  ]);
  cli.next(`openrath log ${short(made.id)} --graph`);
}

/**
 * Resolves when an effect of the rerun stops and asks; nobody could answer it from another process. What other runs ask is theirs, also
 * of those that were started inside it: they are answered like any run.
 */
async function asksFirst({ rath }: Project, { run, ended }: BegunRerun<unknown>): Promise<{ readonly asks: readonly Pending[] }> {
  let over = false;
  const end = (): void => {
    over = true;
  };
  ended.then(end, end);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (over) return new Promise(() => {});
    const asks = (await rath.pending({ run })).filter(({ kind }) => kind !== "timer" && kind !== "signal");
    if (asks.length > 0) return { asks };
  }
}

function refused(cli: Cli, asks: readonly Pending[], live: boolean): void {
  cli.exit = exits.waiting;
  if (cli.asJson) {
    cli.data({ status: "waiting", pending: asks });
    return;
  }
  // `--live` lets effects happen that may not be repeated. Questions are asked again whatever is allowed.
  const helped = asks.filter(({ kind }) => kind === "approval" && !live);
  for (const pending of asks) {
    const reason = helped.includes(pending)
      ? "has no equal result and may not be repeated unasked"
      : "waits for a person, and this rerun ends with the command";
    cli.warn(show`${cli.errInk.yellow("stopped:")} ${pendingText(pending)} ${reason}`);
  }
  if (helped.length > 0) cli.next("the same command with --live, to let it happen");
  else cli.next("rerun() in a program, which answers with rath.decide()");
}

async function changeOf(session: Session, { set = [], from }: Options): Promise<Change | undefined> {
  const [only, ...others] = set;
  if (only === undefined) return undefined;
  if (others.length > 0)
    throw new Fault(exits.usage, "A rerun changes one thing: give --set once, and rerun the result to change another.");
  const at = only.indexOf("=");
  if (at <= 0)
    throw new Fault(exits.usage, `--set takes message=TEXT, model=NAME, instructions=TEXT or EVENT=JSON, not ${JSON.stringify(only)}.`);
  const [what, value] = [only.slice(0, at), only.slice(at + 1)];
  if (what === "message") return (given) => withMessage(given, value, from === undefined);
  if (what === "model" && value === "") throw new Fault(exits.usage, "--set model= names no model.");
  if (what === "model") return { event: await firstModelCall(session, from), model: value };
  if (what === "instructions") return { event: await firstModelCall(session, from), instructions: value };
  return { event: await eventNamed(session, what), output: parsedJson(value, `--set ${what}`) };
}

/** Of the run that is executed again. */
async function firstModelCall(session: Session, from: number | undefined): Promise<string> {
  const { node } = placeOf(from === undefined ? session : session.at(from));
  const { program } = await runBehind(runtimeOf(session), node);
  const calls = program.filter(({ kind, step }) => kind === "model.called" && step >= (from ?? 0)).sort(byStep);
  if (calls[0] !== undefined) return calls[0].id;
  const after = from === undefined ? "" : ` from step ${from} on`;
  throw new Fault(exits.notFound, `The run behind session ${session.id} asked no model${after}: there is nothing to ask otherwise.`, {
    next: `openrath log ${session.id} --oneline`,
  });
}

async function eventNamed(session: Session, what: string): Promise<string> {
  const isStep = /^\d{1,9}$/.test(what);
  const fits = (event: { readonly id: string; readonly step: number }): boolean =>
    isStep ? event.step === Number(what) : event.id.startsWith(what.toLowerCase());
  let found = [...session.events()].filter(fits);
  if (found.length === 0) found = (await lineageEvents(session)).filter(fits);
  const [event, ...others] = found;
  if (event === undefined)
    throw new Fault(exits.notFound, `Session ${session.id} has no event ${what}.`, { next: `openrath log ${session.id} --oneline` });
  if (others.length > 0)
    throw new Fault(
      exits.usage,
      `${what} names ${found.length} events: ${found.map((one) => `${shortEvent(one.id)} (${one.kind})`).join(", ")}. Give the id of one.`,
    );
  return event.id;
}

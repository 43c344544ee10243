/** `openrath chat`: a conversation, one durable run a turn. Without a terminal every line of stdin is a turn. */
import type { Command } from "commander";
import type { Pending, Session } from "../../session/session.ts";
import { neutral } from "../../wire/neutral.ts";
import { pendingText } from "../../wire/pending-line.ts";
import type { Cli } from "../cli.ts";
import { personHere } from "../decide.ts";
import { exits, Fault } from "../fault.ts";
import { type Found, findWorkflow } from "../find-workflow.ts";
import { followRun } from "../follow-run.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly workflow?: string;
}

/** Gives the next thing a person says; undefined when there is no more. */
type Hear = (prompt: string) => Promise<string | undefined>;

export function define(command: Command, cli: Cli): void {
  command
    .summary("talk to an agent")
    .description(
      "Talks to an agent or workflow; each turn is a durable run on one session. An empty line ends it. Without a terminal every line of stdin is a turn.",
    )
    .argument("[id]", "the session to go on with; default: a new one")
    .option("-w, --workflow <name>", "a name of the project file, or FILE[#export]; default: the only one there is")
    .action((id: string | undefined, options: Options) => chat(cli, id, options));
}

async function chat(cli: Cli, id: string | undefined, { workflow }: Options): Promise<void> {
  const { rath } = await cli.project({ make: true });
  const { workflow: flow, name } = await chosen(cli, workflow);
  let session: Session | undefined = id === undefined ? undefined : await openSession(cli, id);
  const hear = ears(cli);
  for (let said = await hear("you"); said !== undefined && said.trim() !== ""; said = await hear("you")) {
    const next: Session = session === undefined ? rath.session(said) : session.say(said);
    const run = await rath.run(name ?? (flow as never), next, { signal: cli.host.signal });
    let settled = await followRun(cli, run, { brief: true });
    while (settled.status === "waiting" && settled.diverged === undefined && (await answered(cli, hear, settled.pending)))
      settled = await followRun(cli, run, { brief: true });
    session = settled.session;
    if (cli.exit !== exits.ok) break;
  }
  if (session !== undefined && !cli.asJson) {
    const short = (await shortIds(cli))(session.id);
    cli.note(show`${cli.errInk.dim(`session ${short}, step ${session.step}`)}`);
    cli.next(`openrath chat ${short}`);
  }
}

async function chosen(cli: Cli, name: string | undefined): Promise<Found> {
  if (name !== undefined) return findWorkflow(cli, name);
  const { workflows } = await cli.project();
  const names = Object.keys(workflows);
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return { workflow: workflows[only] as Found["workflow"], name: only };
  throw new Fault(
    exits.usage,
    only === undefined ? "There is no workflow to talk to." : `There are several workflows to talk to: ${names.join(", ")}.`,
    {
      next: `openrath chat --workflow ${only ?? "FILE.ts"}`,
    },
  );
}

function ears(cli: Cli): Hear {
  if (!cli.canAsk) {
    const lines = cli.host.input.lines()[Symbol.asyncIterator]();
    return async () => {
      const next = await lines.next();
      return next.done === true ? undefined : next.value;
    };
  }
  return async (prompt) => {
    const { isCancel, text } = await import("@clack/prompts");
    const said = await text({ message: neutral(prompt), output: process.stderr, signal: cli.host.signal });
    return isCancel(said) ? undefined : said;
  };
}

/** Asks the person in front of it whatever waits. False when there is no answer. */
async function answered(cli: Cli, hear: Hear, pending: readonly Pending[]): Promise<boolean> {
  const { rath } = await cli.project();
  for (const one of pending) {
    if (one.kind !== "question" && one.kind !== "approval") continue;
    const said = await hear(one.kind === "question" ? one.question : `${pendingText(one)}: let it happen? (yes/no)`);
    if (said === undefined) return false;
    const by = personHere(cli);
    await rath.decide(one.id, one.kind === "question" ? { by, answer: said } : { by, approve: /^y(es)?$/i.test(said.trim()) });
  }
  cli.exit = exits.ok;
  return pending.some((one) => one.kind === "question" || one.kind === "approval");
}

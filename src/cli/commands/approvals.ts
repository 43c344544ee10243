/** `openrath approvals`: what waits for a person, and the answer. The first answer counts. */
import { type Command, Option } from "commander";
import { decisions } from "../../audit/decisions.ts";
import type { Decision, Pending } from "../../session/session.ts";
import { ago, shortEvent } from "../../wire/format.ts";
import { decidedText, pendingText } from "../../wire/pending-line.ts";
import type { Cli } from "../cli.ts";
import { decide, personHere } from "../decide.ts";
import { parsedJson } from "../options.ts";
import { printList } from "../print-list.ts";
import { findRun, openSession, shortIds } from "../sessions.ts";
import { showPending } from "../show-pending.ts";
import { show } from "../shown.ts";

interface Options {
  readonly by?: string;
  readonly reason?: string;
  readonly input?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("list and answer what waits for a person")
    .description("What waits for a person: questions, approvals, and effects nobody knows the outcome of.");
  command
    .command("ls", { isDefault: true })
    .summary("list what waits")
    .option("--session <id>", "only in this session")
    .option("--run <id>", "only in this run")
    .addOption(
      new Option("--decided <session>", "what was decided behind this session instead: by whom, how and why").conflicts(["session", "run"]),
    )
    .action((options: { readonly session?: string; readonly run?: string; readonly decided?: string }) =>
      options.decided === undefined ? ls(cli, options) : decidedIn(cli, options.decided),
    );
  command
    .command("show")
    .summary("show what waits or waited in full, and who decided what, when and why")
    .description(
      "Shows what waits in full: the exact call or question, who asks, where, since when, and how it is answered. Of what was decided: who said what, when and why.",
    )
    .argument("<id>", "what waits: the beginning of its id; what was decided: its id")
    .action((id: string) => showPending(cli, id));
  const answers = (name: string, summary: string): Command =>
    command
      .command(name)
      .summary(summary)
      .argument("<id>", "what waits: the beginning of its id")
      .option("--by <person>", "who decides; default: the user of this machine")
      .option("--reason <text>", "why, for the record");
  answers("approve", "let a call happen")
    .option("--input <json>", "with another input")
    .action((id: string, options: Options) =>
      give(cli, id, options, "approval", {
        approve: true,
        ...(options.input === undefined ? {} : { input: parsedJson(options.input, "--input") }),
      }),
    );
  answers("deny", "refuse a call").action((id: string, options: Options) => give(cli, id, options, "approval", { approve: false }));
  answers("answer", "answer a question")
    .argument("<answer>", "text, or JSON where the question asks for more than text")
    .action((id: string, answer: string, options: Options) => give(cli, id, options, "question", { answer }));
}

async function ls(cli: Cli, { session, run }: { readonly session?: string; readonly run?: string }): Promise<void> {
  const { rath } = await cli.project();
  const waiting = await rath.pending({
    ...(session === undefined ? {} : { session: (await openSession(cli, session)).id }),
    ...(run === undefined ? {} : { run: (await findRun(cli, run)).id }),
  });
  // Timers and signals wait for nobody who could say yes.
  const pending = waiting.filter(({ kind }) => kind === "question" || kind === "approval" || kind === "unknown");
  const short = await shortIds(cli);
  printList(cli, pending, {
    columns: [
      { name: "ID", cell: ({ id }) => cli.ink.cyan(shortEvent(id)), plain: ({ id }) => id },
      { name: "KIND", cell: ({ kind }) => kind },
      { name: "WHAT", cell: pendingText, rest: true },
      { name: "BY", cell: ({ by }) => by, spare: true },
      { name: "SESSION", cell: (one) => short(one.session), plain: (one) => one.session, spare: true },
      { name: "SINCE", cell: ({ since }) => ago(since, cli.host.now()), plain: ({ since }) => since },
    ],
    data: (one) => one,
    empty: show`Nothing waits for a person.`,
  });
  const first = pending.find(({ kind }) => kind !== "timer" && kind !== "signal");
  if (first !== undefined && cli.onTerminal) cli.next(`openrath approvals show ${shortEvent(first.id)}`);
}

/** Who said what, oldest question first. */
async function decidedIn(cli: Cli, id: string): Promise<void> {
  printList(cli, await decisions(await openSession(cli, id)), {
    columns: [
      { name: "ID", cell: ({ pending }) => cli.ink.cyan(shortEvent(pending.id)), plain: ({ pending }) => pending.id },
      { name: "KIND", cell: ({ pending }) => pending.kind },
      { name: "WHAT", cell: ({ pending }) => pendingText(pending), rest: true },
      { name: "DECIDED", cell: decidedText },
      { name: "BY", cell: ({ by }) => by ?? "" },
      { name: "REASON", cell: ({ reason }) => reason ?? "", optional: true },
      { name: "AT", cell: ({ at = "" }) => ago(at, cli.host.now()), plain: ({ at }) => at ?? "" },
    ],
    data: (one) => one,
    empty: show`Nobody has decided anything here.`,
  });
}

async function give(
  cli: Cli,
  id: string,
  { by, reason }: Options,
  kind: Pending["kind"],
  decision: { readonly approve: boolean } | { readonly answer: string },
): Promise<void> {
  await decide(cli, id, kind, (pending): Decision => {
    const who = { by: by ?? personHere(cli), reason };
    return "answer" in decision ? { ...who, answer: answerTo(pending, decision.answer) } : { ...who, ...decision };
  });
}

/** A question that asks for text gets it as it stands; any other answer is JSON. */
function answerTo(pending: Pending, answer: string): unknown {
  const type = pending.kind === "question" ? (pending.answer as { readonly type?: unknown }).type : undefined;
  return type === "string" || type === undefined ? answer : parsedJson(answer, "This question");
}

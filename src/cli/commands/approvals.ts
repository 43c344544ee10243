/** `openrath approvals`: what waits for a person, and the answer. The first answer counts. */
import type { Command } from "commander";
import type { Decided, Decision, Pending } from "../../session/session.ts";
import type { Cli } from "../cli.ts";
import { decide, personHere } from "../decide.ts";
import { valueText } from "../event-line.ts";
import { exits, Fault } from "../fault.ts";
import { ago, shortEvent } from "../format.ts";
import { parsedJson } from "../options.ts";
import { printFields, printList } from "../print-list.ts";
import { pendingText } from "../session-text.ts";
import { shortIds } from "../sessions.ts";
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
    .action(({ session }: { readonly session?: string }) => ls(cli, session));
  command
    .command("show")
    .summary("show what waits or waited, and who decided what, when and why")
    .argument("<id>", "what waits: the beginning of its id; what was decided: its id")
    .action((id: string) => showOne(cli, id));
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

async function ls(cli: Cli, session: string | undefined): Promise<void> {
  const { rath } = await cli.project();
  const pending = await rath.pending(session === undefined ? {} : { session: (await rath.open(session)).id });
  const short = await shortIds(cli);
  printList(cli, pending, {
    columns: [
      { name: "ID", cell: ({ id }) => cli.ink.cyan(shortEvent(id)), plain: ({ id }) => id },
      { name: "KIND", cell: ({ kind }) => kind },
      { name: "WHAT", cell: pendingText, rest: true },
      { name: "BY", cell: ({ by }) => by },
      { name: "SESSION", cell: (one) => short(one.session), plain: (one) => one.session },
      { name: "SINCE", cell: ({ since }) => ago(since, cli.host.now()), plain: ({ since }) => since },
    ],
    data: (one) => one,
    empty: show`Nothing waits for a person.`,
  });
  const first = pending.find(({ kind }) => kind !== "timer" && kind !== "signal");
  if (first !== undefined && cli.onTerminal) cli.next(commandFor(first));
}

async function showOne(cli: Cli, name: string): Promise<void> {
  const { rath } = await cli.project();
  const found = (await rath.pending()).filter((one) => one.id.startsWith(name.toLowerCase()));
  if (found.length > 1) throw new Fault(exits.usage, `${name} is the beginning of ${found.length} ids: write more of it.`);
  const { pending, ...decided } = await rath.decision(found[0]?.id ?? name);
  if (cli.asJson) return cli.data({ pending, decision: decided.by === undefined ? null : decided });
  const short = await shortIds(cli);
  printFields(cli, [
    ["id", cli.ink.cyan(cli.onTerminal ? shortEvent(pending.id) : pending.id)],
    [pending.kind, pendingText(pending)],
    ["asked by", pending.by],
    ["session", short(pending.session)],
    ["since", pending.since],
    ...("expires" in pending && pending.expires !== undefined ? [["expires", pending.expires] as const] : []),
    ...(decided.by === undefined ? [["decided", "not yet"] as const] : decidedFields(decided)),
  ]);
  if (decided.by === undefined) cli.next(commandFor(pending));
}

function decidedFields(decided: Omit<Decided, "pending">): (readonly [name: string, value: string])[] {
  const { answer, approve, input, outcome, expired, by = "", at = "", reason } = decided;
  const said =
    expired === true
      ? "nobody answered in time"
      : approve !== undefined
        ? approve
          ? "approved"
          : "denied"
        : valueText(outcome === undefined ? answer : outcome);
  return [
    ["decided", said],
    ...(input === undefined ? [] : [["with input", valueText(input)] as const]),
    ["by", by],
    ["at", at],
    ...(reason === undefined ? [] : [["reason", reason] as const]),
  ];
}

function commandFor(pending: Pending): string {
  const id = shortEvent(pending.id);
  if (pending.kind === "question") return `openrath approvals answer ${id} "…"`;
  return pending.kind === "approval" ? `openrath approvals approve ${id}, or deny ${id} --reason "…"` : `openrath resolve ${id} --help`;
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

/** One thing that waits or waited, in full: what exactly is asked, by whom, where and since when, and the answer or how to give it. */
import { rowOfRun } from "../runtime/run-row.ts";
import type { Decided, Message, Pending } from "../session/session.ts";
import { valueText } from "../wire/event-line.ts";
import { ago, plural, shortEvent, within } from "../wire/format.ts";
import { verdictText } from "../wire/pending-line.ts";
import type { Cli } from "./cli.ts";
import { pendingId } from "./decide.ts";
import { printFields } from "./print-list.ts";
import { answerCommand } from "./session-text.ts";
import { openSession, shortIds } from "./sessions.ts";
import { clip, json, type Showable, show } from "./shown.ts";

type Field = readonly [name: string, value: Showable];

export async function showPending(cli: Cli, name: string): Promise<void> {
  const { rath, runtime } = await cli.project();
  const { pending, ...decision } = await rath.decision(await pendingId(cli, name));
  const decided = decision.by !== undefined || decision.expired === true;
  const run = pending.run === undefined ? undefined : await rowOfRun(await runtime.store(), pending.run);
  const beside = run === undefined ? [] : (await rath.pending({ run: run.id })).filter(({ id }) => id !== pending.id);
  const before = await said(cli, pending);
  const answers = decided ? [] : answersTo(pending);
  if (cli.asJson)
    return cli.data({
      ...{ pending, decision: decided ? decision : null },
      ...{ workflow: run?.workflow ?? null, before: before === undefined ? null : { role: before.role, text: before.text } },
      ...{ beside: beside.map(({ id, kind }) => ({ id, kind })), answers },
    });
  const short = await shortIds(cli);
  const id = (full: string): string => (cli.onTerminal ? short(full) : full);
  const now = cli.host.now();
  const expires = "expires" in pending ? pending.expires : undefined;
  const time = (at: string, words: string): string => (cli.onTerminal ? `${words} (${at})` : at);
  printFields(cli, [
    [pending.kind, cli.ink.cyan(cli.onTerminal ? shortEvent(pending.id) : pending.id)],
    ...whatFields(pending),
    ["asked by", pending.by],
    ["since", time(pending.since, ago(pending.since, now))],
    ...(expires === undefined ? [] : [["expires", time(expires, within(expires, now))] as const]),
    ["session", id(pending.session)],
    ...(run === undefined ? [] : [["run", `${id(run.id)} of ${run.workflow}`] as const]),
    ...(beside.length === 0
      ? []
      : [["beside", `${plural(beside.length, "other")} of this run: ${beside.map((one) => shortEvent(one.id)).join(", ")}`] as const]),
    ...(before === undefined ? [] : [["before", show`${before.role}: ${before.text}`] as const]),
    ...(decided ? decidedFields(decision) : []),
  ]);
  if (!decided && pending.run !== undefined && run === undefined)
    cli.warn(show`It waits in a process that was not started as a durable run: only that process hears the answer.`);
  cli.next(...answers);
}

function whatFields(pending: Pending): readonly Field[] {
  switch (pending.kind) {
    case "question":
      return [
        ["asks", pending.question],
        ["answer", json(pending.answer)],
      ];
    case "approval":
      return [["calls", pending.tool], ...inputField(pending.input)];
    case "unknown":
      return [["effect", `${pending.op}: started, and nobody knows whether it happened`], ...inputField(pending.input)];
    case "timer":
      return [["until", pending.wakes]];
    case "signal":
      return [["signal", pending.signal]];
    case "process":
      return [["process", `${pending.process} runs: ${pending.command}`]];
    default:
      return pending satisfies never;
  }
}

/** All of it: who says yes must have seen what to. */
function inputField(input: unknown): readonly Field[] {
  if (input === undefined) return [];
  return [["input", typeof input === "string" ? input : json(input, 2)]];
}

/** The newest thing that was said before it. */
async function said(cli: Cli, { session, id }: Pending): Promise<Message | undefined> {
  const messages = (await openSession(cli, `${session}@${id}`)).messages;
  const found = messages.findLast(({ text }) => text.trim() !== "");
  return found === undefined || !cli.onTerminal ? found : { ...found, text: clip(found.text, 2000) };
}

function decidedFields(decided: Omit<Decided, "pending">): readonly Field[] {
  const { input, by, at, reason } = decided;
  const given: readonly (readonly [string, string | undefined])[] = [
    ["decided", verdictText(decided)],
    ["with input", input === undefined ? undefined : valueText(input)],
    ["by", by],
    ["at", at],
    ["reason", reason],
  ];
  return given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

/** Every way to answer it. */
function answersTo(pending: Pending): readonly string[] {
  const id = shortEvent(pending.id);
  switch (pending.kind) {
    case "question": {
      const { type, enum: choices } = pending.answer as { readonly type?: unknown; readonly enum?: readonly unknown[] };
      const example = choices?.[0] === undefined ? (type === "boolean" ? "true" : type === "string" ? "…" : "JSON") : valueText(choices[0]);
      return [`openrath approvals answer ${id} "${example}"`];
    }
    case "approval":
      return [
        `openrath approvals approve ${id}`,
        `openrath approvals approve ${id} --input JSON, with another input`,
        `openrath approvals deny ${id} --reason "…"`,
      ];
    case "unknown":
      return [
        `openrath resolve ${id} --ok JSON, if it happened`,
        `openrath resolve ${id} --error "…", if it failed`,
        `openrath resolve ${id} --again, if it did not happen`,
      ];
    case "signal":
    case "timer":
    case "process": {
      const command = answerCommand(pending, id);
      return command === undefined ? [] : [command];
    }
    default:
      return pending satisfies never;
  }
}

/** `openrath cost ID`: tokens, money and time, by branch, agent, model or tool. */
import { type Command, Option } from "commander";
import { lineageEvents } from "../../audit/lineage-events.ts";
import { type Event, isReturned } from "../../session/event.ts";
import type { Session } from "../../session/session.ts";
import { callBehind, type FindEvent } from "../../wire/event-line.ts";
import { count, exact, money, seconds, shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { type Column, printList } from "../print-list.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

type By = "branch" | "agent" | "model" | "tool";

interface Sum {
  readonly name: string;
  calls: number;
  failed: number;
  ms: number;
  readonly usage: { input: number; output: number; cached: number; cacheWrite: number; reasoning: number; usd: number };
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("show what a session cost")
    .description("Adds up tokens, money and time over every branch of a session, also those that were rejected.")
    .argument("<id>", "a session")
    .addOption(new Option("--by <what>", "what each line is about").choices(["branch", "agent", "model", "tool"]).default("branch"))
    .action((id: string, { by }: { readonly by: By }) => cost(cli, id, by));
}

async function cost(cli: Cli, id: string, by: By): Promise<void> {
  const session = await openSession(cli, id);
  const events = await lineageEvents(session);
  const byId = new Map(events.map((event) => [event.id as string, event]));
  const sums = summed(events, by, (event) => byId.get(event));
  const short = await shortIds(cli);
  const labels = labelsOf(events, short);
  const total = summed(events, "branch", (event) => byId.get(event)).reduce((all, { usage }) => all + usage.usd, 0);
  printList(cli, sums, {
    columns: columns(by, (name) => (by === "branch" ? (labels.get(name) ?? short(name)) : name)),
    data: ({ name, calls, failed, ms, usage }) => ({ [by]: name, calls, failed, ms, ...usage }),
    empty: show`Nothing was spent: session ${short(session.id)} has no ${by === "tool" ? "call of a tool" : by === "model" ? "call of a model" : "effect"} on record.`,
  });
  if (cli.onTerminal && sums.length > 0) cli.note(show`${cli.errInk.dim(remark(session, total, events))}`);
}

function summed(events: readonly Event[], by: By, find: FindEvent): readonly Sum[] {
  const sums = new Map<string, Sum>();
  for (const event of events) {
    const name = isReturned(event.kind) || event.kind === "session.imported" ? nameOf(event, by, find) : undefined;
    if (name === undefined) continue;
    const sum = sums.get(name) ?? {
      name,
      calls: 0,
      failed: 0,
      ms: 0,
      usage: { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 },
    };
    sums.set(name, sum);
    // A reused result was paid for where it comes from.
    const { outcome = "ok", ms = 0, usage, source } = event.facts;
    if (isReturned(event.kind)) sum.calls++;
    if (outcome !== "ok") sum.failed++;
    if (source !== undefined) continue;
    sum.ms += ms;
    for (const key of Object.keys(sum.usage) as (keyof Sum["usage"])[]) sum.usage[key] += usage?.[key] ?? 0;
  }
  for (const sum of sums.values()) sum.ms = Math.round(sum.ms * 1000) / 1000;
  return [...sums.values()].sort((a, b) => b.usage.usd - a.usage.usd || b.ms - a.ms || (a.name < b.name ? -1 : 1));
}

/** Undefined when the event is none of what is asked about. */
function nameOf(event: Event, by: By, find: FindEvent): string | undefined {
  switch (by) {
    case "branch":
      return event.session;
    case "agent":
      return event.by;
    case "model":
      // What a foreign file says was spent on all of its replies.
      if (event.kind === "session.imported") return "unknown";
      return event.kind !== "model.returned" ? undefined : (event.data?.model ?? dataOf(callBehind(event, find)).model ?? "unknown");
    case "tool":
      return event.kind !== "tool.returned" ? undefined : (dataOf(callBehind(event, find)).name ?? "unknown");
    default:
      return by satisfies never;
  }
}

function dataOf(event: Event | undefined): { readonly model?: string; readonly name?: string } {
  return (event?.data ?? {}) as { readonly model?: string; readonly name?: string };
}

function columns(by: By, named: (name: string) => string): readonly Column<Sum>[] {
  const some = (value: number): string => (value > 0 ? count(value) : "");
  return [
    { name: by.toUpperCase(), cell: ({ name }) => named(name), plain: ({ name }) => name },
    { name: "CALLS", cell: ({ calls }) => calls, right: true },
    { name: "FAILED", cell: ({ failed }) => some(failed), plain: ({ failed }) => failed, right: true, optional: true },
    { name: "INPUT", cell: ({ usage }) => some(usage.input), plain: ({ usage }) => usage.input, right: true, optional: true },
    { name: "CACHED", cell: ({ usage }) => some(usage.cached), plain: ({ usage }) => usage.cached, right: true, optional: true },
    { name: "OUTPUT", cell: ({ usage }) => some(usage.output), plain: ({ usage }) => usage.output, right: true, optional: true },
    { name: "REASONING", cell: ({ usage }) => some(usage.reasoning), plain: ({ usage }) => usage.reasoning, right: true, optional: true },
    { name: "COST", cell: ({ usage }) => money(usage.usd), plain: ({ usage }) => exact(usage.usd), right: true },
    { name: "TIME", cell: ({ ms }) => seconds(ms), plain: ({ ms }) => ms, right: true },
  ];
}

function labelsOf(events: readonly Event[], short: (id: string) => string): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  for (const event of events) {
    if (event.kind !== "session.forked" || event.data === undefined) continue;
    const { label, nested, implicit } = event.data;
    const name = label ?? (nested === true ? "nested" : implicit === true ? "implicit" : undefined);
    if (name !== undefined) labels.set(event.session, `${short(event.session)} ${name}`);
  }
  return labels;
}

function remark(session: Session, total: number, events: readonly Event[]): string {
  const unpriced = events.filter((event) => event.kind === "model.returned" && event.data?.unpriced === true);
  const first = unpriced[0];
  const all = `${money(total)} on all branches, ${money(session.usage.usd)} of it in this session's own past`;
  return first === undefined ? all : `${all}; ${unpriced.length} calls have no price (first: ${shortEvent(first.id)})`;
}

/** `openrath log ID`: what happened, oldest first; with `--graph` on every branch, drawn in lanes. */
import type { Command } from "commander";
import { folded, lineageEvents } from "../../audit/lineage-events.ts";
import { type Event, isCalled } from "../../session/event.ts";
import type { Session } from "../../session/session.ts";
import { eventLine } from "../../wire/event-line.ts";
import { plural, seconds, shortEvent } from "../../wire/format.ts";
import { lanes } from "../../wire/lanes.ts";
import { type Cli, dotted } from "../cli.ts";
import { drawRow, graphWidth } from "../draw-lanes.ts";
import { wholeOf } from "../options.ts";
import { tabbed } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { usageText } from "../session-text.ts";
import { openSession, shortIds } from "../sessions.ts";
import { clip, joined, json, type Shown, show } from "../shown.ts";

interface Options {
  readonly graph?: boolean;
  readonly oneline?: boolean;
  readonly all?: boolean;
  readonly limit?: number;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("show what happened, oldest first")
    .description("Shows the events behind a session, oldest first.")
    .argument("<id>", "a session, or a place in it: ID@step")
    .option("-g, --graph", "every branch, also rejected ones, drawn in lanes")
    .option("--oneline", "one line for each thing that happened: a call and its result are one")
    .option("-a, --all", "calls and starts too, with --oneline and --graph")
    .option("-n, --limit <number>", "only the newest so many; 0 for all", wholeOf("--limit"))
    .action((id: string, options: Options) => log(cli, id, options));
}

async function log(cli: Cli, id: string, options: Options): Promise<void> {
  const session = await openSession(cli, id);
  const all = await progressing(cli, "reading", "events", () => eventsOf(session, options));
  const compact = options.graph === true || options.oneline === true;
  const byId = new Map(all.map((event) => [event.id as string, event]));
  // Of a folded event what was recorded is read, with the call it belongs to.
  const textOf = (event: Event): string => {
    const text = eventLine(byId.get(event.id) ?? event, (other) => byId.get(other));
    // Folding leaves only calls that nothing came back from.
    return compact && options.all !== true && isCalled(event.kind) ? `${text} → no result yet` : text;
  };
  const wanted = compact && options.all !== true ? folded(all) : all;
  const events = options.limit === undefined || options.limit === 0 ? wanted : wanted.slice(-options.limit);
  if (cli.settings.jsonl === true) for (const event of events) cli.print(json(event));
  else if (cli.settings.json === true) cli.data(events);
  else if (options.graph === true) drawGraph(cli, wanted, new Set(events), textOf);
  else if (!cli.onTerminal)
    for (const event of events) cli.print(tabbed([event.step, event.id, event.kind, event.by, event.at, event.session, textOf(event)]));
  else if (options.oneline === true) for (const event of events) cli.print(line(cli, event, textOf(event)));
  else {
    const short = await shortIds(cli);
    for (const event of events) block(cli, event, textOf(event), short);
  }
  if (events.length < wanted.length) cli.note(show`${cli.errInk.dim(`and ${plural(wanted.length - events.length, "earlier event")}`)}`);
}

async function eventsOf(session: Session, options: Options): Promise<readonly Event[]> {
  return options.graph === true ? lineageEvents(session) : [...session.events()];
}

/** The step, the id and what happened, cut to the line; what is noted behind it is not cut. */
function line(cli: Cli, event: Event, text: string, drawn = show``, noted = show``): Shown {
  const left = show`${drawn}${cli.ink.dim(String(event.step).padStart(4))} ${cli.ink.cyan(shortEvent(event.id))} `;
  return joined([left, clip(text, Math.max(20, cli.host.out.columns - left.width - noted.width)), noted]);
}

/** Who, when, where, and what in full. */
function block(cli: Cli, event: Event, text: string, short: (id: string) => string): void {
  const { ms, attempts, outcome, usage, redacted } = event.facts;
  cli.print(show`${cli.ink.bold(`step ${event.step}`)}  ${event.kind}  ${cli.ink.cyan(shortEvent(event.id))}`);
  const facts = [event.by, event.at, `on ${short(event.session)}`];
  if (outcome !== undefined && outcome !== "ok") facts.push(outcome);
  if (ms !== undefined) facts.push(seconds(ms));
  if (attempts !== undefined && attempts > 1) facts.push(`${attempts} attempts`);
  if (redacted !== undefined) facts.push(`${plural(redacted, "secret")} removed`);
  cli.print(show`  ${cli.ink.dim(dotted(facts))}`);
  if (usage !== undefined) cli.print(show`  ${cli.ink.dim(usageText(usage))}`);
  for (const { message } of failuresOf(event)) cli.print(show`  ${cli.ink.dim(`an attempt before failed: ${message}`)}`);
  for (const part of text.trimEnd().split("\n")) cli.print(show`    ${part}`);
}

/** What went wrong before it was tried again. */
function failuresOf({ data }: Event): readonly { readonly message: string }[] {
  return (data as { readonly failures?: readonly { readonly message: string }[] } | undefined)?.failures ?? [];
}

/** A longer label is cut, so that it leaves room for what happened. */
const longestNote = 30;

/** Lanes on the left, the newest rows when there is a limit; earlier rows decide the lanes all the same. */
function drawGraph(cli: Cli, events: readonly Event[], shown: ReadonlySet<Event>, textOf: (event: Event) => string): void {
  const rows = lanes(events);
  const width = graphWidth(rows.filter((_, index) => shown.has(events[index] as Event)));
  const labels = new Map(
    events.flatMap((event) =>
      event.kind === "session.forked" && event.data?.label !== undefined ? [[event.session as string, event.data.label]] : [],
    ),
  );
  rows.forEach((row, index) => {
    const event = events[index] as Event;
    if (!shown.has(event)) return;
    // A line that cannot be drawn, because its lane had ended, is named instead.
    const notes = row.links.flatMap((link) => (link.lane === undefined ? [`from ${shortEvent(link.from)}`] : []));
    const label = row.begins ? undefined : labels.get(event.session);
    if (label !== undefined) notes.unshift(label);
    const noted = (text: string): string => (text === "" ? "" : ` (${text})`);
    const drawn = drawRow(row, { ascii: cli.ascii, width });
    const [text, note] = [textOf(event), notes.join(", ")];
    if (cli.onTerminal) cli.print(line(cli, event, text, show`${drawn} `, show`${noted(clip(note, longestNote))}`));
    else cli.print(show`${drawn}\t${tabbed([event.step, event.id, `${text}${noted(note)}`])}`);
  });
}

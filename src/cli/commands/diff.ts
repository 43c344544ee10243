/** `openrath diff A [B]`: what a session changed, or what differs between two of them, or two places in one. */

import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { type Diff, diff } from "../../audit/diff.ts";
import { type SectionName, sectionsOf } from "../../audit/diff-rows.ts";
import { type DiffLine, eventLines, figureLines, sectionLines, summaryLines } from "../../audit/diff-text.ts";
import { bases } from "../../runtime/merge.ts";
import type { Files, Session, Totals } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { exact, shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { type Counted, printChanges, printPatch } from "../print-changes.ts";
import { tabbed } from "../print-list.ts";
import { filesAt, filesTaken, linesChanged } from "../session-files.ts";
import { openSession, shortIds } from "../sessions.ts";
import { type Shown, show } from "../shown.ts";

const sections = {
  messages: ["messages"],
  memory: ["memory"],
  tools: ["calls", "agents"],
  checks: ["checks", "answers", "routes"],
  cost: ["models"],
  events: [],
} as const satisfies Readonly<Record<string, readonly SectionName[]>>;

interface Options extends Readonly<Partial<Record<keyof typeof sections | "files", boolean>>> {
  readonly patch?: boolean;
  readonly stat?: boolean;
  readonly html?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("show what a session changed, or what differs between two")
    .description(
      "Shows what differs between two sessions, or two places in one: their common ancestor, the first difference, what each side spent, then messages, files, calls, checks and memory. Of a rerun: what changed because one thing changed. With one session: what it changed since its files were taken from the directory.",
    )
    .argument("<from>", "a session or a place in it: A, A@step, or two as A..B")
    .argument("[to]", "what it is compared with: B or B@step")
    .option("--files", "only the files that lead from A to B")
    .option("--messages", "only what was said")
    .option("--tools", "only calls, and what agents were offered")
    .option("--checks", "only verdicts, answers and choices")
    .option("--memory", "only what was recalled and remembered")
    .option("--cost", "only tokens, money and time")
    .option("--events", "every event after the common ancestor, side by side")
    .option("-p, --patch", "files as a patch, which git apply takes")
    .option("--stat", "files with the lines added and removed")
    .option("--html <file>", "write it as one page that loads nothing")
    .action((from: string, to: string | undefined, options: Options) => run(cli, from, to, options));
}

async function run(cli: Cli, from: string, to: string | undefined, options: Options): Promise<void> {
  const [a, b] = (await Promise.all(placesOf(from, to).map((place) => openSession(cli, place)))) as [Session, Session?];
  const chosen = (Object.keys(sections) as (keyof typeof sections)[]).filter((name) => options[name] === true);
  if (b === undefined && (chosen.length > 0 || options.html !== undefined))
    throw new Fault(exits.usage, "Only two sessions can be compared so: with one, diff shows its files.", {
      next: `openrath diff ${from}..OTHER`,
    });
  if (b === undefined)
    return printFiles(
      cli,
      { a, since: filesTaken(a), now: a.files, empty: show`Session ${(await shortIds(cli))(a.id)} changed no files.` },
      options,
    );
  const onlyFiles = chosen.length === 0 && (options.files === true || options.patch === true || options.stat === true);
  if (onlyFiles && options.html === undefined)
    return printFiles(cli, { a, b, since: filesAt(a, b), now: filesAt(b, a), empty: show`The files are the same.` }, options);
  const found = await diff(a, b);
  await compare(cli, found, chosen, options);
  if (cli.onTerminal && chosen.length === 0 && options.html === undefined && !found.identical)
    cli.next(`openrath diff ${placesOf(from, to).join("..")} --events`);
}

interface Compared {
  readonly a: Session;
  readonly b?: Session;
  readonly since: Files;
  readonly now: Files;
  readonly empty: Shown;
}

/** Files alone: as a list, or as a patch that other programs take. */
async function printFiles(cli: Cli, { a, b, since, now, empty }: Compared, { patch, stat }: Options): Promise<void> {
  const changes = await counted(b ?? a, since, now, stat);
  const common = b === undefined ? [] : bases(placeOf(a).node, placeOf(b).node);
  if (cli.asJson) {
    const ancestors = common.map(({ id, log, step }) => ({ event: id, session: log.id, step }));
    const places = b === undefined ? { from: null, to: a.toJSON() } : { from: a.toJSON(), to: b.toJSON(), ancestors };
    return cli.data({ ...places, changes, ...(patch === true ? { patch: await now.patch(since) } : {}) });
  }
  if (b !== undefined) {
    const short = await shortIds(cli);
    const named = common.map(({ id, log, step }) => `${short(log.id)}@${step} (${shortEvent(id)})`).join(", ");
    cli.note(show`${cli.errInk.dim("common ancestor:")} ${named === "" ? "none" : named}`);
  }
  if (patch === true && changes.length > 0) return printPatch(cli, await now.patch(since));
  printChanges(cli, changes, { stat: stat === true, empty });
}

async function counted(session: Session, since: Files, now: Files, stat: boolean | undefined): Promise<readonly Counted[]> {
  const changes = await now.changes(since);
  if (stat !== true) return changes;
  return Promise.all(changes.map(async (one) => ({ ...one, lines: await linesChanged(session, since, now, one) })));
}

async function compare(cli: Cli, found: Diff, chosen: readonly (keyof typeof sections)[], { html, files }: Options): Promise<void> {
  if (html !== undefined) {
    const file = resolve(cli.host.cwd, html);
    await writeFile(file, found.toHtml());
    if (cli.asJson) return cli.data({ file });
    return cli.print(show`${file}`);
  }
  const all = chosen.length === 0;
  const wanted = new Set<string>([...chosen.flatMap((name): readonly string[] => sections[name]), ...(files === true ? ["files"] : [])]);
  if (cli.asJson) return cli.data(all ? found : partOf(found, wanted, chosen));
  const shown = sectionsOf(found).filter(({ name }) => all || wanted.has(name));
  if (!cli.onTerminal) return printTabbed(cli, found, shown, { events: chosen.includes("events"), cost: all || chosen.includes("cost") });
  const blocks: (readonly DiffLine[])[] = [];
  if (all) blocks.push(summaryLines(found, await shortIds(cli)));
  if (chosen.includes("cost")) blocks.push(figureLines(found));
  blocks.push(...shown.map(sectionLines));
  if (chosen.includes("events")) blocks.push(eventLines(found));
  if (blocks.length === 0) return cli.note(show`Nothing of that differs.`);
  blocks.forEach((lines, index) => {
    if (index > 0) cli.print(show``);
    for (const line of lines) cli.print(painted(cli, line));
  });
}

/** Where they are, and the sections that were asked for. */
function partOf(found: Diff, wanted: ReadonlySet<string>, chosen: readonly string[]): unknown {
  const { a, b, identical, ancestor, ancestors, first, usage, spent, events } = found;
  const parts = Object.entries(found).filter(([name]) => wanted.has(name));
  return {
    ...{ a, b, identical, ancestor, ancestors, first, ...Object.fromEntries(parts) },
    ...(chosen.includes("cost") ? { usage, spent } : {}),
    ...(chosen.includes("events") ? { events } : {}),
  };
}

function painted({ ink }: Cli, { text, tone }: DiffLine): Shown {
  const paint = { title: ink.bold, a: ink.red, b: ink.green, changed: ink.yellow, dim: ink.dim, plain: (line: string) => show`${line}` };
  return paint[tone](text);
}

/** For programs: section, what, a, b. */
function printTabbed(
  cli: Cli,
  found: Diff,
  shown: ReturnType<typeof sectionsOf>,
  { events, cost }: { readonly events: boolean; readonly cost: boolean },
): void {
  for (const { event, session, step } of cost ? found.ancestors : [])
    cli.note(show`common ancestor: ${session}@${step} (${event.slice(0, 12)})`);
  if (cost && found.ancestors.length === 0) cli.note(show`common ancestor: none`);
  if (found.identical) cli.note(show`The same happened on both sides.`);
  if (cost) for (const [what, a, b] of figures(found)) cli.print(tabbed(["figures", what, a, b]));
  for (const { name, rows } of shown) for (const { what, a, b } of rows) cli.print(tabbed([name, what, a ?? "", b ?? ""]));
  if (!events) return;
  for (const { relation, a, b } of found.events)
    cli.print(tabbed(["events", relation, a === undefined ? "" : `${a.id} ${a.line}`, b === undefined ? "" : `${b.id} ${b.line}`]));
}

function figures({ spent: { a, b }, status, stop }: Diff): readonly (readonly [string, string | number, string | number])[] {
  const counts = ["events", "calls", "failed", "effectMs", "wallMs"] as const;
  return [
    ...counts.map((name) => [name, a[name], b[name]] as const),
    ...(Object.keys(a.usage) as (keyof Totals)[]).map((name) => [name, exact(a.usage[name]), exact(b.usage[name])] as const),
    ["status", status.a, status.b],
    ["stop", stop.a ?? "", stop.b ?? ""],
  ];
}

/** `A`, `A B` or `A..B`. */
function placesOf(from: string, to: string | undefined): readonly string[] {
  const [a = "", b, ...more] = from.split("..");
  if (to === undefined && b === undefined) return [from];
  if (to === undefined && a !== "" && b !== undefined && b !== "" && more.length === 0) return [a, b];
  if (to === undefined || b !== undefined || to.includes(".."))
    throw new Fault(exits.usage, "diff shows one session or compares two: write openrath diff A, A B, or A..B.");
  return [from, to];
}

/** `openrath grep PATTERN [ID]`: finds text in what is on record. */
import type { Command } from "commander";
import { type GrepHit, type GrepOptions, grep } from "../../audit/grep.ts";
import { rowOf } from "../../runtime/load.ts";
import { rowOfRun } from "../../runtime/run-row.ts";
import { RathError } from "../../session/errors.ts";
import { type EventKind, versions } from "../../session/event.ts";
import type { Store } from "../../store/store.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { collected, durationOf, wholeOf } from "../options.ts";
import { tabbed } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { openSession, shortIds } from "../sessions.ts";
import { clip, joined, json, type Shown, show, widthOf } from "../shown.ts";

interface Options {
  readonly ignoreCase?: boolean;
  readonly regex?: boolean;
  readonly kind?: readonly string[];
  readonly by?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: number;
  readonly list?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("find text in what is on record")
    .description(
      "Finds a text in messages, replies, inputs and outputs of tools, output of commands, notes, reasons, memories and files: of everything in the store, or of a session with all its branches. The exit code is 3 when nothing is found.",
    )
    .argument("<pattern>", "what to look for, as it stands")
    .argument("[id]", "a session, or a place in it: ID@step")
    .option("-i, --ignore-case", "upper and lower case are the same")
    .option("-E, --regex", "the pattern is a regular expression, for one line")
    .option("--kind <kind>", "only events of this kind, like tool.returned, or tool for all of them; may be given again", collected)
    .option("--by <name>", "only what this agent, workflow or person did")
    .option("--since <time>", "only what happened since then: 2026-01-31, or 2h for the last two hours")
    .option("--until <time>", "only what happened before then")
    .option("-n, --limit <number>", "stop after so many", wholeOf("--limit"))
    .option("-l, --list", "only the sessions that have it")
    .action((pattern: string, id: string | undefined, options: Options) => search(cli, pattern, id, options));
}

async function search(cli: Cli, pattern: string, id: string | undefined, options: Options): Promise<void> {
  const where = id === undefined ? (await cli.project()).rath : await openSession(cli, id);
  const short = await shortIds(cli);
  const found: GrepHit[] = [];
  let hits = 0;
  await progressing(cli, "searching", "events", async ({ add }) => {
    const all = orTold(cli, grep(where, pattern, given(cli, options, add)));
    if (options.list === true) hits = await listSessions(cli, all, options.limit, short);
    else
      for await (const hit of all) {
        hits++;
        if (cli.settings.json === true) found.push(hit);
        else cli.print(hitLine(cli, hit, short));
      }
  });
  if (cli.settings.json === true && options.list !== true) cli.data(found);
  if (hits > 0 || cli.exit !== exits.ok) return;
  cli.exit = exits.notFound;
  const nowhere = options.list === true ? "in no session of this store" : "nowhere in this store";
  cli.note(show`${JSON.stringify(pattern)} is ${id === undefined ? nowhere : `nowhere in session ${id}`}.`);
}

/** What is damaged is named, and keeps nobody from the hits. */
async function* orTold(cli: Cli, hits: AsyncIterable<GrepHit>): AsyncGenerator<GrepHit, void> {
  try {
    yield* hits;
  } catch (error) {
    if (!RathError.is(error, "store.corrupt")) throw error;
    cli.warn(show`${cli.errInk.yellow("not read:")} ${error.message}`);
    cli.exit = exits.error;
  }
}

/** Gives how many sessions have it. */
async function listSessions(
  cli: Cli,
  hits: AsyncIterable<GrepHit>,
  limit: number | undefined,
  short: (id: string) => string,
): Promise<number> {
  const { runtime } = await cli.project();
  const store = await runtime.store();
  const logs = new Set<string>();
  const sessions = new Set<string>();
  for await (const { session: log } of hits) {
    if (logs.has(log)) continue;
    logs.add(log);
    const session = await sessionOf(store, log);
    if (session === undefined || sessions.has(session)) continue;
    sessions.add(session);
    if (cli.settings.json !== true) cli.print(sessionLine(cli, session, short));
    if (sessions.size === limit) break;
  }
  if (cli.settings.json === true) cli.data([...sessions]);
  return sessions.size;
}

/** What the log of a run says belongs to the session that it works on, which can be shown; that of effects outside runs, and what else is no session, to none. */
async function sessionOf(store: Store, log: string): Promise<string | undefined> {
  const kind = (await rowOf(store, log))?.log;
  return kind === "run" ? (await rowOfRun(store, log))?.session : kind === "session" ? log : undefined;
}

function given(cli: Cli, { ignoreCase, regex, kind, by, since, until, limit, list }: Options, add: (events: number) => void): GrepOptions {
  return {
    ...{ ignoreCase, regex, by, kind: kind?.flatMap(kindsOf), onProgress: add },
    ...{ since: since && timeOf(cli, since, "--since"), until: until && timeOf(cli, until, "--until") },
    limit: list === true || limit === 0 ? undefined : limit,
    eachLog: list,
  };
}

function kindsOf(name: string): readonly EventKind[] {
  const kinds = Object.keys(versions) as EventKind[];
  const found = kinds.filter((kind) => kind === name || kind.startsWith(`${name}.`));
  if (found.length > 0) return found;
  const families = new Set(kinds.map((kind) => kind.slice(0, kind.indexOf("."))));
  throw new Fault(
    exits.usage,
    `There is no kind of event "${name}". Give one of ${[...families].join(", ")}, or a whole kind like tool.returned.`,
  );
}

function timeOf(cli: Cli, text: string, option: string): Date {
  if (/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(text)) return new Date(cli.host.now().getTime() - durationOf(text, option));
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new Fault(exits.usage, `${option} takes a time like 2026-01-31 or 2h, not ${text}.`);
  return time;
}

function sessionLine(cli: Cli, session: string, short: (id: string) => string): Shown {
  if (cli.settings.jsonl === true) return json(session);
  return cli.onTerminal ? cli.ink.cyan(short(session)) : tabbed([session]);
}

function hitLine(cli: Cli, hit: GrepHit, short: (id: string) => string): Shown {
  if (cli.settings.jsonl === true) return json(hit);
  const { session, step, event, kind, by, at, where, line, excerpt } = hit;
  if (!cli.onTerminal) return tabbed([session, step, event, kind, by, at, where, line, excerpt]);
  const place = line === 1 && !hit.file ? where : `${where}:${line}`;
  const left = show`${cli.ink.cyan(`${short(session)}@${step}`)}  ${cli.ink.dim(`${kind} by ${by}`)}  ${place}  `;
  return joined([left, matched(cli, hit, Math.max(30, cli.host.out.columns - left.width))]);
}

/** What stands around the match, which is always seen, in so many columns. */
function matched(cli: Cli, { excerpt, start, end }: GrepHit, columns: number): Shown {
  const said = oneLine(excerpt.slice(0, start)).trimStart();
  const before = widthOf(oneLine(excerpt)) <= columns ? said : lastOf(said, Math.floor(columns / 3));
  const match = clip(excerpt.slice(start, end), columns - widthOf(before));
  const after = oneLine(excerpt.slice(end)).trimEnd();
  const left = columns - widthOf(before) - widthOf(match);
  const gap = /^\s/.test(after) ? " " : "";
  return show`${before}${cli.ink.red(cli.ink.bold(match))}${left > 2 && after !== "" ? `${gap}${clip(after, left - gap.length)}` : ""}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}

function lastOf(text: string, columns: number): string {
  let kept = text;
  while (widthOf(kept) > columns) kept = [...kept].slice(1 + Math.floor((widthOf(kept) - columns) / 2)).join("");
  return kept === text ? text : `…${kept}`;
}

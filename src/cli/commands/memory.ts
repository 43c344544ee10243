/** `openrath memory`: what is remembered, with its evidence and its uses, and taking it back. Every decision is a new version. */
import { type Command, Option } from "commander";
import type { Memory, MemoryItem, MemoryRecord, MemoryScope, MemoryUsage } from "../../memory/memory.ts";
import { memoryScopes } from "../../session/given-memory.ts";
import { noMemory } from "../../session/memory-uri.ts";
import { versionName } from "../../session/remembered.ts";
import { ago, plural, shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { personHere } from "../decide.ts";
import { exits, Fault } from "../fault.ts";
import { wholeOf } from "../options.ts";
import { type Column, printFields, printList } from "../print-list.ts";
import { printWhy } from "../print-why.ts";
import { shortIds } from "../sessions.ts";
import { clip, show } from "../shown.ts";

/** So that a line stays a line, whatever somebody remembered. */
const longestName = 40;
const shortContent = 24;
const longestCell = 400;

interface Where {
  readonly scope?: MemoryScope;
  readonly limit?: number;
  readonly all?: boolean;
}
interface Deciding {
  readonly reason: string;
  readonly by?: string;
  readonly yes?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("search, explain and take back what is remembered")
    .description(
      "What sessions have published to memory: what it is, why it is there, who used it, and taking it back. A memory is named by its key, its uri, or uri@version.",
    );
  const scoped = (one: Command): Command => one.addOption(new Option("--scope <scope>", "only of this one").choices(memoryScopes));
  const named = (name: string, summary: string): Command =>
    command.command(name).summary(summary).argument("<name>", "a key, a uri, or uri@version");
  scoped(command.command("ls", { isDefault: true }).summary("list what is remembered"))
    .option("-a, --all", "what was retracted or forgotten too")
    .action((where: Where) => ls(cli, where));
  scoped(command.command("search").summary("search by words").argument("<query>", "what to look for"))
    .option("-n, --limit <number>", "at most so many", wholeOf("--limit"), 10)
    .action((query: string, where: Where) => search(cli, query, where));
  named("show", "show one, with its evidence").action((name: string) => showOne(cli, name));
  named("history", "list its versions, oldest first").action((name: string) => history(cli, name));
  named("why", "show the events that led to it").action(async (name: string) => printWhy(cli, await (await memoryOf(cli)).why(name)));
  named("used-by", "list where it was recalled, and which model calls read it").action((name: string) => usedBy(cli, name));
  const decided = (one: Command): Command =>
    one
      .requiredOption("--reason <text>", "why, for the record")
      .option("--by <person>", "who decides; default: the user of this machine")
      .option("-y, --yes", "do not ask");
  decided(named("retract", "take one back, with all that was made of it")).action((name: string, options: Deciding) =>
    retract(cli, name, options),
  );
  decided(
    command.command("rollback").summary("make memory what it was").argument("<to>", "a revision, or a time like 2026-01-31T12:00:00Z"),
  ).action((to: string, options: Deciding) => rollback(cli, to, options));
}

async function memoryOf(cli: Cli): Promise<Memory> {
  return (await cli.project()).rath.memory;
}

async function ls(cli: Cli, { scope, all }: Where): Promise<void> {
  const items = await collect((await memoryOf(cli)).list({ scope, state: all === true ? undefined : "published" }));
  printList(cli, items, {
    columns: itemColumns(cli),
    data: (item) => item,
    empty:
      all === true || scope !== undefined
        ? show`There are no memories like that.`
        : show`Nothing is remembered. What was retracted is listed with --all.`,
  });
}

async function search(cli: Cli, query: string, { scope, limit }: Where): Promise<void> {
  const hits = await (await memoryOf(cli)).search(query, { scope, limit });
  printList(cli, hits, {
    columns: [{ name: "SCORE", cell: ({ score }) => Number(score.toPrecision(3)), right: true }, ...itemColumns(cli)],
    data: (hit) => hit,
    empty: show`Nothing that is remembered has these words: ${query}`,
  });
}

function itemColumns(cli: Cli): readonly Column<MemoryItem>[] {
  return [
    { name: "MEMORY", cell: ({ uri }) => cli.ink.cyan(clip(uri, longestName)), plain: ({ uri }) => uri },
    { name: "V", cell: ({ version }) => version, right: true },
    { name: "STATE", cell: ({ state }) => (state === "published" ? "" : cli.ink.dim(state)), plain: ({ state }) => state, optional: true },
    { name: "TRUST", cell: ({ trust }) => (trust === "trusted" ? trust : cli.ink.yellow(trust)), plain: ({ trust }) => trust },
    { name: "ORIGIN", cell: ({ origin }) => origin },
    { name: "CONTENT", cell: ({ content }) => clip(content, longestCell), plain: ({ content }) => content, rest: true },
    { name: "WRITTEN", cell: ({ at }) => ago(at, cli.host.now()), plain: ({ at }) => at },
  ];
}

async function showOne(cli: Cli, name: string): Promise<void> {
  const memory = await memoryOf(cli);
  const item = await memory.get(name);
  if (item === undefined) throw noMemory(name);
  if (cli.asJson) return cli.data(item);
  const short = await shortIds(cli);
  const event = (id: string): string => (cli.onTerminal ? shortEvent(id) : id);
  printFields(cli, [
    ["memory", cli.ink.cyan(item.uri)],
    ["version", item.version],
    ["state", item.state],
    ["trust", item.trust === "trusted" ? item.trust : cli.ink.yellow(item.trust)],
    ["origin", item.origin],
    ["written", `${item.at} by ${item.by}`],
    ...(item.session === undefined ? [] : [["session", short(item.session)] as const, ["event", event(item.event)] as const]),
    ...(item.expires === undefined ? [] : [["expires", item.expires] as const]),
    ...(item.reason === undefined ? [] : [["reason", item.reason] as const]),
    ...item.because.map((id) => ["because", event(id)] as const),
    ...item.from.map((version) => ["from", version] as const),
    ["content", item.content],
  ]);
  cli.next(`openrath memory why ${typed(name)}`, `openrath memory used-by ${typed(name)}`);
}

/** A name as it can be typed again: others may have the key of one that was named by its uri. */
function typed(name: string): string {
  return /^[\w.:/@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

async function history(cli: Cli, name: string): Promise<void> {
  const versions = await (await memoryOf(cli)).history(name);
  if (versions.length === 0) throw noMemory(name);
  printVersions(cli, versions);
}

function printVersions(cli: Cli, versions: readonly MemoryRecord[]): void {
  printList(cli, versions, {
    columns: [
      { name: "REVISION", cell: ({ revision }) => revision, right: true },
      { name: "MEMORY", cell: (one) => cli.ink.cyan(clip(versionName(one), longestName)), plain: versionName },
      { name: "STATE", cell: ({ state }) => state },
      { name: "BY", cell: ({ by }) => by },
      { name: "CONTENT", cell: ({ content }) => clip(content, shortContent), plain: ({ content }) => content },
      { name: "REASON", cell: ({ reason }) => reason ?? "", optional: true, rest: true },
      { name: "WRITTEN", cell: ({ at }) => ago(at, cli.host.now()), plain: ({ at }) => at },
    ],
    data: (version) => version,
    empty: show`Nothing was changed.`,
  });
}

async function usedBy(cli: Cli, name: string): Promise<void> {
  const memory = await memoryOf(cli);
  const uses: readonly MemoryUsage[] = await collect(memory.usedBy(name));
  if (uses.length === 0 && (await memory.get(name)) === undefined) throw noMemory(name);
  const short = await shortIds(cli);
  printList(cli, uses, {
    columns: [
      { name: "SESSION", cell: ({ session }) => cli.ink.cyan(short(session)), plain: ({ session }) => session },
      { name: "EVENT", cell: ({ event }) => shortEvent(event), plain: ({ event }) => event },
      { name: "V", cell: ({ version }) => version, right: true },
      { name: "BY", cell: ({ by }) => by },
      { name: "QUERY", cell: ({ query }) => query ?? "", rest: true },
      { name: "READ BY", cell: readText, plain: ({ readBy }) => readBy.join(" ") },
      { name: "WHEN", cell: ({ at }) => ago(at, cli.host.now()), plain: ({ at }) => at },
    ],
    data: (use) => use,
    empty: show`Nobody has recalled it.`,
  });
}

/** That a model had it before it is not to say that it was the cause. */
function readText({ injected, readBy }: MemoryUsage): string {
  return injected ? plural(readBy.length, "model call") : "not given to one";
}

async function retract(cli: Cli, name: string, { reason, by, yes }: Deciding): Promise<void> {
  const memory = await memoryOf(cli);
  const item = await memory.get(name);
  if (item === undefined) throw noMemory(name);
  if (item.state === "retracted")
    throw new Fault(exits.notFound, `${item.uri} was taken back already, by ${item.by}: ${item.reason ?? "no reason given"}`, {
      next: `openrath memory history ${typed(item.uri)}`,
    });
  const made = await standing(memory, item.uri);
  const others = made.length === 0 ? "" : ` and what was made of it (${made.join(", ")})`;
  await cli.confirm(`Take back ${item.uri}${others}? Nobody will recall it any more.`, yes);
  const written = await memory.retract(name, { by: by ?? personHere(cli), reason });
  printVersions(cli, written);
  cli.note(show`${cli.errInk.green("retracted")} ${plural(written.length, "memory")}`);
  const before = Math.min(...written.map(({ revision }) => revision)) - 1;
  cli.next(`openrath memory rollback ${before} --reason "…", to undo it`);
}

/** What was made of a memory and was not written anew since. */
async function standing(memory: Memory, uri: string): Promise<readonly string[]> {
  const uris = new Set<string>();
  for await (const made of memory.derivedFrom(uri)) {
    const newest = await memory.get(made.uri);
    if (newest?.version === made.version && newest.state === "published") uris.add(made.uri);
  }
  return [...uris];
}

async function rollback(cli: Cli, to: string, { reason, by, yes }: Deciding): Promise<void> {
  const memory = await memoryOf(cli);
  await cli.confirm(
    `Make memory what it was at ${/^\d+$/.test(to) ? `revision ${to}` : to}? It is at revision ${await memory.revision()} now.`,
    yes,
  );
  const written = await memory.rollback(to, { by: by ?? personHere(cli), reason });
  printVersions(cli, written);
  if (written.length > 0) cli.note(show`${cli.errInk.green("rolled back")} ${plural(written.length, "memory")}`);
}

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

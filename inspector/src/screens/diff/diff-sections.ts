/** What differs between two sides as sections of rows: what a row is about, what each side says, and the events that said it. */
import type { DiffResource } from "../../../../src/client/client.ts";
import { count, money, plural, seconds } from "../../../../src/wire/format.ts";
import { neutralJson } from "../../../../src/wire/neutral.ts";

export type Side = "a" | "b";
export type SectionName =
  | "events"
  | "messages"
  | "files"
  | "calls"
  | "agents"
  | "routes"
  | "checks"
  | "answers"
  | "memory"
  | "models"
  | "renamed";

/** What one side says. */
export interface Said {
  readonly text: string;
  readonly event?: string | undefined;
}

export interface Row {
  readonly what: string;
  /** A short word about it, like who did it. */
  readonly about?: string | undefined;
  readonly a?: Said | undefined;
  readonly b?: Said | undefined;
  /** Line by line, where that helps more than both texts. */
  readonly patch?: string | undefined;
  /** Of a patch of a file: its path, for its colours. */
  readonly path?: string | undefined;
}

export interface Section {
  readonly name: Exclude<SectionName, "events">;
  readonly title: string;
  readonly rows: readonly Row[];
}

type One<List extends readonly { readonly a?: unknown }[]> = NonNullable<List[number]["a"]>;
type Call = One<DiffResource["calls"]>;
type Agent = One<DiffResource["agents"]>;
type Outcome = Call["outcome"];

/** Longer texts are cut before they are put together: nobody reads a megabyte beside another. */
const longest = 200_000;

/** Sections in which something differs. */
export function sectionsOf(diff: DiffResource): readonly Section[] {
  const all: readonly Section[] = [
    {
      name: "messages",
      title: "Messages",
      rows: diff.messages.map(({ a, b, patch }) => ({
        what: (b ?? a)?.role ?? "",
        about: (b ?? a)?.by,
        a: a && { text: a.text, event: a.event },
        b: b && { text: b.text, event: b.event },
        patch,
      })),
    },
    { name: "files", title: "Files", rows: diff.files.map(fileRow) },
    { name: "calls", title: "Calls", rows: diff.calls.map((both) => rowOf(both, callName, callText, ({ by }) => by)) },
    { name: "agents", title: "Agents", rows: diff.agents.flatMap(agentRows) },
    {
      name: "routes",
      title: "Routes",
      rows: diff.routes.map((both) => rowOf(both, ({ candidates }) => candidates.join(" | "), routeText)),
    },
    { name: "checks", title: "Checks", rows: diff.checks.map((both) => rowOf(both, ({ name }) => name, checkText)) },
    {
      name: "answers",
      title: "Answers",
      rows: diff.answers.map((both) =>
        rowOf(
          both,
          ({ question }) => question,
          answerText,
          ({ kind }) => kind,
        ),
      ),
    },
    {
      name: "memory",
      title: "Memory",
      rows: diff.memory.map((one) =>
        rowOf(
          one,
          () => one.uri,
          itemText,
          () => (one.what === "read" ? "read" : "wrote"),
        ),
      ),
    },
    { name: "models", title: "Models", rows: diff.models.map(({ a, b }) => rowOf({ a, b }, ({ model }) => model, modelText)) },
    { name: "renamed", title: "Renamed", rows: diff.renamed.map(({ a, b }) => ({ what: "did the same", a: { text: a }, b: { text: b } })) },
  ];
  return all.filter(({ rows }) => rows.length > 0);
}

function rowOf<T extends object>(
  { a, b }: { readonly a?: T | undefined; readonly b?: T | undefined },
  what: (one: T) => string,
  text: (one: T) => string,
  about?: (one: T) => string,
): Row {
  const one = (b ?? a) as T;
  const said = (side: T | undefined): Said | undefined =>
    side === undefined ? undefined : { text: text(side), event: (side as { readonly event?: string }).event };
  return { what: what(one), about: about?.(one), a: said(a), b: said(b) };
}

function fileRow({ path, kind, of, lines, patch }: DiffResource["files"][number]): Row {
  const text = of === undefined ? kind : `${kind} ${of}`;
  return {
    what: path,
    about: lines === undefined ? undefined : `+${count(lines.added)} -${count(lines.removed)}`,
    a: kind === "added" ? undefined : { text },
    b: kind === "removed" ? undefined : { text },
    patch: patch ?? "",
    path,
  };
}

function callName({ op, name, inside }: Call): string {
  return `${op} ${name}${inside === undefined ? "" : " (inside another call)"}`;
}

function callText({ input, outcome, changes }: Call): string {
  const files = changes.map(({ kind, path }) => `${kind} ${path}`);
  return [
    ...(input === undefined ? [] : [valueText(input)]),
    `→ ${outcome === undefined ? "no result yet" : outcomeText(outcome)}`,
    ...files,
  ].join("\n");
}

/** Only what is not the same of both. */
function agentRows({ a, b }: DiffResource["agents"][number]): readonly Row[] {
  const rows: Row[] = [];
  const row = (what: string, ours: unknown, theirs: unknown): void => {
    const [left, right] = [ours, theirs].map((side) => (side === undefined ? undefined : { text: valueText(side) }));
    if (left?.text !== right?.text) rows.push({ what, about: a.by, a: left, b: right });
  };
  row("model", a.model, b.model);
  row("settings", a.settings, b.settings);
  row("instructions", a.instructions, b.instructions);
  const tools = (agent: Agent): ReadonlyMap<string, unknown> => new Map(agent.tools.map((tool) => [tool.name, tool]));
  const [ours, theirs] = [tools(a), tools(b)];
  for (const name of new Set([...ours.keys(), ...theirs.keys()])) row(`tool ${name}`, ours.get(name), theirs.get(name));
  row("output", a.output, b.output);
  return rows;
}

function routeText({ choice, reason }: One<DiffResource["routes"]>): string {
  return reason === "" ? choice : `${choice}: ${reason}`;
}

function checkText({ passed, score, reason }: One<DiffResource["checks"]>): string {
  return `${passed ? "passed" : "failed"}${score === undefined ? "" : ` (${score})`}${reason === undefined ? "" : `: ${reason}`}`;
}

function answerText({ kind, outcome, input }: One<DiffResource["answers"]>): string {
  if (kind !== "approval" || outcome.type === "denied") return outcomeText(outcome);
  return `approved${input === undefined ? "" : ` with ${valueText(input)}`}: ${outcomeText(outcome)}`;
}

function itemText({ version, content, forgotten }: One<DiffResource["memory"]>): string {
  return `version ${version}${forgotten ? ", forgotten" : `: ${content}`}`;
}

function modelText({ calls, reused, usage }: One<DiffResource["models"]>): string {
  const again = reused === 0 ? "" : ` (${count(reused)} reused)`;
  return `${plural(calls, "call")}${again}, ${plural(usage.input, "token")} read, ${count(usage.output)} written, ${money(usage.usd)}`;
}

export function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : neutralJson(value, 1);
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

function outcomeText(outcome: NonNullable<Outcome>): string {
  const { type, value, message, reason } = outcome as { readonly type: string; readonly [name: string]: unknown };
  const said = value ?? message ?? reason;
  return said === undefined ? type : `${type} ${valueText(said)}`;
}

/** A figure of both sides, and how it is written. */
export interface Figure {
  readonly what: string;
  readonly a: number;
  readonly b: number;
  readonly text: (figure: number) => string;
}

/** What was spent after the common ancestor, without what is nothing on both sides. */
export function figuresOf({ spent, usage }: DiffResource): readonly Figure[] {
  const figure = (what: string, of: (side: Side) => number, text: (figure: number) => string): Figure => ({
    what,
    a: of("a"),
    b: of("b"),
    text,
  });
  const all = [
    figure("Events", (side) => spent[side].events, count),
    figure("Calls", (side) => spent[side].calls, count),
    figure("Failed calls", (side) => spent[side].failed, count),
    figure("Tokens read", (side) => spent[side].usage.input, count),
    figure("Tokens written", (side) => spent[side].usage.output, count),
    figure("Cost", (side) => spent[side].usage.usd, money),
    figure("Cost with the past", (side) => usage[side].usd, money),
    figure("Time in effects", (side) => spent[side].effectMs, seconds),
    figure("Wall time", (side) => spent[side].wallMs, seconds),
  ];
  return all.filter(({ a, b }) => a !== 0 || b !== 0);
}

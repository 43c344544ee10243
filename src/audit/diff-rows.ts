/** A diff as rows that people read: what it is about, and what each side says. Text, tables and pages are made of these. */
import type { Outcome } from "../session/session.ts";
import { outcomeText, valueText } from "../wire/event-line.ts";
import { count, money, plural, seconds } from "../wire/format.ts";
import { splitLines } from "../workspace/lines.ts";
import { hunkText } from "../workspace/patch.ts";
import type { Both, Diff, DiffAgent, DiffAnswer, DiffCall, Differing, DiffItem, DiffModel } from "./diff-data.ts";
import { isRefusal } from "./diff-sections.ts";

export type SectionName = "messages" | "files" | "calls" | "agents" | "routes" | "checks" | "answers" | "memory" | "models" | "renamed";

/** One thing that differs. */
export interface DiffRow extends Differing<string> {
  readonly what: string;
  /** Line by line, where that helps more than both texts. */
  readonly patch?: string | undefined;
}
export interface Section {
  readonly name: SectionName;
  readonly title: string;
  readonly rows: readonly DiffRow[];
}

/** All sections in which something differs. */
export function sectionsOf(diff: Diff): readonly Section[] {
  const sections: readonly Section[] = [
    {
      name: "messages",
      title: "Messages",
      rows: diff.messages.map(({ a, b, patch }) => ({ what: saidBy(a ?? b), a: a?.text, b: b?.text, patch })),
    },
    { name: "files", title: "Files", rows: diff.files.map(fileRow) },
    { name: "calls", title: "Calls", rows: diff.calls.map((both) => rowOf(both, callName, callText)) },
    { name: "agents", title: "Agents", rows: diff.agents.flatMap(agentRows) },
    { name: "routes", title: "Routes", rows: diff.routes.map((both) => rowOf(both, (route) => route.candidates.join(" | "), routeText)) },
    { name: "checks", title: "Checks", rows: diff.checks.map((both) => rowOf(both, ({ name }) => name, checkText)) },
    {
      name: "answers",
      title: "Answers",
      rows: diff.answers.map((both) => rowOf(both, ({ kind, question }) => `${kind} ${question}`, answerText)),
    },
    {
      name: "memory",
      title: "Memory",
      rows: diff.memory.map((one) => rowOf(one, () => `${one.what === "read" ? "read" : "wrote"} ${one.uri}`, itemText)),
    },
    { name: "models", title: "Models", rows: diff.models.map((both) => rowOf(both, ({ model }) => model, modelText)) },
    { name: "renamed", title: "Renamed", rows: diff.renamed.map(({ a, b }) => ({ what: "did the same", a, b })) },
  ];
  return sections.filter(({ rows }) => rows.length > 0);
}

/** What both sides have in figures, and whether it differs. */
export function figuresOf({ spent, status, stop, usage }: Diff): readonly (Both<string> & { readonly what: string })[] {
  const figure = (what: string, text: (side: "a" | "b") => string) => ({ what, a: text("a"), b: text("b") });
  return [
    figure("events", (side) => count(spent[side].events)),
    figure("calls", (side) => count(spent[side].calls)),
    figure("failed", (side) => count(spent[side].failed)),
    figure("tokens read", (side) => count(spent[side].usage.input)),
    figure("tokens written", (side) => count(spent[side].usage.output)),
    figure("cost", (side) => money(spent[side].usage.usd)),
    figure("cost with the past", (side) => money(usage[side].usd)),
    figure("time in effects", (side) => seconds(spent[side].effectMs)),
    figure("wall time", (side) => seconds(spent[side].wallMs)),
    figure("status", (side) => status[side]),
    figure("stopped", (side) => stop[side] ?? ""),
  ];
}

function rowOf<T>({ a, b }: Differing<T>, what: (one: T) => string, text: (one: T) => string): DiffRow {
  const one = (b ?? a) as T;
  return { what: what(one), a: a === undefined ? undefined : text(a), b: b === undefined ? undefined : text(b) };
}

function saidBy(message: { readonly role: string; readonly by: string } | undefined): string {
  return message === undefined || message.by === message.role ? (message?.role ?? "") : `${message.role} ${message.by}`;
}

function fileRow({ path, kind, of, lines, patch }: Diff["files"][number]): DiffRow {
  const text = of ?? (lines === undefined ? kind : `${kind} +${lines.added} -${lines.removed}`);
  return { what: path, a: kind === "added" ? undefined : text, b: kind === "removed" ? undefined : text, patch };
}

function callName({ op, name, inside }: DiffCall): string {
  return `${op} ${name}${inside === undefined ? "" : " (inside another call)"}`;
}

function callText({ input, outcome, changes }: DiffCall): string {
  const files = changes.length === 0 ? "" : ` [${plural(changes.length, "file")}]`;
  return `${input === undefined ? "" : `${valueText(input)} `}→ ${outcome === undefined ? "no result yet" : endText(outcome)}${files}`;
}

function endText(outcome: Outcome): string {
  const text = outcomeText(outcome);
  return text === "" || text === outcome.type ? outcome.type : `${outcome.type} ${text}`;
}

/** Only what is not the same of both. */
function agentRows({ a, b }: Both<DiffAgent>): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  const row = (what: string, ours: string, theirs: string, patch?: string): void => {
    if (ours !== theirs) rows.push({ what: `${a.by}: ${what}`, a: ours, b: theirs, patch });
  };
  row("model", a.model, b.model);
  row("settings", valueText(a.settings), valueText(b.settings));
  row("instructions", a.instructions, b.instructions, hunkText(splitLines(`${a.instructions}\n`), splitLines(`${b.instructions}\n`)));
  const [ours, theirs] = [a, b].map(({ tools }) => new Map(tools.map((tool) => [tool.name, valueText(tool)]))) as [
    Map<string, string>,
    Map<string, string>,
  ];
  for (const name of new Set([...ours.keys(), ...theirs.keys()])) {
    const [left, right] = [ours.get(name), theirs.get(name)];
    if (left !== right) rows.push({ what: `${a.by}: tool ${name}`, a: left, b: right });
  }
  row("output", valueText(a.output ?? null), valueText(b.output ?? null));
  return rows;
}

function routeText({ choice, reason }: Diff["routes"][number] extends Differing<infer T> ? T : never): string {
  return reason === "" ? choice : `${choice}: ${reason}`;
}

function checkText({ passed, score, reason }: Diff["checks"][number] extends Differing<infer T> ? T : never): string {
  return `${passed ? "passed" : "failed"}${score === undefined ? "" : ` (${score})`}${reason === undefined ? "" : `: ${reason}`}`;
}

function answerText({ kind, outcome, input }: DiffAnswer): string {
  if (kind !== "approval" || isRefusal(outcome)) return endText(outcome);
  return input === undefined ? "approved" : `approved with ${valueText(input)}`;
}

function itemText({ version, content, forgotten }: DiffItem): string {
  return `version ${version}${forgotten ? ", forgotten" : `: ${content}`}`;
}

function modelText({ calls, reused, usage }: DiffModel): string {
  const again = reused === 0 ? "" : ` (${count(reused)} reused)`;
  return `${plural(calls, "call")}${again}, ${plural(usage.input, "token")} read, ${count(usage.output)} written, ${money(usage.usd)}`;
}

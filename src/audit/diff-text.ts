/** A diff as text: a summary that fits a screen, then what differs. `-` is on side a alone, `+` on side b alone, `~` on both, differently. */
import { money, plural, shortEvent, shortener } from "../wire/format.ts";
import { neutral } from "../wire/neutral.ts";
import type { Diff, DiffEvent, DiffPlace } from "./diff-data.ts";
import { type DiffRow, figuresOf, type Section, sectionsOf } from "./diff-rows.ts";

/** A line, and what it is for whoever paints it. */
export interface DiffLine {
  readonly text: string;
  readonly tone: "title" | "a" | "b" | "changed" | "dim" | "plain";
}

const longest = 200;
const patchLines = 40;

export function diffText(diff: Diff): string {
  const short = shortener([diff.a, diff.b, ...diff.ancestors].map(({ session }) => session));
  const lines = [...summaryLines(diff, short), ...sectionsOf(diff).flatMap((section) => [plainLine(""), ...sectionLines(section)])];
  return lines.map(({ text }) => text).join("\n");
}

/** What a person wants to know first. */
export function summaryLines(diff: Diff, short: (id: string) => string): readonly DiffLine[] {
  const place = ({ session, step, event }: DiffPlace): string => `${short(session)}@${step} (${shortEvent(event)})`;
  const lines: DiffLine[] = [
    { text: `a  ${place(diff.a)}`, tone: "a" },
    { text: `b  ${place(diff.b)}`, tone: "b" },
    { text: `common ancestor: ${diff.ancestors.map(place).join(", ") || "none"}${ancestry(diff)}`, tone: "dim" },
  ];
  if (diff.identical) return [...lines, plainLine(sameText(diff)), ...reuseLines(diff)];
  const { a, b } = diff.first;
  lines.push(plainLine(""), titleLine("First difference"));
  lines.push(a === undefined ? dimLine("- nothing") : { text: `- ${eventText(diff, a.id)}`, tone: "a" });
  lines.push(b === undefined ? dimLine("+ nothing") : { text: `+ ${eventText(diff, b.id)}`, tone: "b" });
  lines.push(...reuseLines(diff), plainLine(""), ...figureLines(diff));
  const differs = sectionsOf(diff).map(({ title, rows }) => `${title.toLowerCase()} ${rows.length}`);
  lines.push(plainLine(""), plainLine(`differs: ${differs.length === 0 ? "only in its events (see events)" : differs.join(", ")}`));
  return lines;
}

function ancestry({ ancestors, detached }: Diff): string {
  if (ancestors.length > 1) return "; several, because the branches were merged crosswise";
  return detached ? "; one side was detached there" : "";
}

function sameText({ events }: Diff): string {
  const same = events.filter(({ relation }) => relation === "same").length;
  return same === 0 ? "Nothing differs." : `The same happened on both sides: ${plural(same, "event")} in the same order.`;
}

function reuseLines({ reused }: Diff): readonly DiffLine[] {
  return (["a", "b"] as const).flatMap((side) => {
    const taken = reused[side];
    if (taken === undefined) return [];
    const saved = taken.saved.usd > 0 ? `, ${money(taken.saved.usd)} saved` : "";
    return [plainLine(`${side} is a rerun: ${taken.results} of ${plural(taken.of, "result")} reused${saved}`)];
  });
}

function eventText({ events }: Diff, id: string): string {
  const found = events.flatMap(({ a, b }) => [a, b]).find((event) => event?.id === id);
  return found === undefined ? shortEvent(id) : stepText(found);
}

function stepText({ step, id, line }: DiffEvent): string {
  return clipped(`step ${step} (${shortEvent(id)})  ${line}`);
}

/** Only figures that are not nothing on both sides; the same figure is said once. */
export function figureLines(diff: Diff): readonly DiffLine[] {
  const figures = figuresOf(diff).filter(({ a, b }) => !(empty.test(a) && empty.test(b)));
  const widths = (["what", "a", "b"] as const).map((key) => figures.reduce((most, figure) => Math.max(most, figure[key].length), 4));
  const row = (cells: readonly string[]): string =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))).join("  ");
  return [
    dimLine(row(["", "a", "b"])),
    ...figures.map(({ what, a, b }): DiffLine => ({ text: row([what, a, b]), tone: a === b ? "dim" : "plain" })),
  ];
}

const empty = /^(?:|0|0 ms|\$0\.00)$/;

export function sectionLines({ title, rows }: Section): readonly DiffLine[] {
  return [titleLine(`${title} (${rows.length})`), ...rows.flatMap(rowLines)];
}

function rowLines({ what, a, b, patch }: DiffRow): readonly DiffLine[] {
  const named = (sign: string, value: string): string => clipped(`${sign} ${what}${value === "" ? "" : `  ${value}`}`);
  if (a === undefined) return [{ text: named("+", b ?? ""), tone: "b" }];
  if (b === undefined) return [{ text: named("-", a), tone: "a" }];
  if (a === b) return [{ text: named("~", a), tone: "changed" }, ...patchText(patch)];
  if (patch !== undefined && patch !== "") return [{ text: named("~", ""), tone: "changed" }, ...patchText(patch)];
  return [
    { text: named("~", ""), tone: "changed" },
    { text: clipped(`    - ${a}`), tone: "a" },
    { text: clipped(`    + ${b}`), tone: "b" },
  ];
}

function patchText(patch: string | undefined): readonly DiffLine[] {
  if (patch === undefined || patch === "") return [];
  const from = Math.max(0, patch.search(/^@@/m));
  const lines = patch.slice(from).replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, patchLines).map((line): DiffLine => {
    const tone = line.startsWith("+") ? "b" : line.startsWith("-") ? "a" : "dim";
    return { text: `    ${clipped(line, true)}`, tone };
  });
  return lines.length <= patchLines ? shown : [...shown, dimLine(`    … ${plural(lines.length - patchLines, "more line")}`)];
}

/** Every event after the common ancestor, side by side in one list. */
export function eventLines({ events }: Diff): readonly DiffLine[] {
  return [
    titleLine(`Events (${events.length})`),
    ...events.flatMap(({ relation, a, b }): readonly DiffLine[] => {
      if (relation === "same") return [dimLine(`= ${stepText(b as DiffEvent)}${b?.source === undefined ? "" : " [reused]"}`)];
      return [
        ...(a === undefined ? [] : [{ text: `- ${stepText(a)}`, tone: "a" } as const]),
        ...(b === undefined ? [] : [{ text: `+ ${stepText(b)}`, tone: "b" } as const]),
      ];
    }),
  ];
}

/** One line without anything that acts; `indented` keeps the space at its beginning. */
function clipped(text: string, indented = false): string {
  const line = indented ? text.replace(/[\r\n]+/g, " ") : text.replace(/(?<=\S)\s+/g, " ");
  return neutral(line.length <= longest ? line : `${line.slice(0, longest - 1)}…`);
}

function titleLine(text: string): DiffLine {
  return { text, tone: "title" };
}
function dimLine(text: string): DiffLine {
  return { text, tone: "dim" };
}
function plainLine(text: string): DiffLine {
  return { text, tone: "plain" };
}

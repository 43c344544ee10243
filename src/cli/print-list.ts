/** Lists and fields: aligned on a terminal, tab-separated and complete when piped, JSON when asked for. */

import { neutral } from "../wire/neutral.ts";
import type { Cli } from "./cli.ts";
import { clip, joined, json, type Showable, Shown, toShown, widthOf } from "./shown.ts";

export interface Column<T> {
  readonly name: string;
  /** On a terminal. */
  readonly cell: (item: T) => Showable;
  /** When piped; as on a terminal unless given. */
  readonly plain?: (item: T) => string | number;
  readonly right?: boolean;
  /** Takes what the others leave of the line, and is cut there. */
  readonly rest?: boolean;
  /** Left out on a terminal when every cell is empty. */
  readonly optional?: boolean;
  /** Left out on a terminal that is too narrow for all of them, the last first. */
  readonly spare?: boolean;
}

export interface List<T> {
  readonly columns: readonly Column<T>[];
  /** What --json and --jsonl give of an item. */
  readonly data: (item: T) => unknown;
  /** Said on stderr when there is nothing. */
  readonly empty: Shown;
}

export function printList<T>(cli: Cli, items: readonly T[], list: List<T>): void {
  if (cli.settings.jsonl === true) for (const item of items) cli.print(json(list.data(item)));
  else if (cli.settings.json === true) cli.data(items.map((item) => list.data(item)));
  else if (items.length === 0) cli.note(list.empty);
  else if (cli.onTerminal) printTable(cli, items, list.columns);
  else for (const item of items) cli.print(tabbed(list.columns.map(({ plain, cell }) => plain?.(item) ?? toShown(cell(item)).text)));
}

/** One line of tab-separated cells; tabs and line feeds inside them become spaces. */
export function tabbed(cells: readonly (string | number)[]): Shown {
  const texts = cells.map((cell) =>
    neutral(String(cell))
      .replace(/[\t\n]+/g, " ")
      .trim(),
  );
  return new Shown(texts.join("\t"), 0);
}

const gap = "  ";

function printTable<T>(cli: Cli, items: readonly T[], given: readonly Column<T>[]): void {
  const all = given.map((column) => ({ column, cells: items.map((item) => toShown(column.cell(item))) }));
  const filled = all.filter(({ column, cells }) => column.optional !== true || cells.some((cell) => cell.width > 0));
  const shown = fitting(filled, cli.host.out.columns);
  const widths = shown.map(widthIn);
  const left = Math.max(narrowestRest, cli.host.out.columns - takenBy(shown));
  const line = (cells: readonly Shown[]): Shown =>
    joined(
      shown.map(({ column }, index) => {
        const cell = cells[index] as Shown;
        if (column.rest === true)
          return index === shown.length - 1 ? cut(cell, left) : pad(cut(cell, left), Math.min(left, widths[index] ?? 0));
        return pad(cell, index === shown.length - 1 && column.right !== true ? 0 : (widths[index] ?? 0), column.right);
      }),
      gap,
    );
  cli.print(cli.ink.dim(line(shown.map(({ column }) => toShown(column.name)))));
  items.forEach((_, row) => {
    cli.print(line(shown.map(({ cells }) => cells[row] as Shown)));
  });
}

/** Where people read something, less is not of use. */
const narrowestRest = 12;

interface Filled<T> {
  readonly column: Column<T>;
  readonly cells: readonly Shown[];
}

function widthIn<T>({ column, cells }: Filled<T>): number {
  return cells.reduce((most, cell) => Math.max(most, cell.width), widthOf(column.name));
}

/** What all columns but the one that takes the rest need. */
function takenBy<T>(columns: readonly Filled<T>[]): number {
  return columns.reduce((sum, one) => sum + (one.column.rest === true ? 0 : widthIn(one)) + gap.length, -gap.length);
}

/** Those that there is room for. */
function fitting<T>(columns: readonly Filled<T>[], room: number): readonly Filled<T>[] {
  const last = columns.findLastIndex(({ column }) => column.spare === true);
  if (last < 0 || takenBy(columns) + narrowestRest <= room) return columns;
  return fitting(columns.toSpliced(last, 1), room);
}

function cut(cell: Shown, columns: number): Shown {
  return cell.width <= columns ? cell : toShown(clip(cell.text, columns));
}

function pad(cell: Shown, width: number, right = false): Shown {
  const space = " ".repeat(Math.max(0, width - cell.width));
  return new Shown(right ? space + cell.text : cell.text + space, Math.max(width, cell.width));
}

/** So that several blocks of fields stand under each other. */
const narrowest = 9;

/** Names and values, one a line. Longer values go on under themselves. */
export function printFields(cli: Cli, fields: readonly (readonly [name: string, value: Showable] | undefined)[]): void {
  const given = fields.filter((field) => field !== undefined);
  const width = given.reduce((most, [name]) => Math.max(most, widthOf(name)), narrowest);
  for (const [name, value] of given) {
    const shown = toShown(value);
    if (!cli.onTerminal) cli.print(tabbed([name, shown.text]));
    else
      shown.text
        .trimEnd()
        .split("\n")
        .forEach((line, index) => {
          cli.print(joined([pad(index === 0 ? cli.ink.dim(name) : toShown(""), width), new Shown(line, widthOf(line))], gap));
        });
  }
}

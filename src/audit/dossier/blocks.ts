/** The building blocks of the page: tables, folded texts, ids and marks. Whatever is long is cut here, and says how much was left out. */
import { count, plural, size } from "../../wire/format.ts";
import { Html, type Htmlable, html } from "../html.ts";

/** One section of the page. */
export interface Section {
  /** Its anchor. */
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

/** More rows of a table are not shown. */
const mostRows = 150;
const longestText = 6000;
const longestCell = 400;

/** The beginning of an id; all of it when somebody points at it. */
export function idOf(id: string, length = 12): Html {
  return html`<code class="id" title="${id}">${id.slice(0, length)}</code>`;
}

/** As much of a session's id as a command needs: its first 8 characters are shared by all sessions of a minute. */
export function idForCommand(id: string): string {
  return id.slice(0, 18);
}

/** A word in a frame. */
export type Tone = "good" | "bad" | "warn" | "quiet" | "plain" | "model" | "tool" | "person";
export function mark(word: string, tone: Tone = "plain", title?: string): Html {
  return html`<span class="mark ${tone}"${title === undefined ? "" : html` title="${title}"`}>${word}</span>`;
}

/** How an effect ended, in a frame. */
export function outcomeMark(outcome: string): Html {
  const tone: Tone =
    outcome === "ok" ? "good" : outcome === "open" || outcome === "unknown" ? "warn" : outcome === "cancelled" ? "quiet" : "bad";
  return mark(outcome, tone);
}

/** One line of text, cut to a readable length. */
export function brief(text: string, most = longestCell): string {
  const line = text
    .slice(0, most * 4)
    .replace(/\s+/g, " ")
    .trim();
  const cut = clipped(line, most);
  return cut.length < line.length || text.length > most * 4 ? `${cut}…` : line;
}

/** A text as it is, its middle left out when it is long. */
export function block(text: string, most = longestText): Html {
  if (text.length <= most) return html`<pre>${text}</pre>`;
  const [head, tail] = [clipped(text, Math.ceil(most * 0.6)), whole(text.slice(text.length - Math.floor(most * 0.4)))];
  const left = text.length - head.length - tail.length;
  return html`<pre>${head}</pre><p class="left">${plural(left, "character")} left out here; all of it is in the record</p><pre>${tail}</pre>`;
}

/** Something that opens when it is asked for. */
export function folded(summary: Htmlable, body: Html, open = false): Html {
  return html`<details${open ? " open" : ""}><summary>${summary}</summary>${body}</details>`;
}

/** A text that is folded when it is long. */
export function foldedText(title: string, text: string): Html {
  if (text.trim() === "") return html``;
  if (text.length <= 160 && !text.includes("\n")) return html`<p class="said">${text}</p>`;
  return folded(html`${title} <span class="quiet">${size(Buffer.byteLength(text))}</span>`, block(text));
}

/** A column of a table. */
export interface Column<T> {
  readonly name: string;
  readonly cell: (row: T) => Htmlable;
  /** Figures stand right, long words take the room there is. */
  readonly kind?: "figure" | "wide" | "narrow" | undefined;
}

/** A table; of many rows the first and the last, and where the rest is. */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[], rest = "the record", most = mostRows): Html {
  const left = Math.max(0, rows.length - most);
  const shown = left === 0 ? rows : [...rows.slice(0, Math.ceil(most / 2)), undefined, ...rows.slice(rows.length - Math.floor(most / 2))];
  const class_ = ({ kind }: Column<T>): Htmlable => (kind === undefined ? "" : html` class="${kind}"`);
  const row = (one: T | undefined): Html =>
    one === undefined
      ? html`<tr class="left"><td colspan="${columns.length}">${plural(left, "more row")} left out here; all of them are in ${rest}</td></tr>`
      : html`<tr>${columns.map((column) => html`<td${class_(column)} data-name="${column.name}"><div>${column.cell(one)}</div></td>`)}</tr>`;
  return html`<div class="table"><table><thead><tr>${columns.map((column) => html`<th${class_(column)} scope="col">${column.name}</th>`)}</tr></thead><tbody>
${shown.map((one) => html`${row(one)}\n`)}</tbody></table></div>`;
}

/** Names and what they stand for. */
export function facts(rows: readonly (readonly [name: string, value: Htmlable])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined && value !== "");
  return html`<dl>${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Nothing to show is said, so that nobody looks for it. */
export function none(text: string): Html {
  return html`<p class="none">${text}</p>`;
}

/** Cut so that no character is torn. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  const code = text.charCodeAt(most - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? most - 1 : most);
}

function whole(text: string): string {
  const code = text.charCodeAt(0);
  return code >= 0xdc00 && code < 0xe000 ? text.slice(1) : text;
}

/** A drawing is markup that was made here, with its texts escaped. */
export function drawing(svg: string, words: string): Html {
  return html`<figure class="drawing"><div class="scroll">${new Html(svg)}</div><figcaption>${words}</figcaption></figure>`;
}

/** A figure; nothing where there is nothing to count. */
export function some(value: number): string {
  return value === 0 ? "" : count(value);
}

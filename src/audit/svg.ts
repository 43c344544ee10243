/** What drawings have in common: one palette for light, dark and paper, and texts that stay inside their room and stay text. */
import { neutral } from "../wire/neutral.ts";

/** Colours by what they mean. A drawing takes part in the colours of the page it stands on, or of whoever opens it alone. */
const light = {
  paper: "#ffffff",
  ink: "#1b1f24",
  soft: "#5b6470",
  line: "#dfe3e8",
  wash: "#f5f6f8",
  accent: "#2457c5",
  good: "#1c7c45",
  bad: "#b3372b",
  model: "#4c6fd6",
  tool: "#2a9079",
  person: "#c9851b",
  check: "#8a63c9",
  memory: "#b5539c",
  wait: "#aab2bd",
  other: "#76808c",
};
const dark: typeof light = {
  paper: "#15181c",
  ink: "#e4e7eb",
  soft: "#98a2ae",
  line: "#2e343b",
  wash: "#1c2025",
  accent: "#7aa2f7",
  good: "#5fbf85",
  bad: "#ec8377",
  model: "#7f9cf0",
  tool: "#52b8a0",
  person: "#e0a94f",
  check: "#b294e6",
  memory: "#d685c1",
  wait: "#59626d",
  other: "#8b95a1",
};

/** The palette as variables of CSS. Paper is always light. */
export const palette = `:root{${variables(light)}}@media screen and (prefers-color-scheme:dark){:root{${variables(dark)}}}`;

export type Colour = keyof typeof light;

function variables(colours: typeof light): string {
  return Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(";");
}

/** A colour by its meaning; with the light one where no page gives it. */
export function colour(name: Colour): string {
  return `var(--${name},${light[name]})`;
}

/** A whole drawing. `alone`: it is a file of its own and brings its palette with it. */
export function svg(
  {
    width,
    height,
    title,
    alone = false,
  }: { readonly width: number; readonly height: number; readonly title: string; readonly alone?: boolean },
  lines: readonly string[],
): string {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, -apple-system, sans-serif" role="img">`,
    `<title>${escaped(title)}</title>`,
    ...(alone ? [`<style>${palette}</style>`, `<rect width="${width}" height="${height}" style="fill:${colour("paper")}"/>`] : []),
    ...lines,
    "</svg>",
  ].join("\n")}\n`;
}

/** A text that takes no more room than it is given. */
export function text(
  x: number,
  y: number,
  words: string,
  how: {
    readonly size?: number;
    readonly room?: number;
    readonly colour?: Colour;
    readonly weight?: number;
    readonly anchor?: "end" | "middle";
  } = {},
): string {
  const { size = 12, room, weight, anchor } = how;
  const shown = room === undefined ? words : fitted(words, room, size);
  const rest = `${weight === undefined ? "" : ` font-weight="${weight}"`}${anchor === undefined ? "" : ` text-anchor="${anchor}"`}`;
  return `<text x="${x}" y="${y}" font-size="${size}"${rest} style="fill:${colour(how.colour ?? "ink")}">${escaped(shown)}</text>`;
}

/** Cut to a width. Letters are taken for wider than most fonts draw them, so that nothing runs into its neighbour. */
export function fitted(words: string, room: number, size: number): string {
  const line = neutral(words.slice(0, 2000).replace(/\s+/g, " ").trim());
  const most = room / size;
  let width = 0;
  let kept = "";
  for (const character of line) {
    width += widthOf(character);
    if (width > most) return `${kept.trimEnd()}…`;
    if (width <= most - 0.9) kept += character;
  }
  return line;
}

/** In ems. */
function widthOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0x1100 && !/[\p{Script=Latin}\p{P}\p{M}]/u.test(character)) return 1.05;
  if (/[mwMW@%—]/.test(character)) return 0.88;
  if (/[ilj.,:;'|!()[\] ]/.test(character)) return 0.32;
  return /[A-Z]/.test(character) ? 0.7 : 0.58;
}

/** In which nothing is markup, and which any reader of XML takes: it knows no lone surrogates. */
export function escaped(words: string): string {
  const formed = Buffer.from(neutral(words)).toString();
  return formed.replace(/[&<>"'\ufffe\uffff]/g, (found) => (found > "\ufff0" ? "\ufffd" : `&#${found.charCodeAt(0)};`));
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

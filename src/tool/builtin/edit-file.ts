/** The tool `edit_file`: one exact text for another. What cannot be placed without doubt is refused with what would help. */
import { counted } from "../../session/counted.ts";
import type { Tool } from "../../session/session.ts";
import { fileResource } from "../workspace-path.ts";
import { builtin } from "./builtin.ts";
import { nearest } from "./nearest.ts";
import { decoded, linesOf, readBytes } from "./text-file.ts";

/** What `editFile` takes. */
export interface EditFileInput {
  readonly path: string;
  readonly find: string;
  readonly replace: string;
  readonly all?: boolean | undefined;
}

/**
 * Replaces a text in a file and gives the changed lines with those around them. The text must be there exactly once, or `all` be
 * true. Line ends stay as they are in the file.
 *
 * @example
 * const edited = await session.call(editFile, { path: "src/a.ts", find: "retries = 3", replace: "retries = 5" });
 */
export const editFile: Tool<EditFileInput, string> = builtin<EditFileInput, string>({
  name: "edit_file",
  description:
    "Replaces a text in a file of the workspace and returns the changed lines. find must be exactly what is in the file, with its spaces and line breaks, " +
    "and must be there once: give more lines around it if it is not, or all: true to replace it everywhere.",
  properties: {
    path: { type: "string", minLength: 1, description: "From the root of the workspace." },
    find: { type: "string", minLength: 1, description: "The text to replace." },
    replace: { type: "string", description: "What to put in its place." },
    all: { type: "boolean", description: "Replace it wherever it is." },
  },
  required: ["path", "find", "replace"],
  writes: "files",
  resource: ({ path }) => fileResource(path),
  run: async (input, { sandbox }) => {
    const { path, all = false } = input;
    if (input.find === "") throw new Error("find is empty: give the text to replace, or use write_file.");
    if (input.find === input.replace) throw new Error("find and replace are the same: nothing would change.");
    const text = decoded(await readBytes(sandbox, path));
    if (text === undefined) throw new Error(`${path} is no UTF-8 text: it cannot be edited.`);
    const { find, replace } = withLineEndsOf(text, input);
    const places = placesOf(text, find, all);
    if (places.length === 0) throw new Error(`find is not in ${path}. ${nearest(linesOf(text), linesOf(input.find))}`);
    if (places.length > 1 && !all) throw new Error(ambiguous(text, path, places));
    const { changed, regions } = replaced(text, find, replace, places);
    await sandbox.write(path, changed);
    return report(path, linesOf(changed), regions);
  },
});

/** Models write "\n" where a file has "\r\n", and the other way round. */
function withLineEndsOf(text: string, { find, replace }: EditFileInput): { readonly find: string; readonly replace: string } {
  const asCrlf = (part: string): string => part.replace(/\r?\n/g, "\r\n");
  const asLf = (part: string): string => part.replaceAll("\r\n", "\n");
  const hasCrlf = text.includes("\r\n");
  if (text.includes(find)) return { find, replace: hasCrlf && !/(?<!\r)\n/.test(text) ? asCrlf(replace) : replace };
  if (hasCrlf && text.includes(asCrlf(find))) return { find: asCrlf(find), replace: asCrlf(replace) };
  if (text.includes(asLf(find))) return { find: asLf(find), replace: asLf(replace) };
  return { find, replace };
}

const mostNamed = 20;

/** Where it begins. Places that overlap count as several, so that none is taken by chance; to replace all, each follows the last. */
function placesOf(text: string, find: string, all: boolean): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(find); at >= 0; at = text.indexOf(find, at + (all ? find.length : 1))) {
    places.push(at);
    if (!all && places.length > mostNamed) break;
  }
  return places;
}

function ambiguous(text: string, path: string, places: readonly number[]): string {
  const lines = places.slice(0, mostNamed).map((place) => lineAt(text, place));
  const count = places.length > mostNamed ? `more than ${mostNamed}` : String(places.length);
  return `find is in ${path} ${count} times, at lines ${[...new Set(lines)].join(", ")}: give more of the text around the right one, or all: true.`;
}

/** The number of the line that a place is in. */
function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

interface Region {
  readonly first: number;
  readonly last: number;
}

function replaced(text: string, find: string, replace: string, places: readonly number[]): { changed: string; regions: readonly Region[] } {
  const pieces: string[] = [];
  const regions: Region[] = [];
  let end = 0;
  let line = 1;
  for (const place of places) {
    const before = text.slice(end, place);
    line += lineEnds(before);
    const first = line;
    line += lineEnds(replace);
    regions.push({ first, last: line });
    pieces.push(before, replace);
    end = place + find.length;
  }
  return { changed: [...pieces, text.slice(end)].join(""), regions };
}

function lineEnds(text: string): number {
  return text.split("\n").length - 1;
}

const around = 3;
const mostRegions = 5;
const mostLines = 40;

function report(path: string, lines: readonly string[], regions: readonly Region[]): string {
  const shown = regions.slice(0, mostRegions).map((region) => shownRegion(lines, region));
  const rest = regions.length > mostRegions ? [`[and ${counted(regions.length - mostRegions, "more place")}]`] : [];
  const count = counted(regions.length, "place");
  return [`Changed ${count} in ${path}. It now reads:`, ...shown, ...rest].join("\n");
}

function shownRegion(lines: readonly string[], { first, last }: Region): string {
  const from = Math.max(1, first - around);
  const to = Math.min(lines.length, last + around);
  const numbered = lines.slice(from - 1, to).map((line, index) => `${from + index}: ${line.slice(0, 500)}`);
  if (numbered.length <= mostLines) return numbered.join("\n");
  const half = mostLines / 2;
  return [...numbered.slice(0, half), `[… ${counted(numbered.length - mostLines, "line")} …]`, ...numbered.slice(-half)].join("\n");
}

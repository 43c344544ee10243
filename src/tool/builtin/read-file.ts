/** The tool `read_file`. Text comes as it is, without line numbers: what is read is what `edit_file` must be given to find it. */
import { counted } from "../../session/counted.ts";
import type { Tool } from "../../session/session.ts";
import { fileResource } from "../workspace-path.ts";
import { builtin } from "./builtin.ts";
import { wellFormed } from "./shorten.ts";
import { decoded, linesOf, readBytes } from "./text-file.ts";

/** What `readFile` takes: `from` is a line, counted from 1. */
export interface ReadFileInput {
  readonly path: string;
  readonly from?: number | undefined;
  readonly lines?: number | undefined;
}

const defaultLines = 400;
/** A little under what models are shown of any result, so that the note at the end is never cut off. */
const mostCharacters = 48_000;

/**
 * Gives the text of a file. One that fits comes exactly as it is; of a longer one a window of lines comes, and a note at the end
 * says which lines these are and how to read on. Of a binary file only its size is told.
 *
 * @example
 * const read = await session.call(readFile, { path: "src/index.ts", from: 401, lines: 200 });
 */
export const readFile: Tool<ReadFileInput, string> = builtin<ReadFileInput, string>({
  name: "read_file",
  description:
    "Reads a text file of the workspace. The text is returned as it is, without line numbers. " +
    `A long file is returned in part (${defaultLines} lines unless lines says otherwise); a note in brackets at the end then says which lines these are and how to read on.`,
  properties: {
    path: { type: "string", minLength: 1, description: "From the root of the workspace." },
    from: { type: "integer", minimum: 1, description: "The first line to read. Default: 1." },
    lines: { type: "integer", minimum: 1, description: `How many lines. Default: ${defaultLines}.` },
  },
  required: ["path"],
  writes: "nothing",
  resource: ({ path }) => fileResource(path),
  run: async ({ path, from = 1, lines: count }, { sandbox }) => {
    const bytes = await readBytes(sandbox, path);
    if (bytes.length === 0) return "[the file is empty]";
    const text = decoded(bytes);
    if (text === undefined) return `[${path} is a binary file of ${counted(bytes.length, "byte")}]`;
    const lines = linesOf(text);
    if (from === 1 && text.length <= mostCharacters && lines.length <= (count ?? defaultLines)) return text;
    if (from > lines.length) throw new Error(`${path} has ${counted(lines.length, "line")}: there is no line ${from}.`);
    return windowOf(lines, from, count ?? defaultLines);
  },
});

function windowOf(lines: readonly string[], from: number, count: number): string {
  const shown: string[] = [];
  let characters = 0;
  for (const line of lines.slice(from - 1, from - 1 + count)) {
    characters += line.length + 1;
    if (characters > mostCharacters) break;
    shown.push(line);
  }
  if (shown.length === 0) {
    const [line = ""] = lines.slice(from - 1);
    const next = from < lines.length ? `; read on with from: ${from + 1}` : "";
    return `${wellFormed(line.slice(0, mostCharacters))}\n[the first ${mostCharacters} of ${line.length} characters of line ${from} of ${lines.length}${next}]`;
  }
  const last = from - 1 + shown.length;
  const next = last < lines.length ? `; read on with from: ${last + 1}` : "";
  return `${shown.join("\n")}\n[lines ${from} to ${last} of ${lines.length}${next}]`;
}

/** The tool `search_files`: files are read through the sandbox and searched here, so that it works alike in every sandbox. */
import { counted } from "../../session/counted.ts";
import type { Sandbox, Tool } from "../../session/session.ts";
import { textOfThrown } from "../../session/thrown.ts";
import { builtin } from "./builtin.ts";
import { globbed } from "./globbed.ts";
import { type Found, type LineSearch, lineSearch } from "./line-search.ts";
import { decoded, linesOf } from "./text-file.ts";
import { type Walked, walk } from "./walk.ts";

/** What `searchFiles` takes. */
export interface SearchFilesInput {
  readonly pattern: string;
  readonly path?: string | undefined;
  readonly glob?: string | undefined;
}

const mostMatches = 200;
const mostFiles = 10_000;
const mostBytes = 64 * 2 ** 20;
const lineCharacters = 300;
const matchingMs = 1_000;
const atOnce = 16;

/**
 * Finds the lines of files that match a regular expression, as `path:line: text`. At most 200 come; notes in brackets at the end
 * say what was left out and why.
 *
 * @example
 * const found = await session.call(searchFiles, { pattern: "TODO|FIXME", path: "src", glob: "*.ts" });
 */
export const searchFiles: Tool<SearchFilesInput, readonly string[]> = builtin<SearchFilesInput, readonly string[]>({
  name: "search_files",
  description:
    "Searches the text files of the workspace for lines that match a regular expression (JavaScript syntax; begin with (?i) to ignore case) and returns them as path:line: text. " +
    `At most ${mostMatches} are returned; binary files, .git and node_modules are not searched; notes in brackets say what was left out.`,
  properties: {
    pattern: { type: "string", minLength: 1, description: "The regular expression. It is matched against each line by itself." },
    path: { type: "string", description: "A directory or a file, from the root of the workspace. Default: the root." },
    glob: { type: "string", description: 'Search only files whose name or path matches, like "*.ts" or "src/**/*.test.ts".' },
  },
  required: ["pattern"],
  writes: "nothing",
  run: async ({ pattern, path, glob }, { sandbox, signal }) => {
    const search = parsed(pattern);
    const { entries, left } = await filesBelow(sandbox, path, signal);
    const files = entries.flatMap(({ kind, path: file }) => (kind === "file" ? [file] : [])).sort();
    const paths = glob === undefined ? files : await globbed(glob, files, matchingMs);
    const notes: string[] = left.length === 0 ? [] : [`[only the first ${mostFiles} files and directories were looked at: give a path]`];
    const lines = await searched(sandbox, paths, search, notes, signal);
    return [...lines, ...notes];
  },
});

function parsed(pattern: string): LineSearch {
  try {
    return lineSearch(pattern, matchingMs);
  } catch (error) {
    throw new Error(`pattern is no regular expression (${textOfThrown(error)}): escape what is to be taken literally.`);
  }
}

/** A path may also name one file. */
async function filesBelow(sandbox: Sandbox, path: string | undefined, signal: AbortSignal): Promise<Walked> {
  try {
    return await walk(sandbox, path, { depth: Infinity, most: mostFiles, signal });
  } catch (error) {
    if (path === undefined || signal.aborted) throw error;
    const isFile = await sandbox.read(path).then(
      () => true,
      () => false,
    );
    if (!isFile) throw error;
    return { entries: [{ path, kind: "file" }], left: [], closed: [] };
  }
}

async function searched(
  sandbox: Sandbox,
  paths: readonly string[],
  search: LineSearch,
  notes: string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lines: string[] = [];
  let bytes = 0;
  let unread = 0;
  const stop = (why: string): readonly string[] => {
    notes.unshift(why);
    return lines;
  };
  for (let next = 0; next < paths.length; next += atOnce) {
    signal.throwIfAborted();
    const batch = paths.slice(next, next + atOnce);
    const contents = await Promise.all(batch.map((path) => sandbox.read(path).catch(() => undefined)));
    for (const [index, path] of batch.entries()) {
      const content = contents[index];
      if (content === undefined) unread += 1;
      bytes += content?.length ?? 0;
      const text = content === undefined ? undefined : decoded(content);
      if (text === undefined) continue;
      const found = search.find(linesOf(text), mostMatches - lines.length + 1);
      if (found === undefined) return stop(`[the search ran out of time in ${path}: use a simpler pattern, or give a path or glob]`);
      lines.push(...found.map((match) => shown(path, match)));
      if (lines.length > mostMatches) {
        lines.length = mostMatches;
        return stop(`[these are the first ${mostMatches}; files from ${path} on may have more: use a narrower pattern, path or glob]`);
      }
    }
    if (bytes > mostBytes)
      return stop(`[only ${next + batch.length} of ${paths.length} files were searched, they are large: give a path or glob]`);
  }
  if (unread > 0) notes.push(`[${counted(unread, "file")} could not be read]`);
  return lines;
}

/** Of a long line the part around the match. */
function shown(path: string, { line, text, at }: Found): string {
  const from = text.length <= lineCharacters ? 0 : Math.max(0, at - 100);
  const part = text.slice(from, from + lineCharacters);
  return `${path}:${line}: ${from > 0 ? "…" : ""}${part}${from + part.length < text.length ? "…" : ""}`;
}

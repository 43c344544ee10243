/** The tool `list_files`. */
import type { Tool } from "../../session/session.ts";
import { builtin } from "./builtin.ts";
import { walk } from "./walk.ts";

/** What `listFiles` takes. */
export interface ListFilesInput {
  readonly path?: string | undefined;
  readonly depth?: number | undefined;
}

const mostEntries = 500;
const defaultDepth = 2;

/**
 * Lists files and directories, in order of paths; directories end in "/". At most 500 come, and a note in brackets at the end says
 * what was left out.
 *
 * @example
 * const listed = await session.call(listFiles, { path: "src", depth: 1 });
 */
export const listFiles: Tool<ListFilesInput, readonly string[]> = builtin<ListFilesInput, readonly string[]>({
  name: "list_files",
  description:
    `Lists the files of the workspace below a directory, ${defaultDepth} levels deep unless depth says otherwise. Directories end in "/". ` +
    `At most ${mostEntries} are listed, and .git and node_modules are not entered; a note in brackets says what was left out.`,
  properties: {
    path: { type: "string", description: "The directory, from the root of the workspace. Default: the root." },
    depth: { type: "integer", minimum: 1, maximum: 20, description: `How many levels. Default: ${defaultDepth}.` },
  },
  required: [],
  writes: "nothing",
  run: async ({ path, depth = defaultDepth }, { sandbox, signal }) => {
    const { entries, left } = await walk(sandbox, path, { depth, most: mostEntries, signal });
    const lines = entries
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
      .map(({ path: found, kind, target }) =>
        kind === "directory" ? `${found}/` : kind === "link" && target ? `${found} -> ${target}` : found,
      );
    return left.length === 0 ? lines : [...lines, leftOut(left)];
  },
});

function leftOut(left: readonly string[]): string {
  const names = [...new Set(left)];
  const shown = names.slice(0, 10).map((name) => `${name}/`);
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
  return `[these are the first ${mostEntries}; left out is what is in ${shown.join(", ")}${rest}: list them by path]`;
}

/** The tool `write_file`. */
import { counted } from "../../session/counted.ts";
import type { Tool } from "../../session/session.ts";
import { fileResource } from "../workspace-path.ts";
import { builtin } from "./builtin.ts";
import { isThere, linesOf } from "./text-file.ts";

/** What `writeFile` takes. */
export interface WriteFileInput {
  readonly path: string;
  readonly content: string;
}

/**
 * Writes a whole file, in place of what was there, and says whether it was created or replaced.
 *
 * @example
 * const written = await session.call(writeFile, { path: "notes/today.md", content: "# Today\n" });
 */
export const writeFile: Tool<WriteFileInput, string> = builtin<WriteFileInput, string>({
  name: "write_file",
  description:
    "Writes a text file of the workspace: creates it, with the directories above it, or replaces all that was in it. To change a part of a file use edit_file.",
  properties: {
    path: { type: "string", minLength: 1, description: "From the root of the workspace." },
    content: { type: "string", description: "The whole new content." },
  },
  required: ["path", "content"],
  writes: "files",
  resource: ({ path }) => fileResource(path),
  run: async ({ path, content }, { sandbox }) => {
    const replaced = await isThere(sandbox, path);
    await sandbox.write(path, content);
    const lines = linesOf(content).length;
    return `${replaced ? "Replaced" : "Created"} ${path}: ${counted(lines, "line")}, ${counted(Buffer.byteLength(content), "byte")}.`;
  },
});

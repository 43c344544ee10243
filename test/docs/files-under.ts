import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";

/** References are written from the sources when the site is built. */
const skipped = new Set(["node_modules", "dist", "cache", "reference"]);

/** Paths of the files with this ending, relative to the folder, with forward slashes, sorted. What was built or installed is left out. */
export async function filesUnder(folder: string, ending: string): Promise<readonly string[]> {
  const found: string[] = [];
  const visit = async (at: string): Promise<void> => {
    for (const entry of await readdir(at, { withFileTypes: true })) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) {
        if (!skipped.has(entry.name)) await visit(path);
      } else if (entry.name.endsWith(ending)) found.push(relative(folder, path).replaceAll("\\", "/"));
    }
  };
  await visit(folder);
  return found.sort();
}

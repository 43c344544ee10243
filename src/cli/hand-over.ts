/** A command line that is installed globally hands over to the project's copy, so that both speak of one and the same Session. */
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packageOf } from "./foreign.ts";
import { configOf } from "./project.ts";

/** The project file a call names. Read by hand: what parses the rest belongs to the copy that is handed over to. */
function named(argv: readonly string[]): string | undefined {
  const at = argv.findIndex((word) => word === "--config" || word.startsWith("--config="));
  const word = argv[at];
  return word === "--config" ? argv[at + 1] : word?.slice("--config=".length);
}

/** The address of the project's own command line; undefined when it has none, or it is this one. */
export function projectsOwn(argv: readonly string[], cwd: string): string | undefined {
  try {
    const folder = packageOf(configOf(named(argv), cwd) ?? join(cwd, "openrath.config.ts"), "openrath");
    if (folder === undefined) return undefined;
    const root = realpathSync(folder);
    if (root === realpathSync(fileURLToPath(new URL("../..", import.meta.url)))) return undefined;
    const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly bin: { readonly openrath: string } };
    return pathToFileURL(join(root, bin.openrath)).href;
  } catch {
    return undefined; // not to be read, or a project of somebody else: whoever needs it says so
  }
}

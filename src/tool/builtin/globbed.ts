/** Files whose name or path matches a pattern of a model. Some patterns take hours to fail, so matching has a time, as in line-search.ts. */
import { createContext, Script } from "node:vm";
import { textOfThrown } from "../../session/thrown.ts";

const call = new Script("run()");

/** Those that match, in the order given. A pattern without a slash is matched against names alone. */
export async function globbed(glob: string, paths: readonly string[], budgetMs: number): Promise<readonly string[]> {
  const { default: picomatch } = await import("picomatch");
  const run = (): readonly string[] => {
    const matches = picomatch(glob, { dot: true, basename: !glob.includes("/") });
    return paths.filter((path) => matches(path));
  };
  try {
    return call.runInContext(createContext({ run }), { timeout: budgetMs }) as readonly string[];
  } catch (error) {
    const slow = (error as { readonly code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    if (slow) throw new Error("glob takes too long to match: use fewer stars, or leave it out and give a path.");
    throw new Error(`glob is no pattern (${textOfThrown(error)}): give one like "*.ts", or leave it out.`);
  }
}

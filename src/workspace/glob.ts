/**
 * Patterns of paths, as shells and .gitignore write them. A pattern may come from a model, and some take hours to fail: matching
 * has a time limit, so that none can stop the process.
 */
import { createContext, Script } from "node:vm";
import picomatch from "picomatch";
import { RathError } from "../session/errors.ts";
import { mount } from "./path.ts";

/** A pattern that is ready for use. */
export interface Glob {
  /** The directory or file below which everything is that can match; "" for the root. */
  readonly base: string;
  /** Those that match, in the order given. Throws `workspace.invalid` when the pattern is none or takes too long. */
  filter(paths: readonly string[]): readonly string[];
}

/** A pattern like "src/**\/*.ts". Names that begin with a dot are like others. Relative to the workspace, or under "/workspace". */
export function globOf(pattern: string): Glob {
  const glob = pattern.replace(new RegExp(`^${mount}/+`), "").replace(/^(?:\.\/+)+/, "");
  const { base, negated } = picomatch.scan(glob);
  let matches: ((path: string) => boolean) | undefined;
  const filter = (paths: readonly string[]): readonly string[] =>
    limited(pattern, () => {
      matches ??= picomatch(glob, { dot: true });
      return paths.filter((path) => matches?.(path));
    });
  // An escaped base is not a path as it stands; looking everywhere is right too.
  return { base: negated || glob.includes("\\") ? "" : base.replace(/\/+$/, ""), filter };
}

const timeout = 1000;
const call = new Script("run()");

/** Runs code that is stopped when it takes too long, in the middle of a regular expression too. */
function limited<T>(pattern: string, run: () => T): T {
  try {
    return call.runInContext(createContext({ run }), { timeout }) as T;
  } catch (cause) {
    const slow = (cause as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    const why = slow ? "takes too long to match: use fewer stars" : `is none: ${(cause as Error).message}`;
    throw new RathError("workspace.invalid", `The pattern ${JSON.stringify(pattern.slice(0, 200))} ${why}.`, { cause });
  }
}

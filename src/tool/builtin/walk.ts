/** The files below a directory of a sandbox, breadth first, so that what is left out is what lies deepest. Links are not followed. */
import { posix } from "node:path";
import type { Sandbox, SandboxEntry } from "../../session/session.ts";

/** Large, and seldom what is asked for: they are seen and not entered, unless they are what was asked for. */
const notEntered: ReadonlySet<string> = new Set([".git", "node_modules"]);

export interface Walked {
  readonly entries: readonly SandboxEntry[];
  /** Directories that were to be entered and were not, because enough was found. */
  readonly left: readonly string[];
  /** Directories that are never entered. */
  readonly closed: readonly string[];
}

export async function walk(
  sandbox: Sandbox,
  path: string | undefined,
  { depth, most, signal }: { readonly depth: number; readonly most: number; readonly signal: AbortSignal },
): Promise<Walked> {
  const entries: SandboxEntry[] = [];
  const left: string[] = [];
  const closed: string[] = [];
  let level: readonly (string | undefined)[] = [path];
  for (let below = 0; below < depth && level.length > 0; below++) {
    const next: string[] = [];
    for (const directory of level) {
      signal.throwIfAborted();
      if (entries.length >= most) {
        left.push(directory ?? ".");
        continue;
      }
      for await (const entry of sandbox.list(directory)) {
        if (entries.length >= most) {
          left.push(directory ?? ".");
          break;
        }
        entries.push(entry);
        if (entry.kind === "directory") (notEntered.has(posix.basename(entry.path)) ? closed : next).push(entry.path);
      }
    }
    level = next;
  }
  return { entries, left, closed };
}

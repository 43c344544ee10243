/** What `doctor` finds, and how it looks for packages. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

export interface Finding {
  readonly check: string;
  readonly status: "ok" | "warn" | "fail" | "none";
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string | undefined;
}

/** True when a package can be imported from a file. */
export function hasPackage(name: string, from: string): boolean {
  try {
    createRequire(from).resolve(name);
    return true;
  } catch {
    return existsSync(join(resolve(from, ".."), "node_modules", name));
  }
}

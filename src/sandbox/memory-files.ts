/** Files of a memory sandbox, by path from the root of the workspace; the root is "". */
import { RathError } from "../session/errors.ts";
import type { SandboxEntry } from "./sandbox.ts";

/** What reads and writes; links are followed where there are any, and never out of the workspace. */
export interface Files {
  read(path: string): Promise<Uint8Array>;
  write(path: string, bytes: Uint8Array): Promise<void>;
  list(path: string): Promise<readonly SandboxEntry[]>;
  remove(path: string): Promise<void>;
}

/** Files and directories without a shell that could make anything else. */
export class MapFiles implements Files {
  readonly #entries = new Map<string, Uint8Array | "directory">([["", "directory"]]);

  /** All of them, directories before what is in them. */
  entries(): readonly (readonly [string, Uint8Array | "directory"])[] {
    return [...this.#entries];
  }

  async read(path: string): Promise<Uint8Array> {
    const found = this.#entries.get(path);
    if (found === undefined) throw notThere(path);
    if (found === "directory") throw isDirectory(path);
    return Uint8Array.from(found);
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    if (this.#entries.get(path) === "directory") throw isDirectory(path);
    const names = path.split("/");
    for (let count = 1; count < names.length; count++) {
      const above = names.slice(0, count).join("/");
      const found = this.#entries.get(above);
      if (found !== undefined && found !== "directory") throw noDirectory(above);
      this.#entries.set(above, "directory");
    }
    this.#entries.set(path, bytes);
  }

  async list(path: string): Promise<readonly SandboxEntry[]> {
    const found = this.#entries.get(path);
    if (found === undefined) throw notThere(path);
    if (found !== "directory") throw noDirectory(path);
    const before = path === "" ? "" : `${path}/`;
    const inside = [...this.#entries].filter(([name]) => name !== path && name.startsWith(before) && !name.includes("/", before.length));
    return inside
      .map(([name, entry]): SandboxEntry => {
        const isFile = entry !== "directory";
        return { path: name, kind: isFile ? "file" : "directory", mode: isFile ? 0o644 : 0o755 };
      })
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  async remove(path: string): Promise<void> {
    for (const name of this.#entries.keys()) if (name === path || name.startsWith(`${path}/`)) this.#entries.delete(name);
  }
}

export function notThere(path: string): RathError {
  return failed(path, "There is nothing at");
}

export function isDirectory(path: string): RathError {
  return failed(path, "A directory is at");
}

export function noDirectory(path: string): RathError {
  return failed(path, "There is no directory at");
}

function failed(path: string, problem: string): RathError {
  return new RathError("sandbox.failed", `${problem} ${JSON.stringify(path === "" ? "." : path)}.`, { details: { path } });
}

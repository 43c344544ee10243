/**
 * A directory of the host that is held while its entries are touched. Nothing is reached through a path that somebody else could
 * have bent: on Linux each directory is opened below its parent without following links, and its entries are named through the open
 * descriptor (`/proc/self/fd/7/name`), so a parent that is swapped for a link changes nothing and paths may be deeper than PATH_MAX.
 * Elsewhere parents are looked at before each use, and paths that are too long are refused.
 */
import {
  accessSync,
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { RathError } from "../session/errors.ts";
import { bytesOf, nameOf } from "./name.ts";

/** Opens without reading: works on what may not be read, and never blocks on a fifo. Linux alone has it. */
const openPath = 0x200000;
const { O_DIRECTORY, O_NOFOLLOW } = constants;
const holds = process.platform === "linux" && existsSync("/proc/self/fd");
/** Below what the systems allow (4096, on macOS 1024), with room for a temporary name. */
const longest = process.platform === "darwin" ? 900 : 3900;

export class Place {
  /** From the root that was opened; "" is that root. */
  readonly path: string;
  readonly #descriptor: number | undefined;
  readonly #prefix: Buffer;

  private constructor(path: string, prefix: Buffer, descriptor: number | undefined) {
    this.path = path;
    this.#prefix = prefix;
    this.#descriptor = descriptor;
  }

  /** The directory a caller names; links on the way to it are the caller's own. */
  static open(directory: string): Place {
    try {
      if (!statSync(directory).isDirectory()) throw notFound(directory, "is no directory");
      if (holds) return Place.#held("", openSync(directory, openPath | O_DIRECTORY));
      return new Place("", Buffer.concat([realpathSync(directory, { encoding: "buffer" }), slash]), undefined);
    } catch (error) {
      if (isCode(error, "ENOENT", "ENOTDIR")) throw notFound(directory, "does not exist");
      throw error;
    }
  }

  static #held(path: string, descriptor: number): Place {
    return new Place(path, Buffer.from(`/proc/self/fd/${descriptor}/`), descriptor);
  }

  /** The directory of that name, to be closed; undefined when nothing or something else is there, a link to a directory included. */
  enter(name: string): Place | undefined {
    const path = this.below(name);
    try {
      if (holds) return Place.#held(path, openSync(this.at(name), openPath | O_DIRECTORY | O_NOFOLLOW));
      if (!lstatSync(this.at(name)).isDirectory()) return undefined;
      return new Place(path, Buffer.concat([this.at(name), slash]), undefined);
    } catch (error) {
      if (isCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
      throw error;
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  /** How the system calls of this process name an entry. */
  at(name: string): Buffer {
    const path = Buffer.concat([this.#prefix, bytesOf(name)]);
    if (path.length > longest) throw tooLong(this.below(name));
    return path;
  }

  /** How another process names this directory, while it is held. */
  get outside(): string {
    return this.#descriptor === undefined ? nameOf(this.#prefix) : `/proc/${process.pid}/fd/${this.#descriptor}`;
  }

  /** The path of an entry, from the root. */
  below(name: string): string {
    return this.path === "" ? name : `${this.path}/${name}`;
  }

  /** What is there, links themselves included; undefined when nothing is. */
  stat(name: string): BigIntStats | undefined {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false });
  }

  /** All names, in the order of their bytes. */
  names(): readonly string[] {
    return readdirSync(this.#prefix, { encoding: "buffer" }).sort(Buffer.compare).map(nameOf);
  }

  target(name: string): string {
    return nameOf(readlinkSync(this.at(name), { encoding: "buffer" }));
  }

  /** Sets the permissions of a file or directory. A link is refused: what it points to is not ours. */
  chmod(name: string, mode: number): void {
    if (!holds) {
      if (lstatSync(this.at(name)).isSymbolicLink()) throw new Error("A link has no permissions of its own.");
      chmodSync(this.at(name), mode);
      return;
    }
    const descriptor = openSync(this.at(name), openPath | O_NOFOLLOW);
    try {
      // The kernel refuses this for a link.
      chmodSync(`/proc/self/fd/${descriptor}`, mode);
    } finally {
      closeSync(descriptor);
    }
  }

  /** Sets the permissions of this directory. */
  chmodSelf(mode: number): void {
    chmodSync(this.#prefix, mode);
  }

  /** Whether entries can be made and removed here. */
  get writable(): boolean {
    try {
      accessSync(this.#prefix, constants.W_OK | constants.X_OK);
      return true;
    } catch {
      return false;
    }
  }
}

const slash = Buffer.from("/");

/** True for an error of the system with one of these codes. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as { readonly code?: string } | undefined)?.code ?? "");
}

function notFound(directory: string, problem: string): RathError {
  return new RathError("workspace.not-found", `The directory ${directory} ${problem}.`, { details: { directory } });
}
function tooLong(path: string): RathError {
  return new RathError("workspace.invalid", `The path ${JSON.stringify(path.slice(0, 200))}… is too long for this system.`, {
    details: { path },
  });
}

/**
 * How much a directory takes on disk while commands write to it. It is asked again and again, so a walk that took long is not
 * repeated at once, unless the disk has become much fuller. Directories are entered through descriptors and links are not followed:
 * whoever swaps one for a link to the host's root makes nobody count that. Where something cannot be looked into, all that
 * the disk has lost meanwhile counts: nothing is hidden from a limit by permissions or by depth.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, statfs } from "node:fs/promises";
import { isCode } from "./place.ts";

/** What a name costs beside its content, so that a million empty files are not free. */
const entryCost = 4096;
/** A walk is repeated when this many times its own duration has passed, or so many milliseconds. */
const rest = 4;
const longest = 2000;
/** Or when so many bytes of the disk were taken since, by whomever: much can be written in little time. At the end of a command less is much. */
const fuller = 64 * 2 ** 20;
const muchAtEnd = 2 ** 20;
/** Each level of directories takes a descriptor. A tree may be less deep than this, so what is deeper is nobody's work. */
const deepest = 256;

/** When somebody looks: before a command begins, while it runs, and once it has ended. */
export type DiskLook = "begin" | "during" | "end";

interface Use {
  readonly bytes: number;
  /** Whether all of it could be looked at. */
  readonly whole: boolean;
}

export class DiskUse {
  readonly #directory: string;
  #running: Promise<Use> | undefined;
  #last: Use = { bytes: 0, whole: true };
  #again = 0;
  #free = 0;
  /** What it took as far as known, and what the disk had left, when a command began or somebody last counted all of it. */
  #base: Promise<{ readonly bytes: number; readonly free: number }>;

  constructor(directory: string) {
    this.#directory = directory;
    this.#base = freeBytes(directory).then((free) => ({ bytes: 0, free }));
  }

  /**
   * Bytes on disk, of now or of a moment ago; where something cannot be looked at, perhaps too many. It is nothing as long as it has not
   * become more since a command began: whoever only looks or removes is not blamed, whatever others write to the disk meanwhile.
   */
  async bytes(when: DiskLook = "during"): Promise<number> {
    if (when === "begin") this.#base = freeBytes(this.#directory).then((free) => ({ bytes: this.#last.bytes, free }));
    if (when === "begin") return this.#last.bytes;
    // A walk that takes long is left out at the end where the disk is as full as before. Where much was removed it is counted too, so that
    // the next command is judged by what there is.
    if (when === "end" && this.#again > 0 && Math.abs(await this.#lost()) < muchAtEnd) return 0;
    // A walk that is under way has already been where something may have been written since.
    await this.#running;
    const base = await this.#base;
    const rests = when === "during" && performance.now() < this.#again && !(await this.#isFuller());
    const { bytes, whole } = rests ? this.#last : await this.#share();
    const most = whole ? bytes : Math.max(bytes, base.bytes + (await this.#lost()));
    return most > base.bytes ? most : 0;
  }

  /** Bytes on disk of what can be looked at, by a walk that begins now. */
  async now(): Promise<number> {
    await this.#running;
    const { bytes } = await this.#share();
    this.#base = Promise.resolve({ bytes, free: this.#free });
    return bytes;
  }

  /** What the disk has lost since the base. */
  async #lost(): Promise<number> {
    return (await this.#base).free - (await freeBytes(this.#directory));
  }

  async #isFuller(): Promise<boolean> {
    return this.#free - (await freeBytes(this.#directory)) > fuller;
  }

  #share(): Promise<Use> {
    this.#running ??= this.#walk().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #walk(): Promise<Use> {
    const start = performance.now();
    this.#free = await freeBytes(this.#directory);
    this.#last = await inside(this.#directory, 0);
    const end = performance.now();
    // A short walk may be repeated as often as one likes.
    this.#again = end - start < 10 ? 0 : end + Math.min(longest, rest * (end - start));
    return this.#last;
  }
}

/** What is left of the disk; nothing where that cannot be asked. */
async function freeBytes(directory: string): Promise<number> {
  try {
    const { bfree, bsize } = await statfs(directory);
    return bfree * bsize;
  } catch {
    return 0;
  }
}

/** Linux alone opens what may not be read, and names entries through a descriptor. */
const holds = process.platform === "linux";
const openPath = holds ? 0x200000 : 0;

const nothing: Use = { bytes: 0, whole: true };
const unknown: Use = { bytes: 0, whole: false };

/** What a directory takes. One that is gone by now, or is something else, takes nothing. */
async function inside(path: string | Buffer, depth: number): Promise<Use> {
  if (depth > deepest) return unknown;
  let directory: FileHandle | undefined;
  try {
    directory = await open(path, constants.O_RDONLY | openPath | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return await below(Buffer.from(holds ? `/proc/self/fd/${directory.fd}/` : `${path}/`), depth);
  } catch (error) {
    return isCode(error, "ENOENT", "ENOTDIR", "ELOOP") ? nothing : unknown;
  } finally {
    await directory?.close();
  }
}

async function below(prefix: Buffer, depth: number): Promise<Use> {
  const names = await readdir(prefix, { encoding: "buffer" });
  let bytes = names.length * entryCost;
  let whole = true;
  for (let at = 0; at < names.length; at += 64) {
    for (const found of await Promise.all(names.slice(at, at + 64).map((name) => look(Buffer.concat([prefix, name]))))) {
      const use = "whole" in found ? found : await inside(found, depth + 1);
      bytes += use.bytes;
      whole &&= use.whole;
    }
  }
  return { bytes, whole };
}

/** What a file takes, or the path of a directory. What is gone by now takes nothing. */
async function look(path: Buffer): Promise<Use | Buffer> {
  try {
    const stat = await lstat(path);
    return stat.isDirectory() ? path : { bytes: stat.blocks * 512, whole: true };
  } catch (error) {
    return isCode(error, "ENOENT") ? nothing : unknown;
  }
}

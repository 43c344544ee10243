/**
 * How much a directory takes on disk while commands write to it. It is asked again and again, so a walk that took long is not
 * repeated at once. Directories are entered through descriptors and links are not followed: whoever swaps one for a link to the
 * host's root makes nobody count that.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";

/** What a name costs beside its content, so that a million empty files are not free. */
const entryCost = 4096;
/** A walk is repeated when this many times its own duration has passed, or so many milliseconds. */
const rest = 4;
const longest = 2000;

export class DiskUse {
  readonly #directory: string;
  #running: Promise<number> | undefined;
  #last = 0;
  #again = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Bytes on disk, of now or of a moment ago. */
  bytes(): Promise<number> {
    if (this.#running === undefined && performance.now() < this.#again) return Promise.resolve(this.#last);
    return this.#share();
  }

  /** Bytes on disk, by a walk that begins now. */
  async now(): Promise<number> {
    await this.#running;
    return this.#share();
  }

  #share(): Promise<number> {
    this.#running ??= this.#walk().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #walk(): Promise<number> {
    const start = performance.now();
    const handle = await enter(this.#directory);
    this.#last = handle === undefined ? 0 : await below(handle);
    const end = performance.now();
    // A short walk may be repeated as often as one likes.
    this.#again = end - start < 10 ? 0 : end + Math.min(longest, rest * (end - start));
    return this.#last;
  }
}

const openPath = 0x200000;

async function enter(path: string | Buffer): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | openPath | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
}

async function below(directory: FileHandle): Promise<number> {
  try {
    const prefix = Buffer.from(`/proc/self/fd/${directory.fd}/`);
    const names = await readdir(prefix, { encoding: "buffer" }).catch(() => []);
    let bytes = 0;
    for (let at = 0; at < names.length; at += 64) {
      for (const size of await Promise.all(names.slice(at, at + 64).map((name) => look(Buffer.concat([prefix, name]))))) {
        bytes += entryCost;
        if (typeof size === "number") bytes += size;
        else {
          const inner = await enter(size);
          if (inner !== undefined) bytes += await below(inner);
        }
      }
    }
    return bytes;
  } finally {
    await directory.close();
  }
}

/** What a file takes, or the path of a directory. What is gone by now takes nothing. */
async function look(path: Buffer): Promise<number | Buffer> {
  try {
    const stat = await lstat(path);
    return stat.isDirectory() ? path : stat.blocks * 512;
  } catch {
    return 0;
  }
}

/** A disk that is really full: a small file system of its own, where the machine lets us mount one. */
import { execFile } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  /** Takes all the room there is until `over` resolves. */
  fill(over: Promise<unknown>): Promise<void>;
}

/** Undefined where nothing may be mounted: it takes the rights of root. */
export async function smallDisk(folder: string, megabytes: number): Promise<SmallDisk | undefined> {
  await mkdir(folder, { recursive: true });
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
  } catch {
    return undefined;
  }
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill: async (over) => {
      takeAll(ballast);
      // What others give up meanwhile is taken too.
      const again = setInterval(() => takeAll(ballast), 20);
      await over;
      clearInterval(again);
      await rm(ballast, { force: true });
    },
    [Symbol.asyncDispose]: async () => {
      await run("umount", ["-l", folder]);
    },
  };
}

function takeAll(file: string): void {
  const descriptor = openSync(file, "a");
  try {
    for (const size of [65_536, 4096]) {
      try {
        for (;;) writeSync(descriptor, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

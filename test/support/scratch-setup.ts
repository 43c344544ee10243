/** Makes the folder of this run, which every user may write to, as every temporary one. */
import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { scratch } from "./scratch.ts";

export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (scratch === undefined) return undefined;
  const folder = scratch;
  await removeAbandoned(dirname(folder));
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o1777);
  return () => rm(folder, { recursive: true, force: true });
}

/** A run that was killed could not take its folder with it. */
async function removeAbandoned(memory: string): Promise<void> {
  for (const name of await readdir(memory)) {
    const pid = /^rath-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(memory, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

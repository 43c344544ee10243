/**
 * Where the files of tests lie that nothing need outlast: in memory, where there is much of it. It has a folder for each run of the tests,
 * which goes with it, so that what a test leaves behind takes no memory.
 */
import { statfsSync } from "node:fs";

const memory = "/dev/shm";

/** Whoever says where temporary files are to be is heard. */
export const scratch: string | undefined =
  process.env["TMPDIR"] === undefined && roomIn(memory) > 4 * 2 ** 30 ? `${memory}/rath-${process.pid}` : undefined;

function roomIn(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return 0; // there is none
  }
}

/** The folder of a machine that holds the signing key, and the store where none is named. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { RathError } from "../session/errors.ts";
import { refusalOf } from "../session/thrown.ts";

export function home(): string {
  return resolve(process.env["OPENRATH_HOME"] ?? ".openrath");
}

/** A new one is private to its owner, and kept out of repositories by itself. What was there is somebody's as it is: a volume, a project. */
export async function makeHome(folder = home()): Promise<string> {
  try {
    const made = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (made !== undefined) await writeFile(join(folder, ".gitignore"), "*\n", { flag: "wx" }).catch(ignoreExisting);
  } catch (error) {
    throw new RathError(
      "store.unavailable",
      `The home folder ${folder} cannot be used: ${refusalOf(error)}. Set OPENRATH_HOME to a folder that can be written.`,
      { cause: error, details: { path: folder } },
    );
  }
  return folder;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

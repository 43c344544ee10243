/** Makes files, links and fifos under a temporary name; `settle` gives them their own, so that nobody sees half of one. */
import { execFile } from "node:child_process";
import { closeSync, constants, fchmodSync, openSync, renameSync, symlinkSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { RathError } from "../session/errors.ts";
import { bytesOf } from "./name.ts";
import type { Place } from "./place.ts";
import { temporaryName, unlink } from "./remove.ts";
import type { Slices } from "./slices.ts";

const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;

/** Makes a file that was not there, under a temporary name unless one is given. Fails with EEXIST where something is. */
export async function makeFile(
  place: Place,
  bytes: Uint8Array,
  mode: number,
  slices: Slices,
  name: string = temporaryName(),
): Promise<string> {
  const descriptor = openSync(place.at(name), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  try {
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(descriptor, bytes, at, Math.min(bytes.length - at, 1 << 20));
      if (slices.due) await slices.rest();
    }
    fchmodSync(descriptor, mode);
  } catch (error) {
    unlink(place, name);
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return name;
}

export function makeLink(place: Place, target: string): string {
  const name = temporaryName();
  symlinkSync(bytesOf(target), place.at(name));
  return name;
}

/** Node cannot make fifos; a command can. The temporary names are plain, whatever the fifos will be called. */
export async function makeFifos(place: Place, count: number): Promise<readonly string[]> {
  if (count === 0) return [];
  const names = Array.from({ length: count }, temporaryName);
  try {
    await promisify(execFile)("mkfifo", ["-m", "600", "--", ...names], { cwd: place.outside });
  } catch (cause) {
    for (const name of names) unlink(place, name);
    throw new RathError("workspace.invalid", `The fifos of ${JSON.stringify(place.path || ".")} cannot be made: mkfifo failed.`, {
      details: { path: place.path },
      cause,
    });
  }
  return names;
}

/** Gives what was made its name, in place of what is there. Fails with EISDIR where a directory is. */
export function settle(place: Place, made: string, name: string): void {
  renameSync(place.at(made), place.at(name));
}

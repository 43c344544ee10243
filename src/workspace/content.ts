/** Looks at and reads one entry of a directory that others may be changing. */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { RathError } from "../session/errors.ts";
import { isCode, type Place } from "./place.ts";
import type { Slices } from "./slices.ts";
import type { Entry } from "./tree.ts";

/** What was read, with how the file looked then; it was steady when nothing changed it meanwhile. */
export interface Content {
  readonly bytes: Buffer;
  readonly stat: BigIntStats;
  readonly steady: boolean;
}

export interface ReadOptions {
  /** The directory is ours: a file that its owner may not read is made readable for the moment. */
  readonly own: boolean;
  readonly slices: Slices;
}

/** The content of a file that `stat` was seen at; undefined when something else is there by now. */
export async function readContent(place: Place, name: string, stat: BigIntStats, options: ReadOptions): Promise<Content | undefined> {
  const opened = open(place, name, stat, options.own);
  if (opened === undefined) return undefined;
  try {
    const before = fstatSync(opened.descriptor, { bigint: true });
    if (before.ino !== stat.ino || before.dev !== stat.dev || !before.isFile()) return undefined;
    // A file that grew is not read beyond the size that was allowed.
    const bytes = await readAll(opened.descriptor, Number(stat.size), options.slices);
    const after = fstatSync(opened.descriptor, { bigint: true });
    const steady =
      bytes.length === Number(after.size) &&
      before.size === after.size &&
      before.mtimeNs === after.mtimeNs &&
      before.ctimeNs === after.ctimeNs;
    return { bytes, stat: opened.mode === undefined ? after : { ...after, mode: stat.mode, ctimeNs: never }, steady };
  } finally {
    closeSync(opened.descriptor);
    if (opened.mode !== undefined) place.chmod(name, opened.mode);
  }
}

/** Later than every clock: putting permissions back changes the file once more, so how it looked says nothing. */
const never = 2n ** 63n - 1n;

/** Without following a link, and without waiting for the other end should a fifo have taken its place. */
const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function open(place: Place, name: string, stat: BigIntStats, own: boolean): { descriptor: number; mode?: number } | undefined {
  try {
    return { descriptor: openSync(place.at(name), reading) };
  } catch (error) {
    if (isCode(error, "ENOENT", "ELOOP", "ENXIO")) return undefined;
    if (!isCode(error, "EACCES", "EPERM") || !own) throw readProblem(error, place.below(name));
  }
  const mode = Number(stat.mode) & 0o777;
  try {
    place.chmod(name, mode | 0o400);
    return { descriptor: openSync(place.at(name), reading), mode };
  } catch (error) {
    throw readProblem(error, place.below(name));
  }
}

async function readAll(descriptor: number, size: number, slices: Slices): Promise<Buffer> {
  // Not from the shared pool: a few bytes that are kept must not keep a whole slab.
  const bytes = Buffer.allocUnsafeSlow(size);
  let length = 0;
  while (length < size) {
    const read = readSync(descriptor, bytes, length, Math.min(size - length, 1 << 20), null);
    if (read === 0) break;
    length += read;
    if (slices.due) await slices.rest();
  }
  return bytes.subarray(0, length);
}

/** How something looks, links themselves included; undefined when nothing is there. */
export function look(place: Place, name: string): BigIntStats | undefined {
  try {
    return place.stat(name);
  } catch (error) {
    throw readProblem(error, place.below(name));
  }
}

/** The link that is there; undefined when it is something else by now. */
export function readLink(place: Place, name: string): Entry | undefined {
  try {
    return { type: "link", target: place.target(name) };
  } catch (error) {
    if (isCode(error, "EINVAL", "ENOENT")) return undefined;
    throw error;
  }
}

/** What a failed attempt to read means for people. */
export function readProblem(error: unknown, path: string): unknown {
  if (!isCode(error, "EACCES", "EPERM", "EIO")) return error;
  const shown = JSON.stringify(path);
  return new RathError(
    "workspace.unreadable",
    `${shown} cannot be read (${(error as { code: string }).code}): give permission, or list it in .openrathignore.`,
    { details: { path }, cause: error },
  );
}

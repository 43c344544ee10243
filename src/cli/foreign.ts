/**
 * Whose code it is that is found on the way up from a folder. Above a folder of one's own there may be one that everybody writes to,
 * such as /tmp: what somebody else put there is not executed.
 */
import { lstatSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, relative } from "node:path";

/**
 * The uid of whoever owns what was found from a folder upwards, where that is somebody else. What lies in the folder is taken, and so
 * is what belongs to its owner, who could have put it there: root often works in the folder of an ordinary user. Windows has no uids.
 */
export function strangerOf(found: string, from: string): number | undefined {
  const me = process.geteuid?.();
  if (me === undefined || !relative(from, found).startsWith("..")) return undefined;
  // Of a link itself: whoever made it chose what is executed.
  const { uid } = lstatSync(found);
  return [me, 0, statSync(from).uid].includes(uid) ? undefined : uid;
}

/** The folder of a package that imports of a file find; undefined where there is none, or it is somebody else's. */
export function packageOf(file: string, name: string): string | undefined {
  try {
    const folder = dirname(createRequire(file).resolve(`${name}/package.json`));
    return strangerOf(folder, dirname(file)) === undefined ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Names on file systems that do not tell apart what differs in case or Unicode form alone. */
import type { Place } from "./place.ts";

/** What such a file system compares. */
export function fold(name: string): string {
  return name.normalize("NFC").toLowerCase().normalize("NFC");
}

/** All names of a directory that would be one and the same file with another. */
export function collisions(names: Iterable<string>): readonly string[] {
  const spellings = new Map<string, string[]>();
  for (const name of names) {
    const same = spellings.get(fold(name));
    if (same === undefined) spellings.set(fold(name), [name]);
    else same.push(name);
  }
  return [...spellings.values()].filter((same) => same.length > 1).flat();
}

/** Whether the file system of a directory folds names, by asking for something that is there under another spelling. */
export function foldsNames(place: Place): boolean {
  const names = new Set(place.names());
  for (const name of names) {
    const other = name.replace(/[a-z]/gi, (letter) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase()));
    if (other === name || names.has(other)) continue;
    const [here, there] = [place.stat(name), place.stat(other)];
    if (here !== undefined) return there !== undefined && here.ino === there.ino && here.dev === there.dev;
  }
  // Nothing here has letters: these systems fold unless told otherwise.
  return process.platform === "darwin" || process.platform === "win32";
}

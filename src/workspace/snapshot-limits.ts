/** How large a directory may be that is recorded. */
import { RathError } from "../session/errors.ts";

export interface SnapshotLimits {
  /** Bytes of one file; the content of a larger one is withheld. */
  readonly file: number;
  /** Bytes of all files together. */
  readonly total: number;
  /** Everything that has a name counts. */
  readonly files: number;
  /** Directories in directories. */
  readonly depth: number;
}

export const snapshotLimits: SnapshotLimits = { file: 100 * 2 ** 20, total: 4 * 2 ** 30, files: 500_000, depth: 200 };

export function tooLarge(limit: keyof SnapshotLimits, most: number, path: string): RathError {
  const what = { file: "bytes in one file", total: "bytes", files: "files", depth: "directories in one another" }[limit];
  return new RathError(
    "workspace.too-large",
    `The directory has more than ${most} ${what} (reached at ${JSON.stringify(path)}): list what does not belong in .openrathignore, or raise the limit "${limit}".`,
    { details: { limit, most, path } },
  );
}

/** What an erasure did, or would do, as data and in words. */
import { counted } from "../session/counted.ts";
import type { Left } from "./erase-find.ts";

export type { Left } from "./erase-find.ts";

/** What went, who stands on it, and what was left. */
export interface EraseReport {
  readonly dryRun: boolean;
  /** The entries of the erasure log that say so; none in a dry run, or when there was nothing to erase. */
  readonly entries: readonly string[];
  /** Events whose data went. */
  readonly events: readonly string[];
  /** Contents that went, by hash. */
  readonly blobs: readonly string[];
  /** Of those, files that trees still list: they cannot be read any more. */
  readonly files: readonly { readonly path: string; readonly blob: string }[];
  /** Versions of memories that say nothing any more, as "uri@version". */
  readonly memories: readonly string[];
  /** The logs in which the events lie. */
  readonly sessions: readonly string[];
  /** Other logs whose lineage contains them: forks, merges and what was detached. */
  readonly shared: readonly string[];
  /** What still says the same, names it or tells of it, and on PostgreSQL the tables whose files may hold bytes of it. */
  readonly left: readonly Left[];
  /**
   * False: the files of the store may still hold what was removed, since other processes were using them, the disk had no room to
   * write them anew (SQLite: as much as the file takes), or this role may not vacuum the tables (PostgreSQL). `rath.gc()` finishes it,
   * there by their owner.
   *
   * True: nothing is left for `rath.gc()` to do. The files of SQLite hold nothing of it then. PostgreSQL has vacuumed its tables, which
   * frees the space of removed rows and does not overwrite it: `left` names them, and docs/erasure.md says what ends that.
   */
  readonly scrubbed: boolean;
  toString(): string;
}

interface Parts extends Omit<EraseReport, "files" | "toString"> {
  readonly files: ReadonlyMap<string, string>;
}

export function reportOf(parts: Parts): EraseReport {
  const files = [...parts.files].map(([blob, path]) => Object.freeze({ path, blob }));
  const report = { ...parts, files };
  for (const value of Object.values(report)) Object.freeze(value);
  return Object.freeze({ ...report, toString: () => textOf(report) });
}

function textOf(report: Omit<EraseReport, "toString">): string {
  const { dryRun, events, blobs, files, memories, shared, left, entries, scrubbed } = report;
  const counts = [listed(events, "event"), listed(blobs, "blob"), listed(memories, "memory")].filter((text) => text !== "");
  const lines = [
    counts.length === 0 ? "There is nothing to erase." : `${dryRun ? "Would erase" : "Erased"} ${counts.join(", ")}.`,
    ...(entries.length === 0 ? [] : [`Entry ${entries.join(", ")} says so.`]),
    ...files.map(({ path }) => `The content of ${JSON.stringify(path)} ${dryRun ? "would be" : "was"} erased where trees list it.`),
    ...(shared.length === 0 ? [] : [`Shared by ${shared.join(", ")}.`]),
    ...left.map(({ what, id, why }) => `Left: ${what} ${id}: ${why}.`),
    ...(scrubbed
      ? []
      : [
          "The files of the store may still hold it: others use them, there was no room to write them anew, or on PostgreSQL this role may not vacuum the tables. Run gc when that has changed, or as their owner.",
        ]),
  ];
  return lines.join("\n");
}

function listed(list: readonly unknown[], noun: string): string {
  return list.length === 0 ? "" : counted(list.length, noun);
}

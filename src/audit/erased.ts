/** What of a record was erased: data that is gone must be listed by the entry it names, and what is listed must be gone. */
import { importedTag } from "../runtime/erasure-log.ts";
import type { Gathered } from "./gather.ts";
import type { Finding } from "./problem.ts";

/** An erasure that took something of a record. */
export interface RecordedErasure {
  /** The entry of the erasure log. */
  readonly entry: string;
  readonly by: string;
  readonly at: string;
  readonly reason: string;
  /** How many events of the record it took the data of. */
  readonly events: number;
  /** How many contents of files it took that the record still names. */
  readonly contents: number;
}

/** Data that is missing without an erasure, and erasures that were not finished. */
export function checkErased(gathered: Gathered): readonly Finding[] {
  const { byEntry, byEvent } = listsOf(gathered);
  const findings: Finding[] = [];
  for (const { id, erased, erasedBy, flaws } of gathered.entries.values()) {
    const entry = byEvent.get(id);
    if (erased && (erasedBy === undefined || byEntry.get(erasedBy)?.has(id) !== true))
      findings.push({ event: id, kind: "missing", problem: "its data is missing and no erasure on record names it", field: "data" });
    else if (!erased && entry !== undefined && flaws.length === 0)
      findings.push({
        event: id,
        kind: "unfinished",
        problem: `its erasure (entry ${entry}) was begun and not finished: its data is still there`,
        field: "data",
      });
  }
  return findings;
}

/** Contents that were erased though something names them. */
export function erasedBlobs(gathered: Gathered): ReadonlySet<string> {
  const blobs = new Set<string>();
  for (const { names } of gathered.entries.values()) for (const blob of names.erasure?.blobs ?? []) blobs.add(blob);
  return blobs;
}

/** Which erasures took something of a record, oldest first; `gone` are contents that it names and that were erased. */
export function erasuresOf(gathered: Gathered, gone: ReadonlySet<string>): readonly RecordedErasure[] {
  const counts = new Map<string, number>();
  for (const { erased, erasedBy } of gathered.entries.values())
    if (erased && erasedBy !== undefined) counts.set(erasedBy, (counts.get(erasedBy) ?? 0) + 1);
  return [...gathered.entries.values()].flatMap(({ id, by, at, names: { erasure } }) => {
    if (erasure === undefined) return [];
    const events = counts.get(id) ?? 0;
    const contents = erasure.blobs?.filter((blob) => gone.has(blob)).length ?? 0;
    return events + contents === 0 ? [] : [{ entry: id, by, at, reason: erasure.reason ?? "", events, contents }];
  });
}

/** What entries list; what was erased elsewhere need not be gone here. */
function listsOf(gathered: Gathered): {
  readonly byEntry: ReadonlyMap<string, ReadonlySet<string>>;
  readonly byEvent: ReadonlyMap<string, string>;
} {
  const byEntry = new Map<string, ReadonlySet<string>>();
  const byEvent = new Map<string, string>();
  for (const { id, session, names } of gathered.entries.values()) {
    const { events } = names.erasure ?? {};
    if (events === undefined) continue;
    byEntry.set(id, new Set(events));
    if (gathered.logs.get(session)?.row?.tags?.includes(importedTag) !== true) for (const event of events) byEvent.set(event, id);
  }
  return { byEntry, byEvent };
}

/** What rolling back would do: the same rule as the server's. */
import type { MemoryRecordResource } from "../../../../src/client/client.ts";

export interface RollbackPreview {
  /** Would be as they were then. */
  readonly restored: readonly { readonly now: MemoryRecordResource; readonly before: MemoryRecordResource }[];
  /** Were not there then, or not any more. */
  readonly retracted: readonly MemoryRecordResource[];
}

export function rollbackPreview(then: readonly MemoryRecordResource[], now: readonly MemoryRecordResource[]): RollbackPreview {
  const known = new Map(then.map((record) => [record.uri, record]));
  const restored: { now: MemoryRecordResource; before: MemoryRecordResource }[] = [];
  const retracted: MemoryRecordResource[] = [];
  for (const record of now) {
    const old = known.get(record.uri);
    if (old !== undefined && holds(old, record)) continue;
    if (old?.state === "published") restored.push({ now: record, before: old });
    else if (record.state === "published") retracted.push(record);
  }
  return { restored, retracted };
}

function holds(then: MemoryRecordResource, now: MemoryRecordResource): boolean {
  const same = then.state === now.state && then.content === now.content && then.trust === now.trust && then.expires === now.expires;
  return then.version === now.version || same;
}

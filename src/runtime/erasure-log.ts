/**
 * The erasure log of a store: who erased what, when and why, and never a word of what it said. An entry is durable before anything is
 * removed; a later one says that nothing is left to remove. Each follows the one before it or is not written, so no lease is needed.
 *
 * Logs that came with bundles lie beside it under their own ids, marked as imported: nothing is added to them here.
 */
import { envelopeOf } from "../session/codec.ts";
import type { DataOf } from "../session/event.ts";
import { erasureLogId } from "../session/id.ts";
import { Log } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { LogRow, Store } from "../store/store.ts";
import { link } from "./link.ts";
import { fromStored } from "./load.ts";
import type { Services } from "./services.ts";

/** What an entry says. */
export type Erased = DataOf<"data.erased">;

/** An entry of the log. */
export interface ErasureEntry {
  readonly id: string;
  readonly by: string;
  readonly at: string;
  readonly data: Erased;
  /** It came with a bundle: what it speaks of was erased elsewhere. */
  readonly imported: boolean;
}

/** The tag of logs that came with a bundle. */
export const importedTag = "imported";

/** Every entry, of this store's own log and of imported ones. */
export async function* erasures(platform: Platform, store: Pick<Store, "sessions" | "events">): AsyncGenerator<ErasureEntry, void> {
  for await (const row of store.sessions({ log: "erasure" }))
    for await (const event of store.events({ session: row.id })) {
      if (event.data === undefined) continue;
      const node = fromStored(platform, event, new Log(row.id, "erasure"), [], envelopeOf(platform, event));
      yield { id: node.id, by: node.by, at: node.at, data: node.data<"data.erased">(platform), imported: isImported(row) };
    }
}

/** Contents that were erased though something still names them. */
export async function erasedBlobs(platform: Platform, store: Store): Promise<ReadonlySet<string>> {
  const blobs = new Set<string>();
  for await (const { data } of erasures(platform, store)) for (const blob of data.blobs ?? []) blobs.add(blob);
  return blobs;
}

/** Adds an entry after all others, and gives its id; it is durable then. */
export async function addErasure(runtime: Services, by: string, data: Erased): Promise<string> {
  const store = await runtime.store();
  for (;;) {
    const row = await ownLog(store);
    const log = new Log(row?.id ?? (await newLogId(runtime, store)), "erasure");
    if (row !== undefined) for await (const head of store.events({ ids: [row.head] })) fromStored(runtime.platform, head, log, []);
    const node = link(runtime, { log, parents: log.tip === undefined ? [] : [log.tip], kind: "data.erased", data, by });
    const branch = { session: log.id, expectedHead: row?.head, events: [runtime.toStored(node)], about: { log: "erasure" as const } };
    const written = await store.append({ branches: [branch] });
    // Otherwise somebody else erased something meanwhile: this comes after it.
    if (written.ok) return node.id;
  }
}

/** The same for all who begin the log at once, and another for every store: a bundle may bring the erasure log of another one. */
async function newLogId(runtime: Services, store: Store): Promise<string> {
  const ids = new Set<string>();
  let oldest: string | undefined;
  for await (const row of store.sessions({})) {
    oldest ??= row.id;
    if (row.log === "erasure") ids.add(row.id);
  }
  const { id: key } = await runtime.key();
  let number = 0;
  while (ids.has(erasureLogId(runtime.platform, key, oldest ?? "", number))) number++;
  return erasureLogId(runtime.platform, key, oldest ?? "", number);
}

/** The log of what was erased here. */
export async function ownLog(store: Store): Promise<LogRow | undefined> {
  for await (const row of store.sessions({ log: "erasure" })) if (!isImported(row)) return row;
  return undefined;
}

/** It says what was erased elsewhere. */
export function isImported({ tags }: LogRow): boolean {
  return tags?.includes(importedTag) === true;
}

/** Removing what entries of the erasure log list, and finishing what was interrupted: whoever erases or collects garbage next does it. */
import { RathError } from "../session/errors.ts";
import { readVersionName } from "../session/memory-uri.ts";
import type { LogPlace, Store } from "../store/store.ts";
import { forgetCaptures, leftovers, removeLeftovers } from "../workspace/leftovers.ts";
import { Survey, sweepSurveyed } from "./erase-survey.ts";
import { addErasure, type ErasureEntry, erasures } from "./erasure-log.ts";
import { RetentionLogs } from "./retention-logs.ts";
import type { Runtime } from "./runtime.ts";

/** What one entry lists. */
export interface Listed {
  readonly id: string;
  readonly events: readonly string[];
  readonly memories: readonly string[];
}

/** What became of the files. */
export interface Scrubbed {
  readonly scrubbed: boolean;
  /** Unused space of these may hold what was removed. */
  readonly tables: readonly string[];
}

/** How often it is decided anew which logs may go. */
const tries = 10;

/** Once blobs are gone: removes memories, then the data of events; what is in this process and on its disk goes too. */
export async function removeAll(runtime: Runtime, entries: readonly Listed[], removed: ReadonlySet<string>): Promise<Scrubbed> {
  const store = await runtime.store();
  const memory = await runtime.memories.store();
  for (const { id, memories } of entries) if (memories.length > 0) await memory.erase?.(memories.map(versionOf), id);
  for (const { id, events } of entries) if (events.length > 0) await store.erase?.(events, id);
  runtime.forgetErased(new Set(entries.flatMap(({ events }) => events)));
  await forgetFiles(runtime, removed);
  const cleaned = [await scrub(store)];
  if (entries.some(({ memories }) => memories.length > 0)) cleaned.push(await scrub(memory));
  const scrubbed = !cleaned.includes(false);
  if (scrubbed) await addErasure(runtime, "runtime", { done: entries.map(({ id }) => id) });
  return { scrubbed, tables: cleaned.flatMap((tables) => (typeof tables === "boolean" ? [] : tables)) };
}

/** Copies on this machine's disk, which can be made again from what is left. */
async function forgetFiles(runtime: Runtime, removed: ReadonlySet<string>): Promise<void> {
  const home = removed.size === 0 ? undefined : runtime.sandboxes.places.home();
  if (home === undefined) return;
  await forgetCaptures(home);
  const now = Date.now();
  await removeLeftovers(home, await leftovers(home, now), now);
}

/** False when this must be done again: what was removed may still be in the files. */
export async function scrub(store: Pick<Store, "scrub">): Promise<boolean | readonly string[]> {
  try {
    return (await store.scrub?.()) ?? true;
  } catch (error) {
    // Held by others, or no room to write the file anew: what was removed is removed, and this is done again later.
    if (!RathError.is(error, "store.unavailable")) throw error;
    return false;
  }
}

function versionOf(name: string): { readonly uri: string; readonly version: number } {
  const { uri, version = 0 } = readVersionName(name);
  return { uri, version };
}

/** Entries of this store of which something may still be there. */
export async function unfinished(runtime: Runtime): Promise<readonly ErasureEntry[]> {
  const begun: ErasureEntry[] = [];
  const finished = new Set<string>();
  for await (const entry of erasures(runtime.platform, await runtime.store())) {
    if (entry.imported) continue;
    if (entry.data.done === undefined) begun.push(entry);
    for (const done of entry.data.done ?? []) finished.add(done);
  }
  // What says that one is done may lie in another log, which is read before: two machines may have begun one each.
  return begun.filter(({ id }) => !finished.has(id));
}

/** Removes what interrupted erasures have left; gives the entries that are done now. */
export async function finishErasures(runtime: Runtime): Promise<readonly string[]> {
  const store = await runtime.store();
  const entries: ErasureEntry[] = [];
  for (const entry of await unfinished(runtime))
    if (entry.data.logs === undefined || (await removeListed(runtime, store, entry.data.logs))) entries.push(entry);
  if (entries.length === 0) return [];
  const events = new Set(entries.flatMap(({ data }) => data.events ?? []));
  const files = new Map(entries.flatMap(({ data }) => data.blobs ?? []).map((blob) => [blob, ""]));
  const survey = new Survey(runtime.platform, store, { events, files, words: undefined });
  const removed = await sweepSurveyed(store, survey, async () => {});
  const listed = entries.map(({ id, data }) => ({ id, events: data.events ?? [], memories: data.memories ?? [] }));
  return (await removeAll(runtime, listed, removed)).scrubbed ? entries.map(({ id }) => id) : [];
}

/** Decided anew: whoever continued one of them since, or came to need one, keeps it. False when others appended again and again meanwhile. */
async function removeListed(runtime: Runtime, store: Store, listed: readonly LogPlace[]): Promise<boolean> {
  const logs = await new RetentionLogs(runtime.platform, store).read();
  for (let i = 0; i < tries; i++, await logs.readOn()) {
    const there = logs.stillUnneeded(listed);
    if (there.length === 0 || store.remove === undefined || (await store.remove(there, { after: logs.place }))) return true;
  }
  return false;
}

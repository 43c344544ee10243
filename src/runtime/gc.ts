/**
 * Removes what nobody needs: what interrupted erasures left, sessions that retention lets go, and blobs that no event names and no tree
 * reaches. Everything reachable is found first, by walking every log and every tree; what cannot be read stops the sweep before
 * anything is removed, since what lies behind it is not known.
 */
import { dataText } from "../session/codec.ts";
import { durationMs } from "../session/duration.ts";
import { givenName, givenOptions, givenText, unsupported } from "../session/given.ts";
import type { Platform } from "../session/platform.ts";
import type { Duration } from "../session/span.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { forgetCaptures, rememberedTrees } from "../workspace/leftovers.ts";
import { finishErasures, unfinished } from "./finish-erasures.ts";
import { Reachable } from "./reachable.ts";
import { letGo } from "./retention.ts";
import type { Runtime } from "./runtime.ts";

/** What is let go. */
export interface GcOptions {
  /** Only say what would go. */
  readonly dryRun?: boolean | undefined;
  /** Contents that were put or touched since then stay, whoever names them: their event may be on the way. At least "1h"; default "1d". */
  readonly olderThan?: Duration | undefined;
  /** Sessions that were made and last changed before then go. None do when left out. */
  readonly sessionsOlderThan?: Duration | undefined;
  /** Of those, only sessions with this tag. Forks have the tags of what they were forked from. */
  readonly tag?: string | undefined;
  /** Of those, not the ones with this tag. */
  readonly keepTag?: string | undefined;
  /** Who says so, for the erasure log; "user" when left out. */
  readonly by?: string | undefined;
  readonly onEvent?: (() => void) | undefined;
}

/** What went, or would. */
export interface GcReport {
  readonly dryRun: boolean;
  /** Sessions that were let go. */
  readonly sessions: readonly string[];
  /** Logs in all: with those of their runs, answers and signals. */
  readonly logs: number;
  /** Sessions that are old enough and stay, since others that stay were made with them. */
  readonly held: readonly string[];
  /** How many contents, and the bytes they took in the store. Undefined when the store cannot remove any. */
  readonly blobs: number | undefined;
  readonly bytes: number;
  /** Entries of erasures that had been interrupted and are finished now. */
  readonly finished: readonly string[];
  /**
   * Entries of erasures that are still open: the files of the store may hold what was removed. Why, `EraseReport.scrubbed` says. None
   * in a dry run.
   */
  readonly open: readonly string[];
  /** The entry that says which sessions went. */
  readonly entry: string | undefined;
}

/** What others are writing now is not named by any event yet. */
const youngestMs = 3_600_000;

export async function collectGarbage(runtime: Runtime, options: GcOptions = {}): Promise<GcReport> {
  const { dryRun = false, olderThan = "1d", onEvent, ...retention } = givenGc(options);
  const store = await runtime.store();
  const finished = dryRun ? (await unfinished(runtime)).map(({ id }) => id) : await finishErasures(runtime);
  const went = await letGo(runtime, { ...retention, dryRun });
  const home = runtime.sandboxes.places.home();
  const swept = await sweepStore(store, {
    platform: runtime.platform,
    before: new Date(Date.parse(runtime.platform.time()) - durationMs(olderThan)),
    dryRun,
    without: dryRun ? went.removed : new Set(),
    // Asked for before any memory is removed: whoever read it may rely on it still.
    trees: home === undefined ? [] : await rememberedTrees(home),
    onEvent,
  });
  // They may name what was swept.
  if (home !== undefined && !dryRun && swept !== undefined && swept.blobs > 0) await forgetCaptures(home);
  const { sessions, held, entry } = went;
  const open = dryRun ? [] : (await unfinished(runtime)).map(({ id }) => id);
  return { dryRun, sessions, logs: went.removed.size, held, blobs: swept?.blobs, bytes: swept?.bytes ?? 0, finished, open, entry };
}

const known = ["dryRun", "olderThan", "sessionsOlderThan", "tag", "keepTag", "by", "onEvent"] as const;

function givenGc(options: GcOptions): GcOptions {
  const { olderThan = "1d", sessionsOlderThan, tag, keepTag, by, dryRun } = givenOptions(options, known, "gc");
  if (dryRun !== undefined && typeof dryRun !== "boolean") throw unsupported("gc.dryRun", "is neither true nor false", "give one of them");
  for (const [field, age] of Object.entries({ olderThan, sessionsOlderThan }))
    if (age !== undefined && durationMs(givenText(age, `gc.${field}`) as Duration) < youngestMs)
      throw unsupported(`gc.${field}`, "is less than 1h", "what is being written now is not named by any session yet");
  for (const [field, value] of Object.entries({ tag, keepTag, by })) if (value !== undefined) givenName(value, `gc.${field}`);
  if (sessionsOlderThan === undefined && (tag !== undefined || keepTag !== undefined))
    throw unsupported("gc.sessionsOlderThan", "is missing", "tags choose among sessions of an age: say which");
  return options;
}

export interface SweepStoreOptions {
  readonly platform: Platform;
  readonly before: Date;
  readonly dryRun: boolean;
  /** Trees that stay though no event names them. */
  readonly trees?: readonly string[] | undefined;
  /** Logs that count as gone. */
  readonly without?: ReadonlySet<string> | undefined;
  readonly onEvent?: (() => void) | undefined;
}

export interface Swept {
  readonly blobs: number;
  /** As they lay in the store. */
  readonly bytes: number;
}

/** What was removed, or would be; undefined when the store cannot do it. */
export async function sweepStore(store: Store, options: SweepStoreOptions): Promise<Swept | undefined> {
  if (store.sweep === undefined) return undefined;
  const { before, dryRun, trees = [], platform, without, onEvent = () => {} } = options;
  const found = new Reachable(store);
  for (const tree of trees) await found.addKnownTree(tree);
  const keeping = async (events: AsyncIterable<StoredEvent>): Promise<(hash: string) => boolean> => {
    for await (const { id, session, data } of events) {
      onEvent();
      if (data !== undefined && without?.has(session) !== true) await found.addText(dataText(platform, data), id);
    }
    return (hash) => found.blobs.has(hash);
  };
  let [blobs, bytes] = [0, 0];
  for await (const gone of store.sweep({ before: before.toISOString(), dryRun, keeping })) {
    blobs++;
    bytes += gone.bytes;
  }
  return { blobs, bytes };
}

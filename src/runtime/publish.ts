/** Publishing: what is staged among the ancestors of a place becomes visible to all, if nobody changed it meanwhile. */
import type { MemoryWrite } from "../memory/memory.ts";
import type { DataOf } from "../session/event.ts";
import { type State, stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { MemoryItem } from "../session/memory.ts";
import { type Staged, stagedAt } from "../session/remembered.ts";
import { textOfThrown } from "../session/thrown.ts";
import { checkOf } from "../session/views.ts";
import { fromBytes } from "./embedding.ts";
import type { Memories } from "./memories.ts";
import { OwnWrites, writeMemory } from "./write-memory.ts";

export type Published = DataOf<"memory.published">;

/** What a run publishes where it ended; undefined when it staged nothing. A store that fails does not undo the run: that is on record. */
export async function publishAt(
  memories: Memories,
  place: Node,
  by: Publishing,
  warn: (problem: string) => void,
): Promise<Published | undefined> {
  const state = stateOf(place);
  if (state.writes === undefined || state.rejected !== undefined) return undefined;
  const published = await publish(memories, state, by).catch(
    (error: unknown): Published => ({ revision: 0, items: [], problem: textOfThrown(error) }),
  );
  for (const problem of published === undefined ? [] : problemsOf(published)) warn(problem);
  return published;
}

/** The run that publishes. */
interface Publishing {
  readonly run: string;
  readonly rerun: boolean;
}

/** The same where somebody asks for it: what fails is thrown. */
export async function publish(memories: Memories, state: State, by?: Publishing): Promise<Published | undefined> {
  const { rerun = false } = by ?? {};
  const fresh = await memories.stagedFor(state, Number.MAX_SAFE_INTEGER);
  const staged = by === undefined ? fresh : [...writtenBefore(memories, state, fresh, by), ...fresh];
  const own = new OwnWrites(state);
  const wanted: Staged[] = [];
  for (const one of staged) if (one.publish !== "never" && !(await wasNever(memories, own, one))) wanted.push(one);
  if (wanted.length === 0) return undefined;
  const waiting = wanted.map((one) => ({ one, reason: rerun ? "a rerun publishes nothing by itself" : heldBy(one, state, memories) }));
  const held = waiting.flatMap(({ one: { item }, reason }) => (reason === undefined ? [] : [{ uri: item.uri, event: item.event, reason }]));
  const ready = waiting.flatMap(({ one, reason }) => (reason === undefined ? [one] : []));
  const { revision, written, refused } = await writeMemory(
    memories,
    own,
    ready.map((one) => toWrite(one, memories)),
  );
  const byEvent = new Map(ready.map((one) => [one.item.event, one]));
  for (const record of written) {
    const one = byEvent.get(record.event);
    if (one !== undefined) memories.knowPublished(one.node, record.revision);
  }
  // Somebody else wrote the same: nothing is lost.
  const changed = refused.filter(({ item, current }) => !isSame(item, current));
  return {
    revision,
    items: written.map(({ uri, version, event }) => ({ uri, version, event })),
    ...(held.length === 0 ? {} : { held }),
    ...(changed.length === 0
      ? {}
      : {
          refused: changed.map(({ item, current }) => ({
            uri: item.uri,
            event: item.event,
            based: byEvent.get(item.event)?.based ?? 0,
            current: current?.version ?? 0,
          })),
        }),
  };
}

/** What the run had published when it was interrupted is written again, which is once, and is on its record then. */
function writtenBefore({ platform }: Memories, state: State, fresh: readonly Staged[], { run }: Publishing): readonly Staged[] {
  const known = new Set(fresh);
  return [...stagedAt(state, platform).values()].filter(
    (one) => one.node.run === run && !known.has(one) && one.node.data<"remember.returned">(platform)?.published === undefined,
  );
}

/** What was remembered and forgotten again before anybody else saw it was never there. */
async function wasNever(memories: Memories, own: OwnWrites, { item, forgotten, based }: Staged): Promise<boolean> {
  if (!forgotten || based !== 0) return false;
  for await (const newest of (await memories.store()).list({ uri: item.uri })) if (own.has(newest)) return false;
  return true;
}

/** Why it is not published yet. */
function heldBy({ publish }: Staged, state: State, { platform }: Memories): string | undefined {
  if (typeof publish !== "object") return undefined;
  for (let at = state.checks; at !== undefined; at = at.before) {
    const { name, passed } = checkOf(at.node, platform);
    if (name === publish.check) return passed ? undefined : `the check "${name}" has not passed`;
  }
  return `the check "${publish.check}" was not made`;
}

function toWrite({ item, based, forgotten, node }: Staged, { platform }: Memories): MemoryWrite {
  const stored = node.data<"remember.returned">(platform)?.vector;
  const vector = stored === undefined ? undefined : { model: stored.model, values: fromBytes(stored.values) };
  return { item: { ...item, state: forgotten ? "retracted" : "published" }, based, vector };
}

function isSame(item: MemoryItem, current: MemoryItem | undefined): boolean {
  return current !== undefined && current.state === item.state && current.content === item.content;
}

/** What a person should know of it. */
export function problemsOf({ refused = [], problem }: Published): readonly string[] {
  return [
    ...(problem === undefined
      ? []
      : [`What was remembered could not be published: ${problem}. Publish it later with rath.memory.publish(session).`]),
    ...refused.map(
      ({ uri, based, current }) =>
        `${uri} was not published: somebody else changed it meanwhile (version ${current}; this one was based on ${based}). Recall it, and remember again what holds.`,
    ),
  ];
}

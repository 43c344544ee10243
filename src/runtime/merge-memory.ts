/** The memory of a merge: three ways for each name, from the best common ancestor; what both sides wrote differently is a conflict. */
import { RathError } from "../session/errors.ts";
import { callOf, list, stateOf } from "../session/fold.ts";
import { current, isAncestor, type Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { type Stage, type Staged, stagedAt } from "../session/remembered.ts";
import type { Conflict, Session } from "../session/session.ts";
import { lowest } from "../session/trust.ts";
import { placeOf } from "../session/value.ts";
import { bases } from "./merge.ts";
import type { Choice, Contested } from "./settle.ts";

/** A name that two branches wrote differently. */
export interface MemoryConflict {
  /** The uri; when several branches wrote it differently, numbered. */
  readonly name: string;
  readonly base: Staged | undefined;
  readonly ours: Staged;
  readonly theirs: Staged;
}

/** What a merge makes of memory. */
export interface MergedMemory {
  readonly conflicts: readonly MemoryConflict[];
  /** The write that holds of each name that both sides have: the order of events does not say it. */
  readonly settled: ReadonlyMap<string, Staged>;
}

/** Folds the writes of the others into the receiver's, in their order. */
export function mergeMemory(platform: Platform, head: Node, others: readonly Node[]): MergedMemory {
  const ours = new Map(stagedAt(stateOf(head), platform));
  const conflicts: MemoryConflict[] = [];
  const settled = new Map<string, Staged>();
  for (const other of others) {
    const state = stateOf(other);
    // A rejected branch teaches nothing.
    if (state.rejected !== undefined || list(state.writes).every((write) => isAncestor(write, head))) continue;
    const base = baseOf(platform, head, other);
    for (const [uri, theirs] of stagedAt(state, platform)) {
      const [was, mine] = [base.get(uri), ours.get(uri)];
      const taken = mine === undefined || (isSame(mine, was) && !isSame(theirs, was));
      if (taken) ours.set(uri, theirs);
      if (mine === undefined || mine === theirs) continue;
      settled.set(uri, taken ? theirs : mine);
      if (taken || isSame(theirs, was) || isSame(theirs, mine)) continue;
      const before = conflicts.filter((one) => one.theirs.item.uri === uri).length;
      conflicts.push({ name: before === 0 ? uri : `${uri} (${before + 1})`, base: was, ours: mine, theirs });
    }
  }
  return { conflicts, settled };
}

function baseOf(platform: Platform, ours: Node, theirs: Node): Pick<Stage, "get"> {
  const found = bases(ours, theirs);
  const stages = found.map((base) => stagedAt(stateOf(base), platform));
  if (new Set(stages.map(textOf)).size > 1)
    throw new RathError(
      "merge.refused",
      `These branches cannot be merged: they have ${found.length} best common ancestors that differ in memory (${found.map(({ id }) => id.slice(0, 12)).join(", ")}). Merge those first.`,
      { details: { bases: found.map(({ id }) => id) } },
    );
  return stages[0] ?? new Map();
}

function textOf(stage: Stage): string {
  return JSON.stringify([...stage].map(([uri, { item, forgotten }]) => [uri, item.content, forgotten]).sort());
}

/** What was remembered and forgotten again before anybody else saw it was never there. */
function isSame(a: Staged, b: Staged | undefined): boolean {
  const [first, second] = [a, b].map((staged) => (staged?.forgotten === true && staged.based === 0 ? undefined : staged));
  return first === second || (first?.forgotten === second?.forgotten && first?.item.content === second?.item.content);
}

/** As users see it, and as it is shown to whoever settles it. */
export function contestedMemory({ name, base, ours, theirs }: MemoryConflict): Contested {
  const [was, mine, other] = [base, ours, theirs].map((staged) => (staged === undefined || staged.forgotten ? null : staged.item.content));
  const conflict: Conflict = {
    kind: "memory",
    key: ours.item.key,
    uri: ours.item.uri,
    ...(typeof was === "string" ? { base: was } : {}),
    ...(typeof mine === "string" ? { ours: mine } : {}),
    ...(typeof other === "string" ? { theirs: other } : {}),
  };
  const problem = ours.forgotten || theirs.forgotten ? "forgotten on one side" : "content";
  const trust = lowest([base, ours, theirs].flatMap((staged) => staged?.item.trust ?? []));
  return { name, problem, conflict, trust, texts: async () => ({ base: was ?? null, ours: mine ?? null, theirs: other ?? null }) };
}

/** Which write of each name holds after the merge. */
export function settledMemory(
  { conflicts, settled: known }: MergedMemory,
  choices: ReadonlyMap<string, Choice>,
): readonly { readonly uri: string; readonly event: string }[] | undefined {
  const settled = new Map(known);
  for (const { name, ours, theirs } of conflicts) settled.set(ours.item.uri, choices.get(name) === "theirs" ? theirs : ours);
  return settled.size === 0 ? undefined : [...settled].map(([uri, staged]) => ({ uri, event: eventOf(staged) }));
}

/** The call that wrote something, as it is called now: its branch may have moved. */
function eventOf({ node }: Staged): string {
  return callOf(current(node)).id;
}

/** What somebody wrote in the place of both is remembered after the merge, because of both and of what they were told by. */
export async function rememberChoices(
  session: Session,
  conflicts: readonly MemoryConflict[],
  choices: ReadonlyMap<string, Choice>,
  told: readonly string[],
): Promise<Session> {
  let at = session;
  for (const { name, ours, theirs } of conflicts) {
    const choice = choices.get(name);
    if (typeof choice !== "object") continue;
    const { key, scope, owner } = ours.item;
    const because = [eventOf(ours), eventOf(theirs), ...told];
    at = await placeOf(at).context.host.remember(at, { key, scope, content: choice.content, because }, { owner });
  }
  return at;
}

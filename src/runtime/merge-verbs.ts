/** Merging as sessions ask for it: conversation, files and memory in one event, after what conflicts was settled. */
import { stateOf } from "../session/fold.ts";
import type { Context } from "../session/host.ts";
import { TreeName } from "../session/json.ts";
import { current, type Node } from "../session/log.ts";
import type { Conflict, MergeOptions, Session } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import { emptyTree } from "../workspace/tree.ts";
import { freshIn } from "./acting.ts";
import type { Execution } from "./execution.ts";
import { type FilesOfMerge, freshAmong, mergeInto } from "./merge.ts";
import { contestedMemory, mergeMemory, rememberChoices, settledMemory } from "./merge-memory.ts";
import type { Sandboxes } from "./sandboxes.ts";
import { type Choice, type Contested, settle } from "./settle.ts";

/** Who receives a merge. */
interface Receiver {
  readonly session: Session;
  readonly node: Node;
  readonly context: Context;
  readonly execution: Execution;
}

/** Outside a workflow the value leaves at once: it is on disk before anybody holds it. */
export async function mergeBranches(...merging: Parameters<typeof merged>): Promise<Session> {
  const [, { session, context, execution }] = merging;
  const value = await merged(...merging);
  if (value === session || execution.mode !== "effects" || !("run" in context.scope)) return value;
  const { node } = placeOf(value);
  execution.record(node);
  await execution.writer.flush(execution.runtime.relaxed);
  return current(node) === node ? value : new SessionValue(current(node), context);
}

/** Claims the receiver's head before it waits for anything. */
async function merged(
  sandboxes: Sandboxes,
  { session, node, context, execution }: Receiver,
  others: { readonly places: readonly Node[]; readonly sessions: readonly Session[] },
  options: MergeOptions,
): Promise<Session> {
  const { places, sessions } = others;
  const { by, scope } = context;
  const fresh = freshAmong(node, places);
  const memories = mergeMemory(sandboxes.platform, node, fresh);
  if (memories.conflicts.length === 0 && (fresh.length === 0 || !haveFiles([node, ...fresh]))) {
    const memory = settledMemory(memories, new Map());
    const into = mergeInto(execution, node, places, by, scope, options, sessions, { memory });
    return into === node ? session : new SessionValue(into, context);
  }
  const { stillness } = execution;
  const release = hold(node);
  try {
    const files = await stillness.during(filesOf(sandboxes, node, fresh));
    const contested = [...files.contested, ...memories.conflicts.map(contestedMemory)];
    const asks = contested.length > 0 && (options.conflicts === "ask" || typeof options.conflicts === "object");
    // What is asked goes on where the receiver is.
    if (asks) release();
    const settling = settle(session, contested, options.conflicts);
    const { choices, session: asked, told } = await (asks ? settling : stillness.during(settling));
    const at = placeOf(asked).node;
    const settled = await stillness.during(files.settled(at, choices));
    release();
    const memory = settledMemory(memories, choices);
    // Branches may have moved meanwhile.
    const into = mergeInto(execution, current(at), places.map(current), by, scope, options, sessions, { files: settled?.files, memory });
    if (settled !== undefined) sandboxes.objects.goWith(into, settled.objects);
    return await rememberChoices(new SessionValue(into, context), memories.conflicts, choices, told === undefined ? [] : [told]);
  } finally {
    release();
  }
}

interface Merging {
  readonly contested: readonly Contested[];
  /** What is stored of the files, once conflicts are settled; nothing where there are none. */
  settled(
    at: Node,
    choices: ReadonlyMap<string, Choice>,
  ): Promise<{ readonly files: FilesOfMerge; readonly objects: ReadonlyMap<string, Uint8Array> } | undefined>;
}

async function filesOf(sandboxes: Sandboxes, node: Node, fresh: readonly Node[]): Promise<Merging> {
  if (!haveFiles([node, ...fresh])) return { contested: [], settled: async () => undefined };
  const own = sandboxes.objects.own();
  const trees = sandboxes.trees.over(own);
  const { contestedFile, mergeFiles, withChoices } = await import("./merge-files.ts");
  const merged = await mergeFiles(sandboxes, trees, node, fresh);
  return {
    contested: merged.conflicts.map((conflict) => contestedFile(trees, conflict)),
    settled: async (at, choices) => {
      const { tree, resolved } = await withChoices(trees, merged, choices);
      const before = sandboxes.knownTreeAt(stateOf(at)) ?? emptyTree;
      const objects = own.among(await freshIn(trees, before, tree));
      return { files: { ...(resolved.length === 0 ? {} : { resolved }), tree: new TreeName(tree, objects) }, objects };
    },
  };
}

/** Nobody continues the branch meanwhile: whoever tries, forks. Gives back what ends that. */
function hold(node: Node): () => void {
  const { log } = node;
  // What is behind a place that was continued before is nobody's here.
  let held = log.tip === node;
  if (held) log.open++;
  return () => {
    if (held) log.open--;
    held = false;
  };
}

/** What a merge would have to decide. */
export async function conflictsOf(sandboxes: Sandboxes, node: Node, places: readonly Node[]): Promise<readonly Conflict[]> {
  const fresh = freshAmong(node, places);
  const { conflicts } = mergeMemory(sandboxes.platform, node, fresh);
  const { contested } = await filesOf(sandboxes, node, fresh);
  return [...contested, ...conflicts.map(contestedMemory)].map(({ conflict }) => conflict);
}

/** True when any of these has files to merge. */
function haveFiles(places: readonly Node[]): boolean {
  return places.some((place) => stateOf(place).files !== undefined);
}

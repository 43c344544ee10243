/** Where memories come from: the events that wrote them, what justified those, and the memories that were read before. */
import type { MemoryItem, MemoryRecord } from "../memory/memory.ts";
import { stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import { readVersionName } from "../session/memory-uri.ts";
import { versionName, writesOf } from "../session/remembered.ts";
import { hitsRead } from "./why-evidence.ts";
import { inside, type Step, stepTo, type Tracing } from "./why-step.ts";
import { decisionWords, itemWords, wordsOf } from "./why-words.ts";

/** The event that wrote a memory, with what was decided about it since. */
export async function originOfMemory(tracing: Tracing, item: MemoryItem): Promise<readonly Step[]> {
  const versions = await versionsOf(tracing, item.uri);
  let origin: MemoryItem = item;
  // What people decide outside a session is a version too: it names the one it was made of.
  for (let tries = versions.length; origin.session === undefined && tries > 0; tries--) {
    const before = origin.from.map(readVersionName).findLast(({ uri }) => uri === item.uri)?.version;
    const made = versions.find(({ version }) => version === before);
    if (made === undefined) break;
    origin = made;
  }
  const node = await tracing.finder.find(origin.event);
  const words = [itemWords(origin), ...decisionWords(versions.filter(({ version }) => version > origin.version))].join("; ");
  // Where the session that wrote it is not in this store, its evidence may be.
  return node === undefined
    ? justifiedBy(tracing, origin)
    : [stepTo("wrote", node, { words, item: origin, evidence: { memories: [versionName(origin)] } })];
}

async function versionsOf({ runtime }: Tracing, uri: string): Promise<readonly MemoryRecord[]> {
  const found: MemoryRecord[] = [];
  for await (const record of (await runtime.memories.store()).list({ uri, asOf: "all" })) found.push(record);
  return found;
}

/** The events that justify a memory, and the memories that were read before it was written. */
export async function evidenceOf(tracing: Tracing, item: MemoryItem, call: Node): Promise<readonly Step[]> {
  const steps = [...(await justifiedBy(tracing, item))];
  const staged = writesOf(stateOf(call), tracing.runtime.platform);
  for (const name of item.from) {
    const { uri, version } = readVersionName(name);
    const read =
      staged.find((write) => versionName(write) === name) ?? (await versionsOf(tracing, uri)).find((record) => record.version === version);
    if (read === undefined) continue;
    for (const step of await originOfMemory(tracing, read))
      steps.push({ ...step, words: `${step.words}; was read before ${versionName(item)} was written` });
  }
  return steps;
}

async function justifiedBy(tracing: Tracing, item: MemoryItem): Promise<readonly Step[]> {
  const { platform } = tracing.runtime;
  const steps: Step[] = [];
  for (const id of item.because) {
    const node = await tracing.finder.find(id);
    if (node === undefined) continue;
    const result = node.kind.endsWith(".called") ? tracing.finder.resultOf(node) : undefined;
    steps.push(stepTo("justified", node, { words: wordsOf(result ?? node, platform) }));
    // A call is named for what came of it.
    if (result !== undefined) steps.push(...inside(result));
  }
  return steps;
}

/** What was recalled leads to the events that wrote it; of what is given to a model only that which it read. */
export async function recalledBy(tracing: Tracing, node: Node): Promise<readonly Step[]> {
  const steps: Step[] = [];
  for (const hit of hitsRead(node, tracing.runtime.platform)) steps.push(...(await originOfMemory(tracing, hit)));
  return steps;
}

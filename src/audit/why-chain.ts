/** The steps from an event back to what led to it, nearest first, each event once. */
import type { MemoryItem, MemoryRecord } from "../memory/memory.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { isStarted } from "../session/event.ts";
import { callOf, callUnder, list, stateOf } from "../session/fold.ts";
import { isAncestor, type Node } from "../session/log.ts";
import { readVersionName } from "../session/memory-uri.ts";
import { stagedBy, versionName, writesOf } from "../session/remembered.ts";
import type { WhyHop } from "../session/why.ts";
import type { EventFinder } from "./find-event.ts";
import { droppedBy, readBy } from "./why-context.ts";
import { decisionWords, itemWords, readWords, wordsOf } from "./why-words.ts";

/** One step back; what is a leaf is named and not followed. */
export interface Step {
  readonly relation: WhyHop["relation"];
  readonly node: Node;
  readonly words: string;
  readonly leaf?: boolean | undefined;
  /** The memory that the event wrote. */
  readonly item?: MemoryItem | undefined;
}

export interface Tracing {
  readonly runtime: Runtime;
  readonly finder: EventFinder;
}

/** Of the results a model had read, so many of the newest are named; its call says how many there were. */
const namedResults = 20;

export async function trace(
  tracing: Tracing & { readonly most: number },
  starts: readonly Step[],
): Promise<{ readonly hops: readonly WhyHop[]; readonly more: boolean }> {
  const { platform } = tracing.runtime;
  const hops: WhyHop[] = [];
  const waiting = [...starts];
  // Somebody may ask about an event that its own past leads to only by way of itself: each is followed once.
  const followed = new Set<string>();
  const named = new Set<string>();
  for (let index = 0; index < waiting.length; index++) {
    const { relation, node, words, leaf, item } = waiting[index] as Step;
    if (!named.has(node.id)) {
      if (hops.length >= tracing.most) return { hops, more: true };
      named.add(node.id);
      hops.push(Object.freeze({ relation, event: node.event(platform), summary: words }));
    }
    if (leaf === true || followed.has(node.id)) continue;
    followed.add(node.id);
    waiting.push(...(await nextOf(tracing, node, item)));
  }
  return { hops, more: false };
}

/** What led to an event directly. */
export async function nextOf(tracing: Tracing, node: Node, item?: MemoryItem): Promise<readonly Step[]> {
  const { finder, runtime } = tracing;
  switch (node.kind) {
    case "tool.called":
    case "tool.started":
    case "tool.returned":
    case "do.called":
    case "do.started":
    case "do.returned":
    case "check.called":
    case "check.returned":
    case "route.called":
    case "route.returned":
    case "ask.called":
    case "ask.returned":
    case "receive.called":
    case "receive.returned": {
      const call = node.kind.endsWith(".called") ? node : callOf(node);
      const result = node === call ? finder.resultOf(call) : node;
      return [
        ...(await decisionsOn(tracing, call, result)),
        ...(await sentTo(tracing, result)),
        ...inside(tracing, node),
        ...(await callersOf(tracing, call)),
      ];
    }
    case "model.returned":
      return [modelStep(tracing, callOf(node))];
    case "model.called":
      return [...contextOf(tracing, node), ...(await around(tracing, node))];
    case "recall.called":
      return [];
    case "recall.returned":
      return recalledBy(tracing, node);
    case "remember.called":
    case "forget.called":
    case "remember.returned":
    case "forget.returned": {
      const call = node.kind.endsWith(".called") ? node : callOf(node);
      const result = finder.resultOf(call);
      const written = item ?? (result === undefined ? undefined : stagedBy(result, runtime.platform)?.item);
      return [...(written === undefined ? [] : await evidenceOf(tracing, written, call)), ...(await around(tracing, node))];
    }
    case "context.compressed":
      return replacedBy(tracing, node);
    case "agent.stopped": {
      const { said } = stateOf(node);
      return said === undefined ? [] : [spoken(tracing, "wrote", said)];
    }
    case "answer.given":
    case "signal.sent":
      return [];
    default:
      return around(tracing, node);
  }
}

// ── calls ──

/** Who called: the reply of a model, or code, which is inside something else or the program's own. */
async function callersOf(tracing: Tracing, call: Node): Promise<readonly Step[]> {
  const { platform } = tracing.runtime;
  const byModel = call.kind === "tool.called" && call.data<"tool.called">(platform)?.index !== undefined;
  const reply = byModel ? stateOf(call).said : undefined;
  return reply === undefined ? around(tracing, call) : [spoken(tracing, "called", reply)];
}

/** The call that an event happened inside, who let it happen and who made it. */
async function around(tracing: Tracing, node: Node): Promise<readonly Step[]> {
  const call = callAround(node);
  if (call === undefined) return [];
  return [...(await decisionsOn(tracing, call, tracing.finder.resultOf(call))), ...(await callersOf(tracing, call))];
}

function callAround(node: Node): Node | undefined {
  const scope = node.log.fork?.scope;
  if (scope === undefined || !("call" in scope)) return node.log.origin === undefined ? undefined : callAround(node.log.origin);
  for (let at: Node | undefined = node; at !== undefined; at = at.log.first?.parent ?? at.log.origin) {
    const call = isStarted(at.kind) ? callUnder(at) : at;
    if (call.id === scope.call) return call;
  }
  return undefined;
}

/** What people decided about a call: whether it may happen, or what became of it. */
async function decisionsOn({ finder, runtime }: Tracing, call: Node, result: Node | undefined): Promise<readonly Step[]> {
  const { platform } = runtime;
  const waited = call.kind === "ask.called" || (call.kind === "tool.called" && call.data<"tool.called">(platform)?.approval !== undefined);
  const named = result?.data<"do.returned">(platform)?.answer;
  const answers = [
    ...(waited ? [await finder.answerTo(call)] : []),
    ...(named === undefined ? [] : [await answerNamed(finder, named, result)]),
  ];
  return answers.flatMap((answer): readonly Step[] => {
    if (answer === undefined) return [];
    const relation = answer.data<"answer.given">(platform)?.approve === true ? "approved" : "decided";
    return [{ relation, node: answer, words: wordsOf(answer, platform), leaf: true }];
  });
}

/** The signal that a `receive` took. */
async function sentTo({ finder, runtime }: Tracing, result: Node | undefined): Promise<readonly Step[]> {
  const named = result?.kind === "receive.returned" ? result.data<"receive.returned">(runtime.platform)?.signal : undefined;
  const signal = named === undefined ? undefined : await finder.find(named);
  return signal === undefined ? [] : [{ relation: "sent", node: signal, words: wordsOf(signal, runtime.platform), leaf: true }];
}

/** An answer lies in a log of its own, named after what it answers: the call, or a mark that it was started. */
async function answerNamed(finder: EventFinder, id: string, result: Node | undefined): Promise<Node | undefined> {
  const [known] = finder.startingWith(id);
  if (known !== undefined || result === undefined) return known;
  const call = callOf(result);
  for (let at: Node | undefined = result.prior; at !== undefined; at = at.prior) {
    if (at === call || (isStarted(at.kind) && callOf(at) === call)) {
      const answer = await finder.answerTo(at);
      if (answer?.id === id) return answer;
    }
    if (at === call) break;
  }
  return undefined;
}

/** What work inside an effect said last, and what it recalled: that is what its result was made of. */
function inside(tracing: Tracing, node: Node): readonly Step[] {
  return node.parents.slice(1).flatMap((end) => {
    const { said } = stateOf(end);
    const own = said !== undefined && !isAncestor(said, callOf(node)) ? [spoken(tracing, "wrote", said)] : [];
    return [...own, ...recalledInside(tracing, node)];
  });
}

function recalledInside({ runtime }: Tracing, node: Node): readonly Step[] {
  if (node.kind !== "tool.returned" || node.parents.length < 2) return [];
  const call = callOf(node);
  const reads = node.parents.slice(1).flatMap((end) => list(stateOf(end).reads).filter((read) => !isAncestor(read, call)));
  return reads.map((read): Step => ({ relation: "was-in-context", node: read, words: wordsOf(read, runtime.platform) }));
}

function spoken({ runtime }: Tracing, relation: Step["relation"], reply: Node): Step {
  return { relation, node: reply, words: wordsOf(reply, runtime.platform) };
}

// ── what a model had read ──

function modelStep({ runtime }: Tracing, called: Node): Step {
  const { platform } = runtime;
  return { relation: "decided", node: called, words: `${wordsOf(called, platform)}, ${readWords(readBy(called, platform))}` };
}

/** Messages, what was recalled, merged branches, summaries and the newest results; what the model itself had said is not repeated. */
function contextOf(tracing: Tracing, called: Node): readonly Step[] {
  const { platform } = tracing.runtime;
  const steps: Step[] = [];
  const changed = called.data<"model.called">(platform)?.changed;
  const [hook] = changed === undefined ? [] : tracing.finder.startingWith(changed);
  if (hook !== undefined) steps.push({ relation: "was-in-context", node: hook, words: wordsOf(hook, platform), leaf: true });
  let results = 0;
  for (const node of [...readBy(called, platform)].reverse()) {
    const words = wordsOf(node, platform);
    switch (node.kind) {
      case "model.returned":
        break;
      case "tool.returned":
        if (results++ < namedResults) steps.push({ relation: "was-in-context", node, words, leaf: true });
        steps.push(...recalledInside(tracing, node));
        break;
      case "session.merged":
        steps.push({ relation: "was-in-context", node, words, leaf: true }, ...branchesOf(tracing, node));
        break;
      case "recall.returned":
      case "context.compressed":
        steps.push({ relation: "was-in-context", node, words });
        break;
      default:
        steps.push({ relation: "was-in-context", node, words, leaf: true });
    }
  }
  return steps;
}

/** What a model reads of merged branches is what each said last. */
function branchesOf(tracing: Tracing, merged: Node): readonly Step[] {
  return merged.parents.slice(1).flatMap((end) => {
    const { said } = stateOf(end);
    return said === undefined ? [] : [spoken(tracing, "was-in-context", said)];
  });
}

/** A summary leads to who wrote it, and to what it stands for. */
async function replacedBy({ runtime, finder }: Tracing, node: Node): Promise<readonly Step[]> {
  const { platform } = runtime;
  const replacement = node.data<"context.compressed">(platform)?.replacement;
  if (replacement === undefined || ("text" in replacement && isNote(replacement.text))) return [];
  const writer = "event" in replacement ? await finder.find(replacement.event, node.log.id) : undefined;
  return [
    ...(writer === undefined ? [] : [{ relation: "wrote", node: writer, words: wordsOf(writer, platform) } as const]),
    ...droppedBy(node, platform).map(
      (dropped): Step => ({
        relation: "was-in-context",
        node: dropped,
        words: wordsOf(dropped, platform),
        leaf: dropped.kind !== "recall.returned" && dropped.kind !== "context.compressed",
      }),
    ),
  ];
}

/** A text that only says how much is missing was not made of it. */
function isNote(text: string): boolean {
  return /^\[\d+ earlier messages? (?:is|are) not shown\]$|^Something earlier is not shown: /.test(text);
}

// ── memory ──

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
  const node = await tracing.finder.find(origin.event, origin.session);
  const words = [itemWords(origin), ...decisionWords(versions.filter(({ version }) => version > origin.version))].join("; ");
  // Where the session that wrote it is not in this store, its evidence may be.
  return node === undefined ? justifiedBy(tracing, origin) : [{ relation: "wrote", node, words, item: origin }];
}

async function versionsOf({ runtime }: Tracing, uri: string): Promise<readonly MemoryRecord[]> {
  const found: MemoryRecord[] = [];
  for await (const record of (await runtime.memories.store()).list({ uri, asOf: "all" })) found.push(record);
  return found;
}

/** The events that justify a memory, and the memories that were read before it was written. */
async function evidenceOf(tracing: Tracing, item: MemoryItem, call: Node): Promise<readonly Step[]> {
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
    steps.push({ relation: "justified", node, words: wordsOf(result ?? node, platform) });
    // A call is named for what came of it.
    if (result !== undefined) steps.push(...inside(tracing, result));
  }
  return steps;
}

/** What was recalled leads to the events that wrote it; of what is given to a model only that which it read. */
async function recalledBy(tracing: Tracing, node: Node): Promise<readonly Step[]> {
  const data = node.data<"recall.returned">(tracing.runtime.platform);
  const injected = node.facts.injected === true ? new Set(data?.injected) : undefined;
  const hits = (data?.value ?? []) as readonly MemoryItem[];
  const steps: Step[] = [];
  for (const hit of hits) if (injected?.has(versionName(hit)) !== false) steps.push(...(await originOfMemory(tracing, hit)));
  return steps;
}

/** From an event back to what led to it, nearest first. */
import type { MemoryItem } from "../memory/memory.ts";
import { isStarted } from "../session/event.ts";
import { callOf, callUnder, stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import { stagedBy } from "../session/remembered.ts";
import type { WhyHop } from "../session/why.ts";
import { evidenceIn } from "./why-evidence.ts";
import { filesJudged, filesNamed, settledBy } from "./why-files.ts";
import { evidenceOf, recalledBy } from "./why-memory.ts";
import { branchesOf, contextOf, modelStep, replacedBy } from "./why-read.ts";
import { inside, type Step, stepTo, type Tracing } from "./why-step.ts";
import { wordsOf } from "./why-words.ts";

/**
 * Each event once for each way in which it led to others, and followed once. Where words are asked about, what models had read that
 * does not have them comes last: in a long session it would fill all hops there may be.
 */
export async function trace(
  tracing: Tracing,
  starts: readonly Step[],
  most: number,
): Promise<{ readonly hops: readonly WhyHop[]; readonly more: boolean }> {
  const hops: (WhyHop & { readonly explains: number[] })[] = [];
  const placeOf = new Map<string, number>();
  // Somebody may ask about an event that its own past leads to only by way of itself.
  const followed = new Set<string>();
  const waiting = new Waiting(tracing.words);
  for (const step of starts) waiting.add(step, -1);
  for (let next = waiting.next(); next !== undefined; next = waiting.next()) {
    tracing.signal?.throwIfAborted();
    const { step, explained } = next;
    const name = `${step.relation} ${step.node.id}`;
    const known = placeOf.get(name);
    if (known === undefined && hops.length >= most) return { hops: hops.map(frozen), more: true };
    const place = known ?? hops.push(hopOf(tracing, step)) - 1;
    placeOf.set(name, place);
    const { explains } = hops[place] as (typeof hops)[number];
    if (explained >= 0 && explained !== place && explains.at(-1) !== explained && !explains.includes(explained)) explains.push(explained);
    if (known === undefined) for (const led of step.next ?? []) waiting.add(led, place);
    if (step.leaf === true || followed.has(step.node.id)) continue;
    followed.add(step.node.id);
    for (const led of await nextOf(tracing, step.node, step.item)) waiting.add(led, place);
  }
  return { hops: hops.map(frozen), more: false };
}

/** A step, and the place of the hop it explains. */
interface WaitingStep {
  readonly step: Step;
  readonly explained: number;
}

/** Steps that are still to be taken: the nearest first, once those are taken that are about the words. */
class Waiting {
  readonly #words: string | undefined;
  readonly #first: WaitingStep[] = [];
  readonly #last: WaitingStep[] = [];
  #firstTaken = 0;
  #lastTaken = 0;

  constructor(words: string | undefined) {
    this.#words = words;
  }

  add(step: Step, explained: number): void {
    const onlyRead = step.relation === "was-in-context" || step.relation === "compressed";
    const last = this.#words !== undefined && onlyRead && step.evidence?.words === undefined;
    (last ? this.#last : this.#first).push({ step, explained });
  }

  next(): WaitingStep | undefined {
    return this.#firstTaken < this.#first.length ? this.#first[this.#firstTaken++] : this.#last[this.#lastTaken++];
  }
}

function hopOf({ runtime: { platform } }: Tracing, { relation, node, words, evidence }: Step): WhyHop & { readonly explains: number[] } {
  // Of the reply that was asked about it goes without saying.
  const at = relation === "wrote" ? undefined : evidence?.words?.at;
  return {
    relation,
    explains: [],
    event: node.event(platform),
    summary: `${words ?? wordsOf(node, platform)}${at === undefined ? "" : `; has the words at ${at}`}`,
    evidence: Object.freeze({ ...evidenceIn(node, platform), ...evidence }),
  };
}

function frozen(hop: WhyHop): WhyHop {
  return Object.freeze({ ...hop, explains: Object.freeze(hop.explains) });
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
    case "receive.returned":
      return effectSteps(tracing, node);
    case "model.returned":
      return [modelStep(tracing, node)];
    case "model.called":
      return [...(await contextOf(tracing, node)), ...(await around(tracing, node))];
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
    case "session.merged":
      return [...settledBy(tracing, node), ...branchesOf(tracing, node), ...(await around(tracing, node))];
    case "agent.stopped": {
      const { said } = stateOf(node);
      return said === undefined ? [] : [stepTo("wrote", said)];
    }
    case "answer.given":
    case "signal.sent":
      return [];
    default:
      return around(tracing, node);
  }
}

/** What an effect was made of, who let it happen and who asked for it. */
async function effectSteps(tracing: Tracing, node: Node): Promise<readonly Step[]> {
  const call = node.kind.endsWith(".called") ? node : callOf(node);
  const result = node === call ? tracing.finder.resultOf(call) : node;
  return [
    ...(await decisionsOn(tracing, call, result)),
    ...(await sentTo(tracing, result)),
    ...inside(node),
    ...(call.kind === "tool.called" ? await filesNamed(tracing, call, result) : []),
    ...(call.kind === "check.called" ? filesJudged(tracing, call) : []),
    ...(await callersOf(tracing, call)),
  ];
}

/** Who called: the reply of a model, or code, which is inside something else or the program's own. */
async function callersOf(tracing: Tracing, call: Node): Promise<readonly Step[]> {
  const { platform } = tracing.runtime;
  const byModel = call.kind === "tool.called" && call.data<"tool.called">(platform)?.index !== undefined;
  const reply = byModel ? stateOf(call).said : undefined;
  return reply === undefined ? around(tracing, call) : [stepTo("called", reply)];
}

/** The call that an event happened inside, who let it happen and who made it. */
async function around(tracing: Tracing, node: Node): Promise<readonly Step[]> {
  const call = callAround(node);
  if (call === undefined) return [];
  return [...(await decisionsOn(tracing, call, tracing.finder.resultOf(call))), ...(await callersOf(tracing, call))];
}

function callAround(node: Node): Node | undefined {
  let from: Node | undefined = node;
  while (from !== undefined && scopeCall(from) === undefined) from = from.log.origin;
  const id = from === undefined ? undefined : scopeCall(from);
  for (let at = from; at !== undefined; at = at.log.first?.parent ?? at.log.origin) {
    const call = isStarted(at.kind) ? callUnder(at) : at;
    if (call.id === id) return call;
  }
  return undefined;
}

/** The call whose code forked the branch that an event lies in. */
function scopeCall({ log }: Node): string | undefined {
  const scope = log.fork?.scope;
  return scope !== undefined && "call" in scope ? scope.call : undefined;
}

/** What people decided about a call: whether it may happen, or what became of it. */
async function decisionsOn({ finder, runtime }: Tracing, call: Node, result: Node | undefined): Promise<readonly Step[]> {
  const { platform } = runtime;
  const waited = call.kind === "ask.called" || (call.kind === "tool.called" && call.data<"tool.called">(platform)?.approval !== undefined);
  const named = result?.data<"do.returned">(platform)?.answer;
  const answers = [...(waited ? [await finder.answerTo(call)] : []), ...(named === undefined ? [] : [await finder.find(named)])];
  return answers.flatMap((answer): readonly Step[] => {
    if (answer === undefined) return [];
    const relation = answer.data<"answer.given">(platform)?.approve === true ? "approved" : "decided";
    return [stepTo(relation, answer, { leaf: true })];
  });
}

/** The signal that a `receive` took. */
async function sentTo({ finder, runtime }: Tracing, result: Node | undefined): Promise<readonly Step[]> {
  const named = result?.kind === "receive.returned" ? result.data<"receive.returned">(runtime.platform)?.signal : undefined;
  const signal = named === undefined ? undefined : await finder.find(named);
  return signal === undefined ? [] : [stepTo("sent", signal, { leaf: true })];
}

/**
 * Why something is as it is: the events that led to it, step by step, back over tool calls, model calls, what the models had before
 * them, and the memories among that. What a model had read is said to have been in its context, never to be the cause.
 */
import type { MemoryItem } from "../memory/memory.ts";
import { flushBehind, runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { givenOptions } from "../session/given.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import type { Why, WhyHop } from "../session/why.ts";
import type { AskOptions } from "./ask-options.ts";
import type { WhyTarget } from "./why-target.ts";

export type { Why, WhyEvidence, WhyHop } from "../session/why.ts";
export type { WhyTarget } from "./why-target.ts";

/** Farther hops are left out; the text says so. */
export const mostHops = 500;
const idLength = 12;
const deepest = 20;

/**
 * The events that led to something, nearest first (of words, what else models had read comes last), each with the hops that it explains: of a line of a file, an answer or words in
 * it, an event, a call, a memory, a route, a check or a cost. Follows forks, merges, nested agents and summaries, and memories into the
 * sessions of this store that wrote them. Rejects with `session.not-found`, `memory.not-found` or `workspace.not-found` when there is
 * no such thing here.
 *
 * @example
 * const { hops } = await why(session, "src/add.ts:3");
 * for (const { relation, explains, event, summary } of hops) console.log(relation, explains, event.id, summary);
 * console.log(String(await why(session, { memory: "test-command" })));
 */
export async function why(session: Session, target: WhyTarget, options: AskOptions = {}): Promise<Why> {
  const runtime = runtimeOf(session);
  const { signal } = givenOptions(options, ["signal"], "why");
  await flushBehind(session);
  // Loaded when somebody asks: most programs that import the package never do.
  const [{ EventFinder }, { trace }, { startsOf }] = await Promise.all([
    import("./find-event.ts"),
    import("./why-chain.ts"),
    import("./why-target.ts"),
  ]);
  const finder = new EventFinder(runtime, placeOf(session).node);
  const { starts, words } = await startsOf({ runtime, finder, signal, places: new Map() }, session, target);
  return whyOf(await trace({ runtime, finder, words, signal, places: new Map() }, starts, mostHops));
}

/** The events that led to a memory. */
export async function whyMemory(runtime: Runtime, item: MemoryItem, { signal }: AskOptions = {}): Promise<Why> {
  const [{ EventFinder }, { trace }, { originOfMemory }] = await Promise.all([
    import("./find-event.ts"),
    import("./why-chain.ts"),
    import("./why-memory.ts"),
  ]);
  const tracing = { runtime, finder: new EventFinder(runtime), signal, places: new Map() };
  return whyOf(await trace(tracing, await originOfMemory(tracing, item), mostHops));
}

function whyOf({ hops, more }: { readonly hops: readonly WhyHop[]; readonly more: boolean }): Why {
  return Object.freeze({ hops: Object.freeze(hops), toString: () => textOf(hops, more) });
}

function textOf(hops: readonly WhyHop[], more: boolean): string {
  if (hops.length === 0) return "nothing on record led to it: it was said or done by a person or by the program";
  const home = hops[0]?.event.session;
  const lines = inTree(hops).map(({ hop: { relation, event, summary }, depth }) => {
    const elsewhere = event.session === home ? "" : ` (session ${event.session.slice(0, 13)})`;
    return `${"  ".repeat(Math.min(depth, deepest))}${relation}  ${event.id.slice(0, idLength)}  ${summary}${elsewhere}`;
  });
  return [...lines, ...(more ? [`… what is farther away than ${mostHops} hops is left out`] : [])].join("\n");
}

/** Each hop under the first one it explains, with how deep that is. */
export function inTree(hops: readonly WhyHop[]): readonly { readonly hop: WhyHop; readonly index: number; readonly depth: number }[] {
  const under = new Map<number, number[]>();
  for (const [index, { explains }] of hops.entries()) {
    // What was asked about may itself have led to something later on.
    const above = explains[0] === undefined || explains[0] > index ? -1 : explains[0];
    under.set(above, [...(under.get(above) ?? []), index]);
  }
  const placed: { hop: WhyHop; index: number; depth: number }[] = [];
  const waiting = (under.get(-1) ?? []).map((index) => ({ index, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { index, depth } = next;
    placed.push({ hop: hops[index] as WhyHop, index, depth });
    for (const below of (under.get(index) ?? []).reverse()) waiting.push({ index: below, depth: depth + 1 });
  }
  return placed;
}

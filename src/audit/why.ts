/**
 * Why something is as it is: the events that led to it, step by step, back over tool calls, model calls, what the models had before
 * them, and the memories among that. What a model had read is said to have been in its context, never to be the cause.
 */
import type { MemoryItem } from "../memory/memory.ts";
import { flushBehind, runtimeOf } from "../runtime/replay.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import type { Why, WhyHop } from "../session/why.ts";
import type { WhyTarget } from "./why-target.ts";

export type { Why, WhyHop } from "../session/why.ts";
export type { WhyTarget } from "./why-target.ts";

/** Farther hops are left out; the text says so. */
export const mostHops = 500;
const idLength = 12;

/**
 * The events that led to something, nearest first: a line of a file ("path:line"), an event, a memory, an answer, a route. Follows
 * forks, merges, nested agents and summaries, and memories into the sessions of this store that wrote them. Rejects with
 * `session.not-found`, `memory.not-found` or `workspace.not-found` when there is no such thing here.
 *
 * @example
 * for (const { relation, event, summary } of (await why(session, "src/add.ts:3")).hops) console.log(relation, event.id, summary);
 * console.log(String(await why(session, { memory: "test-command" })));
 */
export async function why(session: Session, target: WhyTarget): Promise<Why> {
  const runtime = runtimeOf(session);
  await flushBehind(session);
  // Loaded when somebody asks: most programs that import the package never do.
  const [{ EventFinder }, { trace }, { startsOf }] = await Promise.all([
    import("./find-event.ts"),
    import("./why-chain.ts"),
    import("./why-target.ts"),
  ]);
  const finder = new EventFinder(runtime, placeOf(session).node);
  return whyOf(await trace({ runtime, finder, most: mostHops }, await startsOf(runtime, finder, session, target)));
}

/** The events that led to a memory. */
export async function whyMemory(runtime: Runtime, item: MemoryItem): Promise<Why> {
  const [{ EventFinder }, { originOfMemory, trace }] = await Promise.all([import("./find-event.ts"), import("./why-chain.ts")]);
  const finder = new EventFinder(runtime);
  return whyOf(await trace({ runtime, finder, most: mostHops }, await originOfMemory({ runtime, finder }, item)));
}

function whyOf({ hops, more }: { readonly hops: readonly WhyHop[]; readonly more: boolean }): Why {
  return Object.freeze({ hops: Object.freeze(hops), toString: () => textOf(hops, more) });
}

function textOf(hops: readonly WhyHop[], more: boolean): string {
  if (hops.length === 0) return "nothing on record led to it: it was said or done by a person or by the program";
  const home = hops[0]?.event.session;
  const lines = hops.map(({ relation, event: { id, session }, summary }) => {
    const elsewhere = session === home ? "" : ` (session ${session.slice(0, 13)})`;
    return `${relation.padEnd("was-in-context".length)}  ${id.slice(0, idLength)}  ${summary}${elsewhere}`;
  });
  return [...lines, ...(more ? [`… what is farther away than ${mostHops} hops is left out`] : [])].join("\n");
}

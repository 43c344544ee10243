/** Makes a diff: the events of both sides aligned, and each section from them. */
import type { Runtime } from "../runtime/runtime.ts";
import { type Event, isReturned } from "../session/event.ts";
import { callOf, stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { eventLine } from "../wire/event-line.ts";
import { askedAbout } from "./approvals.ts";
import { align, insideOf, isStructure, type Pair } from "./diff-align.ts";
import type { Both, Diff, DiffEvent, DiffPlace, DiffStep } from "./diff-data.ts";
import { ownEvents, Past } from "./diff-events.ts";
import { filesBetween } from "./diff-files.ts";
import { diffHtml } from "./diff-html.ts";
import { agentsIn, answersIn, callsIn, checksIn, memoryIn, messagesIn, modelsIn, reusedBy, routesIn, spentBy } from "./diff-sections.ts";
import { diffText } from "./diff-text.ts";

export async function diffBetween(runtime: Runtime, a: Session, b: Session, signal?: AbortSignal): Promise<Diff> {
  signal?.throwIfAborted();
  const [left, right] = [placeOf(a).node, runtime.here(b).node];
  const [ourPast, theirPast] = [new Past(left), new Past(right)];
  const [ours, theirs] = [ownEvents(left, theirPast), ownEvents(right, ourPast)];
  const { platform } = runtime;
  const pairs = align(ours.nodes, theirs.nodes, platform, (node) => runtime.textOf(node));
  const ancestors = ours.nodes.length === 0 ? [left] : ours.met;
  const both = <T>(of: (session: Session) => T): Both<T> => ({ a: of(a), b: of(b) });
  const data = {
    a: diffPlaceOf(left),
    b: diffPlaceOf(right),
    identical: pairs.every((pair) => pair.relation === "same" || nodesOf(pair).every((node) => isStructure(node, platform))),
    ancestor: ancestors[0]?.id,
    ancestors: ancestors.map(diffPlaceOf),
    detached: ancestors.some((place) => !ourPast.hasDirectly(place) || !theirPast.hasDirectly(place)),
    first: firstOf(pairs, runtime),
    events: Object.freeze(pairs.map((pair) => stepOf(pair, runtime))),
    messages: messagesIn(pairs, platform),
    files: await filesBetween(runtime.sandboxes.trees, runtime.treeAt(stateOf(left), right), runtime.treeAt(stateOf(right), left), {
      signal,
    }),
    memory: memoryIn(ours.nodes, theirs.nodes, platform),
    calls: callsIn(pairs, platform),
    agents: agentsIn(ours.nodes, theirs.nodes, platform),
    models: modelsIn(ours.nodes, theirs.nodes, platform),
    routes: routesIn(pairs, platform),
    checks: checksIn(pairs, platform),
    answers: answersIn(pairs, await askedAbout(runtime, pairs.flatMap(nodesOf)), platform),
    renamed: renamedIn(pairs),
    reused: { a: reusedBy(ours.nodes, theirs.nodes, pairs), b: reusedBy(theirs.nodes, ours.nodes, pairs) },
    usage: both(({ usage }) => usage),
    spent: { a: spentBy(ours.nodes), b: spentBy(theirs.nodes) },
    status: both(({ status }) => status),
    stop: both(({ stop }) => stop),
    text: both(({ text }) => text),
  };
  const found: Diff = { ...frozen(data), toString: () => diffText(found), toHtml: () => diffHtml(found) };
  return Object.freeze(found);
}

function nodesOf({ a, b }: Pair): readonly Node[] {
  return [a, b].filter((node) => node !== undefined);
}

function diffPlaceOf({ id, log, step }: Node): DiffPlace {
  return { session: log.id, event: id, step };
}

/** What each side has where they first part, up to where they agree again. Where branches begin is no difference, unless nothing else is. */
function firstOf(pairs: readonly Pair[], { platform }: Runtime): Diff["first"] {
  const tells = (pair: Pair): boolean => nodesOf(pair).some((node) => !isStructure(node, platform));
  const differing = pairs.some((pair) => pair.relation !== "same" && tells(pair)) ? pairs.filter(tells) : pairs;
  const from = differing.findIndex(({ relation }) => relation !== "same");
  if (from < 0) return { a: undefined, b: undefined };
  const to = differing.findIndex(({ relation }, index) => index > from && relation === "same");
  const parted = differing.slice(from, to < 0 ? undefined : to);
  const first = (side: "a" | "b"): Event | undefined => parted.find((pair) => pair[side] !== undefined)?.[side]?.event(platform);
  return { a: first("a"), b: first("b") };
}

function stepOf({ relation, a, b }: Pair, runtime: Runtime): DiffStep {
  const side = (node: Node | undefined): DiffEvent | undefined =>
    node === undefined ? undefined : diffEventOf(node, relation === "changed", runtime);
  return Object.freeze({ relation, a: side(a), b: side(b) });
}

const longestLine = 300;
type Writable<T> = { -readonly [K in keyof T]: T[K] };

function diffEventOf(node: Node, changed: boolean, { platform }: Runtime): DiffEvent {
  const { id, log, step, kind, at, by, facts } = node;
  const call = isReturned(kind) ? callOf(node) : undefined;
  const line = eventLine(node.event(platform), () => call?.event(platform));
  const found: Writable<DiffEvent> = { id, session: log.id, step, kind, at, by, line: line.slice(0, longestLine) };
  const inside = insideOf(node);
  if (inside !== undefined) found.inside = inside;
  // One that somebody replaced was not used again.
  if (facts.source !== undefined && !changed) found.source = facts.source;
  return Object.freeze(found);
}

function renamedIn(pairs: readonly Pair[]): readonly Both<string>[] {
  const names = new Map<string, Both<string>>();
  for (const { relation, a, b } of pairs)
    if (relation === "same" && a.by !== b.by && !isFraming(a, b)) names.set(JSON.stringify([a.by, b.by]), { a: a.by, b: b.by });
  return [...names.values()];
}

/** Entering and leaving look alike whoever does it: a workflow and one inside it are not the same under two names. */
function isFraming(a: Node, b: Node): boolean {
  const deep = ({ by }: Node): number => by.split("/").length;
  return (a.kind === "workflow.entered" || a.kind === "workflow.left") && deep(a) !== deep(b);
}

/** All the way down, but for bytes, which cannot be. */
function frozen<T>(value: T): T {
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null || ArrayBuffer.isView(next) || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const inner of Object.values(next)) if (typeof inner === "object" && inner !== null) waiting.push(inner);
  }
  return value;
}

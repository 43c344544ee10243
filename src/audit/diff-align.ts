/**
 * Which events of two sides are the same although their ids differ: equal in kind and content, in the same order. Between those,
 * the same thing with another content: another result of the same call, another verdict of the same check.
 */
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { whatOfEvent } from "../session/what.ts";
import { type Hunk, lineHunks } from "../workspace/lines.ts";

/** One row: both sides, or one of them. */
export type Pair =
  | { readonly relation: "same" | "changed"; readonly a: Node; readonly b: Node }
  | { readonly relation: "only"; readonly a: Node; readonly b?: undefined }
  | { readonly relation: "only"; readonly a?: undefined; readonly b: Node };

/** Each event of both sides once, in the order of both. The same whichever side comes first. */
export function align(a: readonly Node[], b: readonly Node[], platform: Platform, text: (node: Node) => string): readonly Pair[] {
  const same = (node: Node): string => `${insideOf(node) === undefined} ${whatOfEvent(node, platform, text)}`;
  const pairs: Pair[] = [];
  for (const part of matched(a, b, same)) {
    if (part.equal) pairs.push({ relation: "same", a: part.a, b: part.b });
    else {
      const slot = (node: Node): string => slotOf(node, platform);
      for (const one of matched(part.a, part.b, slot)) {
        if (one.equal) pairs.push({ relation: "changed", a: one.a, b: one.b });
        else {
          for (const node of one.a) pairs.push({ relation: "only", a: node });
          for (const node of one.b) pairs.push({ relation: "only", b: node });
        }
      }
    }
  }
  return pairs;
}

type Part =
  | { readonly equal: true; readonly a: Node; readonly b: Node }
  | { readonly equal: false; readonly a: readonly Node[]; readonly b: readonly Node[] };

/** Equal events one by one, and what lies between them. */
function* matched(a: readonly Node[], b: readonly Node[], key: (node: Node) => string): Iterable<Part> {
  if (a.length === 0 || b.length === 0) {
    if (a.length + b.length > 0) yield { equal: false, a, b };
    return;
  }
  // Of several longest matches the same one is found whichever side is given first.
  const flipped = (a.at(-1) as Node).id > (b.at(-1) as Node).id;
  const [first, second] = [a.map(key), b.map(key)];
  const found = flipped ? lineHunks(second, first)?.map(turned) : lineHunks(first, second);
  // Where finding the best answer would take too long, none of it is taken for the same.
  const hunks = found ?? [{ start: 0, end: a.length, from: 0, to: b.length }];
  let [i, j] = [0, 0];
  for (const { start, end, from, to } of [...hunks, { start: a.length, end: a.length, from: b.length, to: b.length }]) {
    for (; i < start; i++, j++) yield { equal: true, a: a[i] as Node, b: b[j] as Node };
    if (end > start || to > from) yield { equal: false, a: a.slice(start, end), b: b.slice(from, to) };
    [i, j] = [end, to];
  }
}

function turned({ start, end, from, to }: Hunk): Hunk {
  return { start: from, end: to, from: start, to: end };
}

/** What an event is about, whatever it says: the k-th thing of one side may be the k-th of the other. */
function slotOf(node: Node, platform: Platform): string {
  return JSON.stringify([insideOf(node) === undefined, node.kind, nameIn(node, platform)]);
}

function nameIn(node: Node, platform: Platform): string {
  const about = isReturned(node.kind) || isStarted(node.kind) ? callOf(node) : node;
  const data = about.data(platform) as Readonly<Partial<Record<"name" | "key" | "question" | "signal" | "role", string>>> | undefined;
  if (about.kind === "model.called") return about.by;
  if (!isCalled(about.kind) && about.kind !== "message.added") return about.kind === "workflow.entered" ? (data?.name ?? "") : "";
  return data?.name ?? data?.key ?? data?.question ?? data?.signal ?? data?.role ?? "";
}

/** The call that an event was done inside of. */
export function insideOf({ log }: Node): string | undefined {
  const scope = log.fork?.scope;
  return scope !== undefined && "call" in scope ? scope.call : undefined;
}

/** Says where branches begin and that something goes on, and nothing of what happened. */
export function isStructure(node: Node, platform: Platform): boolean {
  switch (node.kind) {
    case "session.created":
    case "session.forked":
    case "session.detached":
      return true;
    case "session.merged":
      return node.data<"session.merged">(platform)?.adopt === true;
    default:
      return isStarted(node.kind);
  }
}

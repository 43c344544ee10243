/**
 * Which events a model reads. A compression stands in the chain like everything else and says what of the view before it is still
 * read, what is read shortened, and what stands in place of the rest; nothing is removed, so one with `policy: "full"` brings all
 * of it back. One that was erased changes nothing: more is read rather than less.
 */
import type { DataOf } from "./event.ts";
import type { Chain } from "./fold.ts";
import type { Node } from "./log.ts";
import type { Platform } from "./platform.ts";

/** What a model reads at a place: events in the order it reads them, and of some of them only so many characters. */
export interface View {
  readonly nodes: readonly Node[];
  readonly cuts: ReadonlyMap<Node, number>;
}

const whole: ReadonlyMap<Node, number> = new Map();
/** Known where something was compressed: elsewhere a view is what came before and one event more. */
const views = new WeakMap<Chain, View>();

/** In its facts, so that what a model read stays the same when the message is erased. */
export function isAlone(node: Node): boolean {
  return node.facts.alone === true;
}

/** Whether a link changes what is read before it. */
export function compresses(node: Node): boolean {
  return node.kind === "context.compressed" && !node.erased;
}

/** How many tokens a provider counted for a reply, read and written: what a conversation had there. */
export function tokensCounted({ kind, facts }: Node): number | undefined {
  if (kind !== "model.returned" || facts.outcome !== "ok") return undefined;
  const { usage } = facts;
  return usage === undefined ? facts.counted : usage.input === 0 ? undefined : usage.input + usage.output;
}

/** What a model reads at the end of a chain: from the newest message that it reads nothing before, or from the newest compression. */
export function viewOf(chain: Chain | undefined, platform: Platform): View {
  const length = chain?.length ?? 0;
  const nodes = new Array<Node>(length);
  let from = length;
  for (let at = chain; at !== undefined; at = at.before) {
    if (at.node.kind === "context.compressed") return viewAfter(chain, platform);
    nodes[--from] = at.node;
    if (isAlone(at.node)) break;
  }
  return { nodes: from === 0 ? nodes : nodes.slice(from), cuts: whole };
}

/** The same where something was compressed: from the newest compression whose view is known. */
function viewAfter(chain: Chain | undefined, platform: Platform): View {
  const fresh: Chain[] = [];
  let view: View = { nodes: [], cuts: whole };
  for (let at = chain; at !== undefined; at = at.before) {
    const known = views.get(at);
    if (known !== undefined) {
      view = known;
      break;
    }
    fresh.push(at);
    if (isAlone(at.node)) break;
  }
  let nodes = [...view.nodes];
  for (const link of fresh.reverse()) {
    if (link.node.kind !== "context.compressed") nodes.push(link.node);
    else if (!link.node.erased) {
      view = compressedView(link, { nodes, cuts: view.cuts }, platform);
      views.set(link, view);
      nodes = [...view.nodes];
    }
  }
  return { nodes, cuts: view.cuts };
}

/** All that was said, as if nothing had been compressed. */
export function fullView(chain: Chain | undefined): View {
  const nodes: Node[] = [];
  for (let at = chain; at !== undefined; at = at.before) {
    if (at.node.kind !== "context.compressed") nodes.push(at.node);
    if (isAlone(at.node)) break;
  }
  return { nodes: nodes.reverse(), cuts: whole };
}

type Compressed = DataOf<"context.compressed">;

/** The replacement is read where the first of what it replaces was. */
function compressedView(link: Chain, before: View, platform: Platform): View {
  const data = link.node.data<"context.compressed">(platform);
  if (data.policy === "full") return fullView(link.before);
  const kept = new Set(inRanges(before.nodes, data.kept));
  const nodes: Node[] = [];
  let replaced = data.replacement === undefined;
  for (const node of before.nodes) {
    if (kept.has(node)) nodes.push(node);
    else if (!replaced) {
      nodes.push(link.node);
      replaced = true;
    }
  }
  const { shortened = [] } = data;
  if (shortened.length === 0 && before.cuts.size === 0) return { nodes, cuts: whole };
  const to = new Map(shortened.map((one) => [one.event, one.to]));
  const cuts = new Map<Node, number>();
  for (const node of nodes) {
    const cut = to.get(node.id) ?? before.cuts.get(node);
    if (cut !== undefined) cuts.set(node, cut);
  }
  return { nodes, cuts };
}

/** The events in ranges of a view. */
export function inRanges(nodes: readonly Node[], ranges: Compressed["kept"]): readonly Node[] {
  const places = new Map(nodes.map((node, index) => [node.id as string, index]));
  return ranges.flatMap(({ from, to }) => {
    const [first, last] = [places.get(from), places.get(to)];
    return first === undefined || last === undefined ? [] : nodes.slice(first, last + 1);
  });
}

/** Some events of a view as ranges of it. */
export function rangesOf(nodes: readonly Node[], some: ReadonlySet<Node>): Compressed["kept"] {
  const ranges: { from: string; to: string; events: number }[] = [];
  let open: { from: string; to: string; events: number } | undefined;
  for (const node of nodes) {
    if (!some.has(node)) open = undefined;
    else if (open === undefined) {
      open = { from: node.id, to: node.id, events: 1 };
      ranges.push(open);
    } else {
      open.to = node.id;
      open.events++;
    }
  }
  return ranges;
}

/** The same compression, where events that it names got other ids. */
export function renamed(data: Compressed, idOf: (id: string) => string): Compressed {
  const ranges = (list: Compressed["kept"]): Compressed["kept"] =>
    list.map(({ from, to, events }) => ({ from: idOf(from), to: idOf(to), events }));
  const { replacement, shortened } = data;
  return {
    ...data,
    dropped: ranges(data.dropped),
    kept: ranges(data.kept),
    ...(shortened === undefined ? {} : { shortened: shortened.map(({ event, to }) => ({ event: idOf(event), to })) }),
    ...(replacement === undefined || !("event" in replacement) ? {} : { replacement: { event: idOf(replacement.event) } }),
  };
}

/**
 * Which branches a picture shows. Inner work is counted on the branch it was done for; where there are many branches, those that are
 * alike become one lane that says how many they are. So a picture of a thousand branches is still one that can be read.
 */
import type { GraphEdge, GraphNode } from "./graph-data.ts";

/** A lane of the picture: one branch, or several that are alike. */
export interface Lane extends GraphNode {
  /** How many branches it stands for. */
  readonly size: number;
  /** Branches of inner work that belong to it. */
  readonly inner: number;
  readonly depth: number;
}

/** Few enough to read, with the edges between them. */
export interface Folded {
  readonly lanes: readonly Lane[];
  readonly edges: readonly GraphEdge[];
}

/** More are folded where some are alike, and at last where they only came to the same end. */
const comfortable = 24;
const most = 48;
/** So many of those that are alike are shown one by one. */
const examples = 2;

/** Lanes in the order of a tree: a fork stands under what it was forked from. */
export function foldGraph(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Folded {
  const origin = new Map<string, GraphEdge>();
  for (const edge of edges) if (edge.kind === "forked" || edge.kind === "nested" || edge.kind === "detached") origin.set(edge.to, edge);
  const shown = nodes.filter(({ kind }) => kind !== "nested");
  /** The lane a branch is drawn in. */
  const home = new Map<string, string>();
  const inner = new Map<string, number>();
  for (const { id, kind } of nodes) {
    // What a branch was forked from began before it.
    const at = kind === "nested" ? (home.get(origin.get(id)?.from ?? "") ?? shown[0]?.id ?? id) : id;
    home.set(id, at);
    if (kind === "nested") inner.set(at, (inner.get(at) ?? 0) + 1);
  }
  const parent = (id: string): string | undefined => {
    const from = origin.get(id)?.from;
    return from === undefined ? undefined : home.get(from);
  };
  const single = inTree(shown, parent).map(({ node, depth }): Lane => ({ ...node, size: 1, inner: inner.get(node.id) ?? 0, depth }));
  let lanes: readonly Lane[] = single;
  if (lanes.length > comfortable)
    lanes = foldedBy(
      lanes,
      home,
      (lane) => `${parent(lane.id)} ${lane.kind} ${lane.status} ${alike(lane.label)} ${alike(lane.reason ?? "")}`,
    );
  if (lanes.length > most) lanes = foldedBy(lanes, home, (lane) => `${lane.kind} ${lane.status}`);
  return { lanes, edges: edgesOf(edges, home) };
}

/** Parents before their forks, forks in the order in which they began. */
function inTree(
  nodes: readonly GraphNode[],
  parent: (id: string) => string | undefined,
): { readonly node: GraphNode; readonly depth: number }[] {
  const known = new Set(nodes.map(({ id }) => id));
  const children = new Map<string, GraphNode[]>();
  const roots: GraphNode[] = [];
  for (const node of nodes) {
    const above = parent(node.id);
    if (above === undefined || !known.has(above) || above === node.id) roots.push(node);
    else if (children.has(above)) children.get(above)?.push(node);
    else children.set(above, [node]);
  }
  const ordered: { readonly node: GraphNode; readonly depth: number }[] = [];
  const waiting = roots.reverse().map((node) => ({ node, depth: 0 }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    ordered.push(next);
    for (const child of (children.get(next.node.id) ?? []).reverse()) waiting.push({ node: child, depth: next.depth + 1 });
  }
  return ordered;
}

/** What became of a session stays; of others with the same key a few stay, and the rest become one. */
function foldedBy(lanes: readonly Lane[], home: Map<string, string>, keyOf: (lane: Lane) => string): readonly Lane[] {
  const groups = new Map<string, Lane[]>();
  for (const lane of lanes) {
    if (lane.current || lane.won) continue;
    const group = groups.get(keyOf(lane));
    if (group === undefined) groups.set(keyOf(lane), [lane]);
    else group.push(lane);
  }
  const gone = new Map<string, Lane | undefined>();
  for (const group of groups.values()) {
    const rest = group.slice(examples);
    const [first] = rest;
    if (first === undefined || rest.length < 2) continue;
    for (const lane of rest) gone.set(lane.id, undefined);
    gone.set(first.id, together(first, rest));
    for (const lane of rest) home.set(lane.id, first.id);
  }
  for (const [id, at] of home) home.set(id, home.get(at) ?? at);
  return lanes.flatMap((lane) => (gone.has(lane.id) ? (gone.get(lane.id) ?? []) : [lane]));
}

function together(first: Lane, rest: readonly Lane[]): Lane {
  const sum = (of: (lane: Lane) => number): number => rest.reduce((all, lane) => all + of(lane), 0);
  return {
    ...first,
    label: `${sum(({ size }) => size)} more like “${first.label}”`,
    size: sum(({ size }) => size),
    inner: sum(({ inner }) => inner),
    events: sum(({ events }) => events),
    first: rest.reduce((least, lane) => Math.min(least, lane.first), first.first),
    step: rest.reduce((newest, lane) => Math.max(newest, lane.step), first.step),
  };
}

/** Numbers and ids are what branches that are alike differ in. */
function alike(label: string): string {
  return label
    .slice(0, 200)
    .replace(/\d+/g, "#")
    .replace(/\b[0-9a-f#-]{8,}\b/gi, "#");
}

/** Between lanes, each way of taking part once. */
function edgesOf(edges: readonly GraphEdge[], home: ReadonlyMap<string, string>): readonly GraphEdge[] {
  const found = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const [from, to] = [home.get(edge.from) ?? edge.from, home.get(edge.to) ?? edge.to];
    if (from === to || edge.kind === "nested" || edge.kind === "returned") continue;
    const key = `${edge.kind} ${from} ${to}`;
    if (!found.has(key)) found.set(key, { ...edge, from, to });
  }
  return [...found.values()];
}

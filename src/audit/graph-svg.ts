/**
 * A lineage as a drawing: a lane for each branch, time to the right, a line where one takes part in another. What led to the result
 * is strong, everything else is quiet; a branch that was rejected says why.
 */
import { count, plural } from "../wire/format.ts";
import type { GraphEdge, GraphNode } from "./graph-data.ts";
import { foldGraph, type Lane } from "./graph-fold.ts";
import { type Colour, colour, escaped, round, svg, text } from "./svg.ts";

const lane = 46;
const top = 34;
const indent = 14;
const words = 384;
const gutter = 408;
const widest = 500;
const legend = 34;

/** The graph as a drawing. `alone`: a file of its own, with its own colours and paper. */
export function toSvg(nodes: readonly GraphNode[], edges: readonly GraphEdge[], alone = true): string {
  const folded = foldGraph(nodes, edges);
  const places = placed(folded.lanes, folded.edges);
  const height = top + folded.lanes.length * lane + legend;
  return svg({ width: gutter + widest + 40, height, title: `Lineage of ${plural(nodes.length, "branch")}`, alone }, [
    ...folded.edges.flatMap((edge) => drawEdge(edge, places)),
    ...folded.lanes.flatMap((one) => drawLane(one, folded.edges, places)),
    ...drawLegend(height - 14),
  ]);
}

interface Places {
  readonly x: (step: number) => number;
  readonly y: (id: string) => number;
}

/** Only steps where something begins, joins or ends are drawn, evenly: a long session stays a small picture. */
function placed(lanes: readonly Lane[], edges: readonly GraphEdge[]): Places {
  const steps = new Set<number>();
  for (const { first, step } of lanes) steps.add(first).add(step);
  for (const { left, step } of edges) steps.add(left).add(step);
  const ordered = [...steps].sort((a, b) => a - b);
  const gap = Math.min(72, widest / Math.max(1, ordered.length - 1));
  const columns = new Map(ordered.map((step, index) => [step, round(gutter + index * gap)]));
  const rows = new Map(lanes.map(({ id }, index) => [id, top + index * lane]));
  return { x: (step) => columns.get(step) ?? gutter, y: (id) => rows.get(id) ?? top };
}

function drawLane(one: Lane, edges: readonly GraphEdge[], { x, y }: Places): string[] {
  const [row, tint, strong] = [y(one.id), colourOf(one), one.current || one.won];
  const [from, to] = [x(one.first), x(one.step)];
  const left = 8 + Math.min(one.depth, 6) * indent;
  const room = words - left;
  const dashes = one.status === "rejected" ? ' stroke-dasharray="5 4"' : "";
  const line = (x1: number, x2: number, style: string, shift = 0): string =>
    x2 <= x1 && shift === 0
      ? ""
      : `<line x1="${x1}" y1="${row + shift}" x2="${x2}" y2="${row + shift}" style="stroke:${colour(tint)}" ${style}/>`;
  const away = awayFrom(one, edges);
  const lines =
    away === undefined
      ? [line(from, to, `stroke-width="${strong ? 3.5 : 1.75}"${dashes}`)]
      : [
          line(from, x(away.left), 'stroke-width="3.5"'),
          line(x(away.left), x(away.step), 'stroke-width="1.5" stroke-dasharray="1 5" stroke-linecap="round"'),
          line(x(away.step), to, 'stroke-width="3.5"'),
        ];
  return [
    `<g><title>${escaped(`${one.id}: ${one.label}${one.reason === undefined ? "" : `. Rejected: ${one.reason}`}`.slice(0, 600))}</title>`,
    text(left, row - 3, one.label, { size: 13, room, weight: strong ? 650 : 450, colour: one.status === "rejected" ? "soft" : "ink" }),
    text(left, row + 13, factsOf(one), {
      size: 11,
      room,
      colour: one.status === "rejected" ? "bad" : one.won || one.current ? tint : "soft",
    }),
    ...lines,
    ...(one.size > 1 ? [line(from, to, 'stroke-width="1"', -4), line(from, to, 'stroke-width="1"', 4)] : []),
    `<circle cx="${from}" cy="${row}" r="${strong ? 4.5 : 3.5}" style="fill:${colour("paper")};stroke:${colour(tint)}" stroke-width="2"/>`,
    one.status === "rejected"
      ? `<path d="M${round(to - 4)} ${row - 4}l8 8m0 -8l-8 8" style="stroke:${colour(tint)}" stroke-width="2" fill="none"/>`
      : `<circle cx="${to}" cy="${row}" r="${strong ? 5 : 3.5}" style="fill:${colour(tint)}"/>`,
    "</g>",
  ].filter((part) => part !== "");
}

/** Where the result was made on a fork meanwhile: nothing happened on the branch itself between the two. */
function awayFrom({ id, current }: Lane, edges: readonly GraphEdge[]): { readonly left: number; readonly step: number } | undefined {
  if (!current) return undefined;
  const adopted = edges.find(({ kind, to }) => kind === "adopted" && to === id);
  const forked = adopted && edges.find(({ kind, from, to }) => kind === "forked" && from === id && to === adopted.from);
  return adopted === undefined || forked === undefined ? undefined : { left: forked.left, step: adopted.step };
}

function drawEdge({ kind, from, to, left, step }: GraphEdge, { x, y }: Places): string[] {
  const [x1, y1, x2, y2] = [x(left), y(from), x(step), y(to)];
  const middle = round((x1 + x2) / 2);
  const tint: Colour = kind === "adopted" ? "good" : kind === "merged" ? "accent" : "wait";
  const dashes = kind === "detached" ? ' stroke-dasharray="2 3"' : "";
  return [
    `<path d="M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}" style="stroke:${colour(tint)}" stroke-width="${kind === "adopted" ? 3 : 1.5}" fill="none"${dashes}><title>${kind} at step ${step}</title></path>`,
  ];
}

function colourOf({ status, current, won, kind }: Lane): Colour {
  if (status === "rejected") return "bad";
  if (current) return "accent";
  return won ? "good" : kind === "implicit" ? "person" : "other";
}

function factsOf({ kind, events, status, reason, current, won, inner, size }: Lane): string {
  const how = {
    root: "the beginning",
    fork: "fork",
    implicit: "second use of a value",
    nested: "inner work",
    detach: "detached",
    import: "imported",
  }[kind];
  const facts = [
    ...(current ? ["this session"] : []),
    ...(won ? ["its result was kept"] : []),
    ...(status === "rejected"
      ? [reason === undefined || reason === "" ? "rejected" : `rejected: ${reason}`]
      : status === "idle"
        ? []
        : [status]),
    ...(current || won || status === "rejected" ? [] : [how]),
    ...(size > 1 ? [`${count(size)} branches`] : []),
    plural(events, "event"),
    ...(inner === 0 ? [] : [`${count(inner)} inner`]),
  ];
  return facts.join(" · ");
}

function drawLegend(y: number): string[] {
  const items: readonly (readonly [Colour, string, string])[] = [
    ["accent", "this session", ""],
    ["good", "kept as its result", ""],
    ["other", "took part or was left", ""],
    ["bad", "rejected", "4 3"],
  ];
  let x = gutter;
  return items.flatMap(([tint, label, dashes]) => {
    const at = x;
    x += 30 + label.length * 6.2 + 20;
    return [
      `<line x1="${round(at)}" y1="${y - 4}" x2="${round(at + 20)}" y2="${y - 4}" style="stroke:${colour(tint)}" stroke-width="2.5"${dashes === "" ? "" : ` stroke-dasharray="${dashes}"`}/>`,
      text(round(at + 26), y, label, { size: 11, colour: "soft" }),
    ];
  });
}

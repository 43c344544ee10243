/** A lineage as a drawing: a lane for each branch, time to the right, an arrow where one takes part in another. */
import type { GraphEdge, GraphNode } from "./graph-data.ts";
import { captionOf } from "./graph-text.ts";

const lane = 46;
const top = 34;
const gutter = 250;
const widest = 640;
const colours = { current: "#1f6feb", won: "#1a7f37", rejected: "#b42318", other: "#64748b" };

/** The graph as a drawing, one lane for each branch. */
export function toSvg(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): string {
  const steps = [
    ...new Set([...nodes.flatMap((node) => [node.first, node.step]), ...edges.flatMap((edge) => [edge.left, edge.step])]),
  ].sort((a, b) => a - b);
  // Only steps where something joins or ends are drawn, evenly: a long session stays a small picture.
  const gap = Math.min(64, widest / Math.max(1, steps.length - 1));
  const columns = new Map(steps.map((step, index) => [step, round(gutter + index * gap)]));
  const rows = new Map(nodes.map((node, index) => [node.id, top + index * lane]));
  const x = (step: number): number => columns.get(step) ?? gutter;
  const y = (id: string): number => rows.get(id) ?? top;
  const width = round(gutter + Math.max(1, steps.length - 1) * gap + 40);
  const height = top + nodes.length * lane;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" role="img">`,
    "<title>Lineage</title>",
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
  ];
  for (const edge of edges) lines.push(...drawEdge(edge, x, y));
  for (const node of nodes) lines.push(...drawLane(node, x, y(node.id)));
  return `${[...lines, "</svg>"].join("\n")}\n`;
}

function drawLane(node: GraphNode, x: (step: number) => number, y: number): string[] {
  const colour = colourOf(node);
  const [label, facts] = captionOf(node);
  const dashes = node.status === "rejected" ? ' stroke-dasharray="5 4"' : "";
  return [
    `<g><title>${escaped(`${node.id}: ${label}`)}</title>`,
    `<text x="12" y="${y - 2}" font-size="13" font-weight="${node.current ? 600 : 400}" fill="#0f172a">${escaped(fitted(label, 34))}</text>`,
    `<text x="12" y="${y + 13}" font-size="10.5" fill="#64748b">${escaped(fitted(facts, 44))}</text>`,
    `<line x1="${x(node.first)}" y1="${y}" x2="${x(node.step)}" y2="${y}" stroke="${colour}" stroke-width="${node.current ? 3 : 2}"${dashes}/>`,
    `<circle cx="${x(node.first)}" cy="${y}" r="4" fill="#ffffff" stroke="${colour}" stroke-width="2"/>`,
    node.status === "rejected"
      ? `<path d="M${x(node.step) - 4} ${y - 4}l8 8m0 -8l-8 8" stroke="${colour}" stroke-width="2" fill="none"/>`
      : `<circle cx="${x(node.step)}" cy="${y}" r="4.5" fill="${colour}"/>`,
    "</g>",
  ];
}

function drawEdge({ kind, from, to, left, step }: GraphEdge, x: (step: number) => number, y: (id: string) => number): string[] {
  const [x1, y1, x2, y2] = [x(left), y(from), x(step), y(to)];
  const middle = round((x1 + x2) / 2);
  const colour = kind === "adopted" ? colours.won : kind === "merged" ? colours.current : "#cbd5e1";
  const dashes = kind === "detached" || kind === "returned" ? ' stroke-dasharray="2 3"' : "";
  return [
    `<path d="M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}" stroke="${colour}" stroke-width="1.5" fill="none"${dashes}><title>${kind} at step ${step}</title></path>`,
    `<circle cx="${x1}" cy="${y1}" r="2.5" fill="${colour}"/>`,
  ];
}

function colourOf({ status, current, won }: GraphNode): string {
  if (status === "rejected") return colours.rejected;
  return current ? colours.current : won ? colours.won : colours.other;
}

function fitted(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

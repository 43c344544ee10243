/** A lineage as Mermaid and DOT text. Labels come from users: whatever they hold stays text. */
import type { GraphEdge, GraphNode } from "./graph-data.ts";

const longest = 48;

/** What is written on a branch. */
function captionOf({ label, kind, status, reason, events, current, won }: GraphNode): readonly [string, string] {
  const facts = [kind, `${events} ${events === 1 ? "event" : "events"}`];
  if (status !== "idle") facts.push(status === "rejected" && reason !== undefined ? `rejected: ${clip(reason)}` : status);
  if (won) facts.push("won");
  if (current) facts.push("this session");
  return [clip(label), facts.join(" · ")];
}

/** The graph as a Mermaid flowchart; labels are escaped. */
export function toMermaid(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): string {
  const names = new Map(nodes.map((node, index) => [node.id, `b${index}`]));
  const lines = ["flowchart LR"];
  for (const node of nodes) lines.push(`  ${names.get(node.id)}["${captionOf(node).map(mermaidText).join("<br/>")}"]`);
  for (const { kind, from, to, step } of edges) {
    const arrow = kind === "forked" || kind === "nested" ? "-->" : kind === "detached" ? "-.->" : "==>";
    lines.push(`  ${names.get(from)} ${arrow}|"${kind} at ${step}"| ${names.get(to)}`);
  }
  lines.push(
    "  classDef current stroke-width:3px",
    "  classDef won stroke:#1a7f37,stroke-width:2px",
    "  classDef rejected stroke:#b42318,stroke-dasharray:4 3,color:#6b7280",
  );
  for (const node of nodes) for (const name of classesOf(node)) lines.push(`  class ${names.get(node.id)} ${name}`);
  return `${lines.join("\n")}\n`;
}

/** The graph as a Graphviz digraph; labels are escaped. */
export function toDot(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): string {
  const names = new Map(nodes.map((node, index) => [node.id, `b${index}`]));
  const lines = [
    "digraph lineage {",
    "  rankdir=LR;",
    '  node [shape=box, style=rounded, fontname="sans-serif"];',
    '  edge [fontname="sans-serif", fontsize=10];',
  ];
  for (const node of nodes) {
    const looks = classesOf(node).map(
      (name) => ({ current: "penwidth=3", won: 'color="#1a7f37"', rejected: 'color="#b42318", style="rounded,dashed"' })[name],
    );
    lines.push(`  ${names.get(node.id)} [${[`label=${dotText(captionOf(node))}`, ...looks].join(", ")}];`);
  }
  for (const { kind, from, to, step } of edges)
    lines.push(`  ${names.get(from)} -> ${names.get(to)} [label="${kind} at ${step}"${kind === "detached" ? ", style=dashed" : ""}];`);
  return `${[...lines, "}"].join("\n")}\n`;
}

function classesOf({ status, current, won }: GraphNode): ("current" | "won" | "rejected")[] {
  return [
    ...(current ? (["current"] as const) : []),
    ...(won ? (["won"] as const) : []),
    ...(status === "rejected" ? (["rejected"] as const) : []),
  ];
}

/** Everything that Mermaid, its markdown or HTML could read as more than text becomes a numbered character. */
function mermaidText(text: string): string {
  return text.replace(/[^\p{L}\p{N} .,:;·…()+/=_-]/gu, (character) => `#${character.codePointAt(0)};`);
}

function dotText(lines: readonly string[]): string {
  return `"${lines.map((line) => line.replace(/["\\]/g, "\\$&")).join("\\n")}"`;
}

/** One line without control characters, cut to a readable length between characters. */
function clip(text: string): string {
  const line = [
    ...text
      .slice(0, 4 * longest)
      .replace(/[\s\p{Cc}\p{Cs}\p{Bidi_Control}]/gu, " ")
      .replace(/ +/g, " ")
      .trim(),
  ];
  return line.length <= longest ? line.join("") : `${line.slice(0, longest - 1).join("")}…`;
}

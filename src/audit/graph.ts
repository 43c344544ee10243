/** The lineage of a session as data and as pictures: which branches there were, where they came from, and which one won. */
import { runtimeOf } from "../runtime/replay.ts";
import { givenOptions } from "../session/given.ts";
import type { Session } from "../session/session.ts";
import type { AskOptions } from "./ask-options.ts";
import { branchesOf, joinsOf } from "./branches.ts";
import { edgeOf, type GraphEdge, type GraphNode, nodeOf, winners } from "./graph-data.ts";
import { toSvg } from "./graph-svg.ts";
import { toDot, toMermaid } from "./graph-text.ts";

/** The lineage of a session: branches, how they take part in each other, and drawings of them. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** A Mermaid flowchart. */
  toMermaid(): string;
  /** A Graphviz digraph. */
  toDot(): string;
  /** A drawing with one lane for each branch; the same graph always gives the same text. */
  toSvg(): string;
}

/**
 * The branches behind a session and those made beside it, rejected and losing ones included.
 *
 * @example
 * import { writeFile } from "node:fs/promises";
 *
 * const { nodes, toMermaid } = await graph(session);
 * console.log(nodes.filter((branch) => branch.status === "rejected").map((branch) => branch.reason));
 * await writeFile("lineage.mmd", toMermaid());
 */
export async function graph(session: Session, options: AskOptions = {}): Promise<Graph> {
  const { signal } = givenOptions(options, ["signal"], "graph");
  const branches = await branchesOf(session, signal);
  const joins = joinsOf(branches);
  const won = winners(branches);
  const { platform } = runtimeOf(session);
  const nodes = branches.map((branch) => nodeOf(branch, won, platform));
  const edges = joins.map(edgeOf);
  return { nodes, edges, toMermaid: () => toMermaid(nodes, edges), toDot: () => toDot(nodes, edges), toSvg: () => toSvg(nodes, edges) };
}

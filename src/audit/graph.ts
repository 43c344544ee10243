/** The lineage of a session as data and as pictures: which branches there were, where they came from, and which one won. */
import { runtimeOf } from "../runtime/replay.ts";
import type { Platform } from "../session/platform.ts";
import type { Session, SessionStatus } from "../session/session.ts";
import { type Branch, branchesOf, type Join, joinsOf } from "./branches.ts";
import { toSvg } from "./graph-svg.ts";
import { toDot, toMermaid } from "./graph-text.ts";

/** A branch. */
export interface GraphNode {
  readonly id: string;
  /** Its label, else its title, else the first thing said in it. */
  readonly label: string;
  /** How it began. */
  readonly kind: "root" | "fork" | "implicit" | "nested" | "detach";
  readonly status: SessionStatus;
  /** Why it was rejected. */
  readonly reason: string | undefined;
  /** How many events are its own, and the steps of the first and the newest. */
  readonly events: number;
  readonly first: number;
  readonly step: number;
  readonly head: string;
  /** Who began it. */
  readonly by: string;
  /** It is the session that was asked about. */
  readonly current: boolean;
  /** Its head became the result of the session, directly or through another branch that did. */
  readonly won: boolean;
}

/** A branch taking part in another: `event` lies in `to` and has `parent`, which lies in `from`, among its parents. */
export interface GraphEdge {
  readonly kind: Join["kind"];
  readonly from: string;
  readonly to: string;
  readonly parent: string;
  readonly event: string;
  /** The steps of the two events. */
  readonly left: number;
  readonly step: number;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  toMermaid(): string;
  toDot(): string;
  /** A drawing with one lane for each branch; the same graph always gives the same text. */
  toSvg(): string;
}

/**
 * The branches behind a session and those made beside it, rejected and losing ones included.
 *
 * @example
 * const { nodes, toMermaid } = await graph(session);
 * console.log(nodes.filter((branch) => branch.status === "rejected").map((branch) => branch.reason));
 * await writeFile("lineage.mmd", toMermaid());
 */
export async function graph(session: Session): Promise<Graph> {
  const branches = await branchesOf(session);
  const joins = joinsOf(branches);
  const won = winners(branches, joins);
  const { platform } = runtimeOf(session);
  const nodes = branches.map((branch) => nodeOf(branch, won, platform));
  const edges = joins.map(edgeOf);
  return { nodes, edges, toMermaid: () => toMermaid(nodes, edges), toDot: () => toDot(nodes, edges), toSvg: () => toSvg(nodes, edges) };
}

function nodeOf({ log, first, tip, nodes, session, current }: Branch, won: ReadonlySet<string>, platform: Platform): GraphNode {
  const label = session.lineage.label ?? log.about.title ?? session.messages[0]?.text ?? log.id;
  return {
    id: log.id,
    label,
    kind: kindOf({ log, first }),
    status: session.status,
    reason: rejectionOf(nodes, session, platform),
    events: nodes.length,
    first: first.step,
    step: tip.step,
    head: tip.id,
    by: first.by,
    current,
    won: won.has(log.id),
  };
}

function kindOf({ log, first }: Pick<Branch, "log" | "first">): GraphNode["kind"] {
  if (first.kind === "session.forked") return log.fork?.nested === true ? "nested" : log.fork?.implicit === true ? "implicit" : "fork";
  return first.kind === "session.detached" ? "detach" : "root";
}

/** Why a branch was rejected, when it is. */
export function rejectionOf(nodes: Branch["nodes"], session: Session, platform: Platform): string | undefined {
  if (session.status !== "rejected") return undefined;
  const rejected = nodes.findLast((node) => node.kind === "session.rejected");
  return rejected?.data<"session.rejected">(platform)?.reason ?? undefined;
}

/** The branches whose heads were adopted on the way to the place. */
export function winners(branches: readonly Branch[], joins: readonly Join[]): ReadonlySet<string> {
  const won = new Set<string>();
  const results = new Set(branches.filter((branch) => branch.current).map((branch) => branch.log.id));
  for (const id of results) {
    for (const { kind, from, to } of joins) {
      if (kind !== "adopted" || to.log.id !== id) continue;
      won.add(from.log.id);
      results.add(from.log.id); // grows while it is walked
    }
  }
  return won;
}

function edgeOf({ kind, from, to }: Join): GraphEdge {
  return { kind, from: from.log.id, to: to.log.id, parent: from.id, event: to.id, left: from.step, step: to.step };
}

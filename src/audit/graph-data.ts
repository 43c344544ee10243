/** The lineage of a session as data: its branches and how they take part in each other. */
import type { Platform } from "../session/platform.ts";
import type { Session, SessionStatus } from "../session/session.ts";
import type { Branch, Join } from "./branches.ts";

/** A branch. */
export interface GraphNode {
  readonly id: string;
  /** Its label; of a root its title, else the first thing said in it; of inner work the effect it belongs to. */
  readonly label: string;
  /** How it began. */
  readonly kind: "root" | "fork" | "implicit" | "nested" | "detach" | "import";
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
  /** A run ended with its head, which so became the session's. */
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

/** A branch as a node of the graph. */
export function nodeOf({ log, first, tip, nodes, session, current }: Branch, won: ReadonlySet<string>, platform: Platform): GraphNode {
  return {
    id: log.id,
    label: labelOf({ log, first, session }, platform),
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

function labelOf({ log, first, session }: Pick<Branch, "log" | "first" | "session">, platform: Platform): string {
  const { label } = session.lineage;
  if (label !== undefined) return label;
  if (first.kind !== "session.forked") return log.about.title ?? session.messages[0]?.text ?? log.id;
  if (log.fork?.nested !== true) return log.fork?.implicit === true ? "implicit fork" : "fork";
  return `inside ${first.parent?.data<"do.called">(platform)?.name ?? "an effect"}`;
}

function kindOf({ log, first }: Pick<Branch, "log" | "first">): GraphNode["kind"] {
  if (first.kind === "session.forked") return log.fork?.nested === true ? "nested" : log.fork?.implicit === true ? "implicit" : "fork";
  return first.kind === "session.detached" ? "detach" : first.kind === "session.imported" ? "import" : "root";
}

/** Why a branch was rejected, when it is. */
export function rejectionOf(nodes: Branch["nodes"], session: Session, platform: Platform): string | undefined {
  if (session.status !== "rejected") return undefined;
  const rejected = nodes.findLast((node) => node.kind === "session.rejected");
  return rejected?.data<"session.rejected">(platform)?.reason ?? undefined;
}

/** The branches whose heads were adopted on the first-parent line of a place: the last word of each became the session's. */
export function winners(branches: readonly Branch[]): ReadonlySet<string> {
  const won = new Set<string>();
  for (let node = branches.find((branch) => branch.current)?.tip; node !== undefined; node = node.parent) {
    if (node.kind === "session.merged" && node.parent !== undefined && node.parent.log !== node.log) won.add(node.parent.log.id);
  }
  return won;
}

/** A join as an edge of the graph. */
export function edgeOf({ kind, from, to }: Join): GraphEdge {
  return { kind, from: from.log.id, to: to.log.id, parent: from.id, event: to.id, left: from.step, step: to.step };
}

/** Lineage as one plain JSON object a line, one line for each branch: for jq, spreadsheets and people. */
import { runtimeOf } from "../../runtime/replay.ts";
import type { Session, Usage } from "../../session/session.ts";
import { type Branch, branchesOf, type Join, joinsOf } from "../branches.ts";
import { rejectionOf, winners } from "../graph-data.ts";

/** One branch, with the names that `lineage-jsonl` gives its facts. */
export interface LineageRow {
  readonly id: string;
  /** root, fork, detach, merge or import. */
  readonly kind: Session["lineage"]["kind"];
  readonly label: string | null;
  readonly title: string | null;
  /** A second use of one value made it, not a call of `fork`. */
  readonly implicit: boolean;
  /** Inner work of an effect. */
  readonly nested: boolean;
  readonly parents: readonly { readonly event: string; readonly session: string; readonly how: Join["kind"]; readonly step: number }[];
  /** Who began it. */
  readonly operator: string;
  readonly status: Session["status"];
  /** Why it was rejected. */
  readonly reason: string | null;
  /** It is the session that was exported, or its head became the result of it. */
  readonly current: boolean;
  readonly won: boolean;
  readonly head: string;
  readonly step: number;
  /** Events of its own; messages that stand in its conversation. */
  readonly events: number;
  readonly messages: number;
  /** Over all distinct ancestors; `own` is of this branch alone. */
  readonly usage: Usage;
  readonly placement: Session["placement"] | null;
  readonly run: string | null;
}

/** One line for each branch. */
export async function* lineageLines(session: Session): AsyncGenerator<string, void> {
  for (const row of await lineageRows(session)) yield JSON.stringify(row);
}

async function lineageRows(session: Session): Promise<readonly LineageRow[]> {
  const branches = await branchesOf(session);
  const joins = joinsOf(branches);
  const won = winners(branches);
  const { platform } = runtimeOf(session);
  return branches.map((branch): LineageRow => {
    const { log, first, tip, nodes, current } = branch;
    const { lineage, status, messages, usage, placement } = branch.session;
    return {
      id: log.id,
      kind: lineage.kind,
      label: lineage.label ?? null,
      title: log.about.title ?? null,
      implicit: lineage.implicit,
      nested: log.fork?.nested ?? false,
      parents: parentsOf(branch, joins),
      operator: first.by,
      status,
      reason: rejectionOf(nodes, branch.session, platform) ?? null,
      current,
      won: won.has(log.id),
      head: tip.id,
      step: tip.step,
      events: nodes.length,
      messages: messages.length,
      usage,
      placement: placement ?? null,
      run: first.run ?? null,
    };
  });
}

function parentsOf({ log }: Branch, joins: readonly Join[]): LineageRow["parents"] {
  return joins
    .filter(({ to }) => to.log.id === log.id)
    .map(({ kind, from, to }) => ({ event: from.id, session: from.log.id, how: kind, step: to.step }));
}

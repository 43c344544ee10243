/** Where a branch begins, joins others, or is rejected. */
import { useEventLines } from "../../lineage/event-lines.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Badge } from "../../parts/badge.tsx";
import { useBranches } from "../../session/use-branches.ts";
import { usePlace } from "../../session/use-place.ts";
import type { ItemProps } from "./item-props.ts";
import classes from "./transcript.module.css";

export function DividerItem({ item, choose }: ItemProps) {
  const { lineage } = useLineage();
  const { nameOf } = useBranches();
  const { change } = usePlace();
  const id = lineage.id(item.row);
  const kind = lineage.kind(item.row);
  const line = useEventLines([id])(id);
  const others =
    kind === "session.merged"
      ? [
          ...new Set(
            lineage
              .parents(item.row)
              .filter((row) => row >= 0)
              .map((row) => lineage.branch(row)),
          ),
        ].filter((branch) => branch !== lineage.branch(item.row))
      : [];
  return (
    <div className={classes["divider"]}>
      <span>
        <button type="button" className={classes["title"]} onClick={choose} title="Choose this place">
          {kind === "session.rejected" && <Badge tone="bad">rejected</Badge>} <span className="given">{line ?? kind}</span>
        </button>
        {others.slice(0, 8).map((branch) => (
          <button key={branch} type="button" className="small given" onClick={() => change({ branch, at: undefined })}>
            {nameOf(branch)}
          </button>
        ))}
      </span>
    </div>
  );
}

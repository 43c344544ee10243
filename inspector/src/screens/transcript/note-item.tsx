/** A remark, a link, a place to work or an end of an agent, in a line. */
import { useEventLines } from "../../lineage/event-lines.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import type { ItemProps } from "./item-props.ts";
import classes from "./transcript.module.css";

export function NoteItem({ item, choose }: ItemProps) {
  const { lineage } = useLineage();
  const id = lineage.id(item.row);
  const line = useEventLines([id])(id);
  return (
    <p className={classes["note"]}>
      <button type="button" className={classes["title"]} onClick={choose} title="Choose this place">
        <span className="given">{line ?? lineage.kind(item.row)}</span>
      </button>
      <span className="given">{lineage.by(item.row)}</span>
    </p>
  );
}

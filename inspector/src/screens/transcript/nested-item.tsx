/** Work inside a call, on a branch of its own: folded, with a way to it. */
import { money, plural } from "../../../../src/wire/format.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Icon } from "../../parts/icon.tsx";
import { usePlace } from "../../session/use-place.ts";
import type { Item } from "./conversation.ts";
import { lineBehind } from "./conversation.ts";
import classes from "./transcript.module.css";

interface Props {
  readonly item: Item;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

export function NestedItem({ item, isOpen, toggle }: Props) {
  const { lineage } = useLineage();
  const { change } = usePlace();
  const branch = lineage.branch(item.row);
  const rows = lineBehind(lineage, lineage.newestOn(branch) ?? item.row, item.row);
  const entered = rows.find((row) => lineage.kind(row) === "workflow.entered");
  const sums = rows.reduce(
    (sum, row) => {
      const { input = 0, output = 0, usd = 0 } = lineage.spent(row) ?? {};
      return { tokens: sum.tokens + input + output, usd: sum.usd + usd };
    },
    { tokens: 0, usd: 0 },
  );
  return (
    <div className={classes["nested"]}>
      <button type="button" className={classes["title"]} aria-expanded={isOpen} onClick={toggle}>
        <Icon name={isOpen ? "shut" : "open"} /> nested work of{" "}
        <span className="given">{entered === undefined ? lineage.by(item.row) : lineage.by(entered)}</span>
      </button>
      <span className="quiet small number">
        {plural(rows.length, "event")}
        {sums.tokens > 0 && ` · ${plural(sums.tokens, "token")} · ${money(sums.usd)}`}
      </span>
      <button type="button" className="small" onClick={() => change({ branch, at: undefined })}>
        To its branch
      </button>
    </div>
  );
}

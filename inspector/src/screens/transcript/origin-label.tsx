/** Says that what follows was said and done on another branch. */
import { useLineage } from "../../lineage/use-lineage.tsx";
import { useBranches } from "../../session/use-branches.ts";
import { usePlace } from "../../session/use-place.ts";
import type { Item } from "./conversation.ts";
import classes from "./transcript.module.css";

export function OriginLabel({ item }: { readonly item: Item }) {
  const { lineage } = useLineage();
  const { nameOf } = useBranches();
  const { change } = usePlace();
  const branch = lineage.branch(item.row);
  return (
    <p className={classes["origin"]}>
      {item.origin === "inherited" ? "inherited from" : "taken over from"} branch{" "}
      <button type="button" className="small given" onClick={() => change({ branch })}>
        {nameOf(branch)}
      </button>
    </p>
  );
}

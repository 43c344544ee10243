/** With what files are compared. */
import type { LookedPlace } from "../../session/use-place.ts";

/** With what the files of a place are compared: those that the session took, or those just before. */
export type Compared = { readonly with: "taken" } | { readonly with: "before"; readonly from: string };

export function comparedWith({ lineage, row }: LookedPlace, since: string | undefined): Compared {
  const before = row === undefined ? undefined : lineage.parents(row)[0];
  return since === "before" && before !== undefined && before >= 0 ? { with: "before", from: lineage.id(before) } : { with: "taken" };
}

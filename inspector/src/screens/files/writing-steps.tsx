/** The steps of the branch at which files were recorded, newest first: each leads to what it changed. */

import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { neutral } from "../../../../src/wire/neutral.ts";
import { branchRows } from "../../lineage/branch-rows.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
import type { LookedPlace } from "../../session/use-place.ts";
import classes from "./files.module.css";

const shownAtFirst = 20;
const shownMore = 80;

export function WritingSteps({ place }: { readonly place: LookedPlace }) {
  const { lineage, branch, row, version } = place;
  const navigate = useNavigate();
  const [most, setMost] = useState(shownAtFirst);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lineage is the same object when it goes on; the version says that it did
  const rows = useMemo(
    () =>
      branchRows(lineage, branch)
        .filter((one) => lineage.has(one, "files"))
        .reverse(),
    [lineage, branch, version],
  );
  const shown = rows.slice(0, most);
  const lineOf = useEventLines(shown.map((one) => lineage.id(one)));
  if (rows.length === 0) return null;
  const go = (to: number): void =>
    void navigate({ to: ".", search: (kept: object) => ({ ...kept, at: lineage.id(to), since: "before", path: undefined }) });
  return (
    <section aria-label="Steps that recorded files">
      <h3>
        Steps <span className="quiet">{rows.length}</span>
      </h3>
      <ul>
        {shown.map((one) => (
          <li key={one}>
            <button
              type="button"
              data-look="plain"
              className={classes["entry"]}
              aria-current={place.named && one === row}
              title={neutral(lineOf(lineage.id(one))?.slice(0, 400) ?? "")}
              onClick={() => go(one)}
            >
              <span className={classes["step"]}>{lineage.step(one)}</span>
              <span className="clip given">{lineOf(lineage.id(one))?.slice(0, 120) ?? lineage.kind(one)}</span>
            </button>
          </li>
        ))}
      </ul>
      {rows.length > most && (
        <button type="button" onClick={() => setMost(most + shownMore)}>
          {rows.length - most} earlier
        </button>
      )}
    </section>
  );
}

/** The graph: how the session came to be what it is, over all its branches, and which of them won. */
import { useSearch } from "@tanstack/react-router";
import { useRef } from "react";
import { count } from "../../../../src/wire/format.ts";
import { Empty } from "../../parts/empty.tsx";
import { BranchStrip } from "./branch-strip.tsx";
import { ChosenDetails } from "./details/chosen-details.tsx";
import { Legend } from "./details/legend.tsx";
import { GraphList } from "./graph-list.tsx";
import classes from "./graph-screen.module.css";
import { SearchBar } from "./search-bar.tsx";
import { useGraph } from "./use-graph.ts";
import { useGraphKeys } from "./use-graph-keys.ts";
import { useWalk } from "./use-walk.ts";

export function GraphScreen() {
  const graph = useGraph();
  const { q = "" } = useSearch({ strict: false });
  const box = useRef<HTMLDivElement>(null);
  const details = useRef<HTMLElement>(null);
  const walk = useWalk(graph, box, q);
  useGraphKeys(graph, walk, () => details.current?.focus());
  const { rows } = graph;
  if (rows.count === 0)
    return (
      <Empty title="Nothing has happened yet">
        <p>Say something to the session, or run a workflow on it: it appears here as it happens.</p>
      </Empty>
    );
  const { chosen, missing, shown, search, byKey } = walk;
  return (
    <div className={classes["screen"]} data-legend={chosen === undefined && !missing}>
      <div className={classes["side"]}>
        {rows.branches.length > 1 && (
          <BranchStrip
            graph={graph}
            current={chosen === undefined ? undefined : rows.branchOf(chosen.row)?.branch}
            go={(branch) => walk.go({ row: branch.firstRow })}
          />
        )}
        {search.open && (
          <SearchBar text={q} found={search.found} current={search.current} ask={search.ask} go={search.go} close={search.close} />
        )}
        <div className={classes["rows"]}>
          <GraphList
            graph={graph}
            shown={shown}
            chosen={chosen}
            byKey={byKey}
            hits={search.found.events}
            box={box}
            choose={walk.choose}
            fold={walk.fold}
            setFocused={walk.setFocused}
            pointed={() => walk.setByKey(false)}
          />
        </div>
        {rows.lineage.cut > 0 && <p className={classes["cut"]}>{count(rows.lineage.cut)} older events are not shown.</p>}
      </div>
      <aside ref={details} className={classes["aside"]} tabIndex={-1} aria-label="Details">
        {chosen === undefined ? <Legend missing={missing} /> : <ChosenDetails graph={graph} chosen={chosen} goTo={walk.goToEvent} />}
      </aside>
    </div>
  );
}

/** Is the runtime healthy? All runs, who holds them, what they wait for, and those that do not get on. */
import { useQueryClient } from "@tanstack/react-query";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { RunDetail, RunResource } from "../../../../src/client/client.ts";
import { plural } from "../../../../src/wire/format.ts";
import { useChanged } from "../../desk/changed-sessions.ts";
import { Choice } from "../../desk/choice.tsx";
import desk from "../../desk/desk.module.css";
import { FilterText } from "../../desk/filter-text.tsx";
import { type Filters, useFilters } from "../../desk/filters.ts";
import { LiveSign } from "../../desk/live-sign.tsx";
import { useNow } from "../../desk/use-now.ts";
import { stepped, VirtualTable } from "../../desk/virtual-table.tsx";
import type { Connection } from "../../lineage/live-lineage.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import { useKeys } from "../../shell/keys.ts";
import { HealthStrip } from "./health-strip.tsx";
import { runColumns } from "./run-columns.tsx";
import { useRunDetails } from "./run-details.ts";
import { RunPane } from "./run-pane.tsx";
import { filtersOf, type RunFilters, statuses, useRunRows } from "./run-rows.ts";
import classes from "./runs.module.css";
import { madeAt, stuckWhy } from "./stuck.ts";

const idOf = ({ id }: RunResource): string => id;

export function RunsScreen() {
  const { search, set } = useFilters();
  const filters = filtersOf(search);
  const { rows, more, refresh, error, refetch, isPending, hasNextPage } = useRunRows(filters);
  const { see, doubt, of } = useRunDetails();
  const shown = search["run"];
  const queries = useQueryClient();
  const connection = useChanged(({ runs }) => {
    doubt(runs);
    void refresh(runs);
    if (shown !== undefined && runs.has(shown)) void queries.invalidateQueries({ queryKey: ["runs", "one", shown] });
  });
  const field = useRef<HTMLInputElement>(null);
  const isStuck = useStuck(of);
  const columns = useMemo(() => runColumns({ detailOf: of, isStuck }), [of, isStuck]);
  useEffect(() => {
    document.title = "Runs · OpenRath";
  }, []);
  const { chosen, choose, open } = useChosenRow({ rows, shown, filters, set, field });
  return (
    <div className={classes["screen"]}>
      <RunsHead {...{ connection, filters, set, field }} />
      <HealthStrip status={filters.status} choose={(status) => set({ status })} />
      <div className={classes["split"]} data-open={shown !== undefined}>
        {isPending ? (
          <Loading what="the runs" />
        ) : error !== null && rows.length === 0 ? (
          <Failure error={error} retry={() => void refetch()} />
        ) : rows.length === 0 && !hasNextPage ? (
          <NoRun filters={filters} set={set} />
        ) : (
          <VirtualTable
            label="Runs"
            {...{ columns, rows, idOf, chosen, choose, more }}
            open={({ id }) => open(id)}
            seen={see}
            toneOf={(row) => (isStuck(row) ? "bad" : undefined)}
            foot={hasNextPage ? "Reading more…" : `${plural(rows.length, "run")}, all there are`}
          />
        )}
        {shown !== undefined && <RunPane key={shown} run={shown} close={() => open(undefined)} />}
      </div>
    </div>
  );
}

/** Which runs do not get on, by what is known of them now. */
function useStuck(of: (run: RunResource) => RunDetail | undefined): (run: RunResource) => boolean {
  const now = useNow();
  return useCallback(
    (run) => {
      const detail = of(run);
      return (
        stuckWhy({ run, pending: detail?.outcome.pending, since: detail?.takenUp.at(-1)?.at ?? detail?.started ?? madeAt(run.id) }, now) !==
        undefined
      );
    },
    [of, now],
  );
}

interface Filtered {
  readonly filters: RunFilters;
  readonly set: Filters["set"];
}

interface KeysOf extends Filtered {
  readonly rows: readonly RunResource[];
  readonly shown: string | undefined;
  readonly field: RefObject<HTMLInputElement | null>;
}

/** The row that keys lead to, and the keys of the screen. */
function useChosenRow({ rows, shown, filters, set, field }: KeysOf) {
  const [chosen, choose] = useState(shown);
  const open = (run: string | undefined): void => set({ run });
  const step = (by: number): void => {
    const next = stepped(rows.map(idOf), chosen, by);
    if (next === undefined) return;
    choose(next);
    if (shown !== undefined) open(next);
  };
  useKeys([
    { keys: "j", does: "next run", act: () => step(1) },
    { keys: "k", does: "run before", act: () => step(-1) },
    { keys: "Enter", does: "details of the run", act: () => open(chosen) },
    { keys: "Escape", does: "close the details", act: () => open(undefined) },
    { keys: "/", does: "filter by workflow", act: () => field.current?.focus() },
    { keys: "o", does: "oldest or newest first", act: () => set({ order: filters.order === "oldest" ? undefined : "oldest" }) },
  ]);
  return { chosen, choose, open };
}

interface HeadProps extends Filtered {
  readonly connection: Connection;
  readonly field: RefObject<HTMLInputElement | null>;
}

function RunsHead({ connection, filters, set, field }: HeadProps) {
  return (
    <header className={desk["head"]}>
      <h1>Runs</h1>
      <LiveSign connection={connection} />
      <span className={desk["spring"]} />
      {filters.session !== undefined && (
        <button type="button" onClick={() => set({ session: undefined })}>
          Of one session: show all
        </button>
      )}
      <Choice label="Status" options={statuses} value={filters.status} set={(status) => set({ status })} />
      <FilterText label="Workflow" field={field} value={filters.workflow ?? ""} set={(workflow) => set({ workflow })} />
      <Choice
        label="Order"
        options={["newest", "oldest"]}
        value={filters.order ?? "newest"}
        set={(order) => set({ order: order === "oldest" ? order : undefined })}
        all={false}
      />
    </header>
  );
}

function NoRun({ filters: { status, workflow, session }, set }: Filtered) {
  const isFiltered = status !== undefined || workflow !== undefined || session !== undefined;
  return (
    <Empty title={status === "stuck" ? "Nothing is stuck" : isFiltered ? "No run is like that" : "There are no runs yet"}>
      {isFiltered ? (
        <button type="button" onClick={() => set({ status: undefined, workflow: undefined, session: undefined })}>
          Show all
        </button>
      ) : (
        <p>
          <code>openrath run WORKFLOW --input "…"</code> starts one, and so does Start on the screen of the sessions.
        </p>
      )}
    </Empty>
  );
}

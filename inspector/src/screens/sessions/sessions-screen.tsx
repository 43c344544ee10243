/** What is running, what failed, and what it costs. */
import { useNavigate } from "@tanstack/react-router";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { SessionRow } from "../../../../src/client/client.ts";
import { plural } from "../../../../src/wire/format.ts";
import { useMay } from "../../client.tsx";
import { useChanged } from "../../desk/changed-sessions.ts";
import { Choice } from "../../desk/choice.tsx";
import desk from "../../desk/desk.module.css";
import { FilterText } from "../../desk/filter-text.tsx";
import { type Filters, useFilters } from "../../desk/filters.ts";
import { LiveSign } from "../../desk/live-sign.tsx";
import { statusOf } from "../../desk/status-of.ts";
import { useStanding } from "../../desk/use-standing.ts";
import { stepped, VirtualTable } from "../../desk/virtual-table.tsx";
import type { Connection } from "../../lineage/live-lineage.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import { useKeys } from "../../shell/keys.ts";
import { AgentsPicture } from "./agents-picture.tsx";
import { CostPicture } from "./cost-picture.tsx";
import { FirstSession } from "./first-session.tsx";
import pictures from "./pictures.module.css";
import { sessionColumns } from "./session-columns.tsx";
import { filtersOf, mostOrdered, type SessionFilters, statuses, useSessionRows } from "./session-rows.ts";
import classes from "./sessions-screen.module.css";
import { type SpendingsSeen, useSpendings } from "./spendings.ts";
import { StartDialog } from "./start-dialog.tsx";
import { byAgent, type Counting } from "./sums.ts";

const idOf = ({ id }: SessionRow): string => id;

export function SessionsScreen() {
  const { search, set } = useFilters();
  const mayWrite = useMay("sessions:write");
  const filters = filtersOf(search);
  const withBranches = filters.branches === "all";
  const spendings = useSpendings();
  const counting = useCounting(spendings, withBranches);
  const listed = useListed(filters, counting, spendings);
  const { rows, more, standing, connection, error, refetch, isPending, hasNextPage, isFetchNextPageError } = listed;
  const { seen, look } = useSeenRoots(spendings);
  const [starting, setStarting] = useState(false);
  const start = mayWrite ? () => setStarting(true) : undefined;
  const field = useRef<HTMLInputElement>(null);
  const isByCost = filters.order === "cost";
  const order = useCallback((): void => set({ order: isByCost ? undefined : "cost" }), [set, isByCost]);
  const toggleBranches = (): void => set({ branches: withBranches ? undefined : "all" });
  const columns = useMemo(
    () => sessionColumns({ standing, spendings, counting, tag: (tag) => set({ tag }), byCost: { on: isByCost, toggle: order } }),
    [standing, spendings, counting, set, isByCost, order],
  );
  useEffect(() => {
    document.title = "Sessions · OpenRath";
  }, []);
  const { chosen, choose, open } = useChosenRow({ rows, field, order, toggleBranches, start });
  return (
    <div className={classes["screen"]}>
      <SessionsHead {...{ connection, filters, set, field, toggleBranches, start }} />
      <Pictures {...{ rows, counting, seen, spendings }} />
      {isPending ? (
        <Loading what="the sessions" />
      ) : error !== null && rows.length === 0 ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : rows.length === 0 && !hasNextPage ? (
        <NoSession {...{ filters, set, start }} />
      ) : (
        <VirtualTable
          label="Sessions"
          {...{ columns, rows, idOf, chosen, choose, more }}
          open={({ id }) => open(id)}
          seen={look}
          foot={
            isFetchNextPageError ? (
              <Failure error={error} retry={() => void refetch()} />
            ) : hasNextPage ? (
              "Reading more…"
            ) : (
              `${plural(rows.length, "session")}, ${isByCost && rows.length >= mostOrdered ? "the newest there are" : "all there are"}`
            )
          }
        />
      )}
      {starting && <StartDialog close={() => setStarting(false)} />}
    </div>
  );
}

/** How rows are counted, as what is known of them grows. */
function useCounting({ of, version }: SpendingsSeen, withBranches: boolean): Counting {
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is known of rows grows in one object; the version says that it did
  return useMemo(() => ({ withBranches, spentBy: (row) => of(row)?.spent }), [withBranches, version]);
}

/** The rows and how they stand, kept true while things go on. */
function useListed(filters: SessionFilters, counting: Counting, { wentOn }: SpendingsSeen) {
  const { rows: listed, refresh, ...found } = useSessionRows(filters, counting);
  const standing = useStanding();
  // What is shown of a row is what it is chosen by, also once that changed.
  const rows = useMemo(
    () => (filters.status === undefined ? listed : listed.filter((row) => statusOf(row, standing) === filters.status)),
    [listed, standing, filters.status],
  );
  // How runs stand is known before, or without, an event of their session.
  useEffect(() => {
    if (filters.status !== undefined && standing.isKnown) void refresh(new Set());
  }, [standing, filters.status, refresh]);
  const connection = useChanged(({ sessions, runs }) => {
    void refresh(sessions);
    // What a run says of itself is in its own log.
    wentOn(new Set([...sessions].filter((id) => !runs.has(id))));
    standing.reread();
  });
  return { ...found, rows, standing, connection };
}

/** The roots on screen, of which more is asked. */
function useSeenRoots({ see }: SpendingsSeen) {
  const [seen, setSeen] = useState<readonly SessionRow[]>([]);
  const look = useCallback(
    (shown: readonly SessionRow[]) => {
      // What branches used is told with the root they come from.
      const roots = shown.filter(({ parent }) => parent === undefined);
      setSeen(roots);
      see(roots);
    },
    [see],
  );
  return { seen, look };
}

interface KeysOf {
  readonly rows: readonly SessionRow[];
  readonly field: RefObject<HTMLInputElement | null>;
  readonly order: () => void;
  readonly toggleBranches: () => void;
  /** Undefined: whoever looks may not. */
  readonly start: (() => void) | undefined;
}

/** The row that keys lead to, and the keys of the screen. */
function useChosenRow({ rows, field, order, toggleBranches, start }: KeysOf) {
  const navigate = useNavigate();
  const [chosen, choose] = useState<string>();
  const open = (id: string | undefined): void => {
    if (id !== undefined) void navigate({ to: "/s/$session", params: { session: id }, search: {} });
  };
  const step = (by: number): void => {
    const next = stepped(rows.map(idOf), chosen, by);
    if (next !== undefined) choose(next);
  };
  useKeys([
    { keys: "j", does: "next session", act: () => step(1) },
    { keys: "k", does: "session before", act: () => step(-1) },
    { keys: "Enter", does: "open the session", act: () => open(chosen) },
    { keys: "/", does: "filter by title", act: () => field.current?.focus() },
    { keys: "o", does: "the costliest or the newest first", act: order },
    { keys: "b", does: "branches too, or roots only", act: toggleBranches },
    ...(start === undefined ? [] : [{ keys: "n", does: "start a session or a run", act: start }]),
  ]);
  return { chosen, choose, open };
}

interface HeadProps extends Pick<KeysOf, "field" | "toggleBranches" | "start"> {
  readonly connection: Connection;
  readonly filters: SessionFilters;
  readonly set: Filters["set"];
}

function SessionsHead({ connection, filters, set, field, toggleBranches, start }: HeadProps) {
  return (
    <header className={desk["head"]}>
      <h1>Sessions</h1>
      <LiveSign connection={connection} />
      <span className={desk["spring"]} />
      <Choice label="Status" options={statuses} value={filters.status} set={(status) => set({ status })} />
      <FilterText label="Title" field={field} value={filters.title ?? ""} set={(title) => set({ title })} />
      <FilterText label="Tag" value={filters.tag ?? ""} set={(tag) => set({ tag })} />
      <label className={desk["check"]}>
        <input type="checkbox" checked={filters.branches !== "all"} onChange={toggleBranches} />
        Roots only
      </label>
      {start !== undefined && (
        <button type="button" data-look="main" onClick={start}>
          Start…
        </button>
      )}
    </header>
  );
}

interface PicturesProps {
  readonly rows: readonly SessionRow[];
  readonly counting: Counting;
  readonly seen: readonly SessionRow[];
  readonly spendings: SpendingsSeen;
}

const mostAgents = 6;

function Pictures({ rows, counting, seen, spendings: { of } }: PicturesProps) {
  const agents = byAgent(
    seen.map((row) => of(row)?.agents ?? []),
    mostAgents,
  );
  return (
    <div className={pictures["pictures"]}>
      {rows.length > 0 && <CostPicture rows={rows} counting={counting} />}
      {rows.length > 0 && (
        <AgentsPicture agents={agents} sessions={seen.length} known={seen.filter((row) => of(row) !== undefined).length} />
      )}
    </div>
  );
}

function NoSession({ filters: { status, tag, title }, set, start }: Pick<HeadProps, "filters" | "set" | "start">) {
  if (status === undefined && tag === undefined && title === undefined) return <FirstSession start={start} />;
  return (
    <Empty title="No session is like that">
      <button type="button" onClick={() => set({ status: undefined, tag: undefined, title: undefined })}>
        Show all
      </button>
    </Empty>
  );
}

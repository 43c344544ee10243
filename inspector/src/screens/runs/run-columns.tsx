/** What a row of the list says of a run. */
import { Link } from "@tanstack/react-router";
import type { PendingResource, RunDetail, RunResource } from "../../../../src/client/client.ts";
import { pendingText } from "../../../../src/wire/pending-line.ts";
import { Ago, Within } from "../../desk/time-text.tsx";
import type { Column } from "../../desk/virtual-table.tsx";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { shortId } from "../../parts/short-id.ts";
import { madeAt } from "./stuck.ts";

interface Known {
  readonly detailOf: (row: RunResource) => RunDetail | undefined;
  readonly isStuck: (row: RunResource) => boolean;
}

export function runColumns({ detailOf, isStuck }: Known): readonly Column<RunResource>[] {
  return [
    {
      ...{ name: "Status", width: "8.25rem", narrow: "5rem" },
      // What matters most comes first: where there is little room, the rest is cut off.
      cell: (row) => (
        <>
          {isStuck(row) && <Badge tone="bad">stuck</Badge>} <StatusBadge status={row.status} />
        </>
      ),
    },
    {
      ...{ name: "Workflow", width: "minmax(6rem, 1fr)", narrow: "minmax(3rem, 1fr)" },
      cell: ({ workflow }) => <span className="given">{workflow}</span>,
    },
    {
      ...{ name: "Session", width: "minmax(8rem, 2fr)", narrow: "minmax(4rem, 2fr)" },
      cell: (row) => (
        <Link to="/s/$session" params={{ session: row.session }} search={{}} className="given" tabIndex={-1} title={row.session}>
          {sessionName(row, detailOf(row))}
        </Link>
      ),
    },
    { name: "Waits for", width: "minmax(8rem, 2fr)", wide: true, cell: (row) => <WaitsFor detail={detailOf(row)} /> },
    {
      ...{ name: "Holder", width: "minmax(5rem, 1fr)", wide: true },
      cell: ({ owner, status }) =>
        owner !== undefined ? <code className="given">{owner}</code> : status === "running" ? <Badge tone="bad">nobody</Badge> : null,
    },
    { name: "Taken up", width: "5.5rem", numeric: true, wide: true, cell: (row) => <Lives detail={detailOf(row)} /> },
    {
      name: "Wakes",
      width: "4.5rem",
      numeric: true,
      wide: true,
      cell: ({ wakeAt, status }) => (wakeAt === undefined || status === "running" ? "" : <Within at={wakeAt} />),
    },
    {
      ...{ name: "Age", width: "5rem", narrow: "4rem", numeric: true },
      cell: (row) => {
        const at = detailOf(row)?.started ?? madeAt(row.id);
        return at === undefined ? "" : <Ago at={at} />;
      },
    },
  ];
}

/** As the list of sessions calls it. */
export function sessionName({ session }: RunResource, detail: RunDetail | undefined): string {
  const { title, begins } = detail?.outcome.session ?? {};
  return title ?? begins ?? shortId(session);
}

function WaitsFor({ detail }: { readonly detail: RunDetail | undefined }) {
  const [first, ...others] = detail?.outcome.pending ?? [];
  if (first === undefined || detail?.status !== "waiting") return null;
  return (
    <span className="given small">
      <span className="quiet">{first.kind}</span> {first.kind === "timer" ? <Within at={first.wakes} /> : textOf(first)}
      {others.length > 0 && <span className="quiet"> and {others.length} more</span>}
    </span>
  );
}

function textOf(pending: PendingResource): string {
  return pending.kind === "signal" ? pending.signal.slice(0, 200) : pendingText(pending as never).slice(0, 200);
}

/** How often it was taken up; more than once: somebody left it, or it waited. */
function Lives({ detail }: { readonly detail: RunDetail | undefined }) {
  if (detail === undefined || detail.takenUp.length === 0) return null;
  const died = detail.takenUp.filter(({ abandoned }) => abandoned === true).length;
  return (
    <>
      {detail.takenUp.length}
      {died > 0 && <span title="Times that the worker before had died"> ({died} died)</span>}
    </>
  );
}

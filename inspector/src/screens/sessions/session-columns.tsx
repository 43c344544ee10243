/** What a row of the list says of a session. */

import { Link } from "@tanstack/react-router";
import type { SessionRow } from "../../../../src/client/client.ts";
import { count, money } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { statusOf } from "../../desk/status-of.ts";
import { Ago } from "../../desk/time-text.tsx";
import type { Standing } from "../../desk/use-standing.ts";
import type { Column } from "../../desk/virtual-table.tsx";
import { agentName } from "../../parts/agent-name.ts";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import classes from "./sessions-screen.module.css";
import type { SpendingsSeen } from "./spendings.ts";
import { type Counting, spentOf } from "./sums.ts";

interface Known {
  readonly standing: Standing;
  readonly spendings: SpendingsSeen;
  readonly counting: Counting;
  readonly tag: (tag: string) => void;
  readonly byCost: { readonly on: boolean; readonly toggle: () => void };
}

export function sessionColumns({ standing, spendings, counting, tag, byCost }: Known): readonly Column<SessionRow>[] {
  return [
    {
      ...{ name: "Status", width: "5.5rem" },
      cell: (row) => {
        const status = statusOf(row, standing);
        return status !== undefined && <StatusBadge status={status} />;
      },
    },
    { name: "Session", width: "minmax(8rem, 3fr)", cell: (row) => <SessionTitle row={row} tag={tag} /> },
    {
      ...{ name: "Waiting", width: "4rem", wide: true },
      cell: (row) =>
        statusOf(row, standing) === "waiting" ? (
          <Link to="/approvals" search={{ session: row.id, whose: "all" }} tabIndex={-1} title="What it waits for">
            <Badge tone="warn">{row.status === "waiting" && row.waiting !== undefined ? `${row.waiting} open` : "open"}</Badge>
          </Link>
        ) : null,
    },
    {
      ...{ name: "Agents", width: "minmax(6rem, 1.5fr)", wide: true },
      cell: (row) => (row.parent === undefined ? <Agents paths={spendings.of(row)?.agents.map(({ agent }) => agent)} /> : null),
    },
    { name: "Branches", width: "4rem", numeric: true, wide: true, cell: (row) => figure(spendings.of(row)?.branches) },
    { name: "Events", width: "4rem", numeric: true, wide: true, cell: (row) => figure(spendings.of(row)?.events) },
    { name: "Tokens", width: "5rem", numeric: true, wide: true, cell: (row) => figure(spentOf(row, counting)?.tokens) },
    {
      ...{ name: "Cost", width: "5rem", numeric: true, order: byCost },
      cell: (row) => cost(spentOf(row, counting)?.usd),
    },
    {
      ...{ name: "Changed", width: "5.5rem", numeric: true },
      order: { on: !byCost.on, toggle: () => byCost.on && byCost.toggle() },
      cell: ({ changed }) => <Ago at={changed} />,
    },
  ];
}

function SessionTitle({ row, tag }: { readonly row: SessionRow; readonly tag: (tag: string) => void }) {
  const { id, title, tags, lineage, parent, begins } = row;
  const name = title ?? lineage?.label ?? begins;
  return (
    <div className={classes["title"]}>
      <Link to="/s/$session" params={{ session: id }} search={{}} className="clip given" tabIndex={-1} title={id}>
        {name ?? <span className="quiet">untitled</span>}
      </Link>
      {name === undefined && <code className="quiet">{id}</code>}
      {parent !== undefined && <Badge>{lineage?.kind ?? "fork"}</Badge>}
      {tags.slice(0, 3).map((name) => (
        <button
          key={name}
          type="button"
          className={classes["tag"]}
          tabIndex={-1}
          title={`Only what has the tag ${neutral(name)}`}
          onClick={() => tag(name)}
        >
          <span className="given">{name.slice(0, 24)}</span>
        </button>
      ))}
    </div>
  );
}

function Agents({ paths }: { readonly paths: readonly string[] | undefined }) {
  if (paths === undefined) return <span className="quiet">…</span>;
  const names = [...new Set(paths.map(agentName))];
  return (
    <span className="given small quiet" title={neutral(paths.join("\n"))}>
      {names.join(", ")}
    </span>
  );
}

function figure(value: number | undefined) {
  return value === 0 ? <span className="quiet">0</span> : value === undefined ? "" : count(value);
}

function cost(usd: number | undefined) {
  if (usd === undefined) return "";
  return usd === 0 ? <span className="quiet">{money(0)}</span> : money(usd);
}

/** What goes on by itself: nobody need do anything about it. */
import { Link } from "@tanstack/react-router";
import type { PendingResource } from "../../../../src/client/client.ts";
import { count } from "../../../../src/wire/format.ts";
import { Ago, Within } from "../../desk/time-text.tsx";
import classes from "./approvals.module.css";

const most = 50;

type Quiet = Extract<PendingResource, { readonly kind: "timer" | "signal" | "process" }>;

export function QuietWaits({ items }: { readonly items: readonly Quiet[] }) {
  if (items.length === 0) return null;
  return (
    <details className={classes["quiet"]}>
      <summary>{items.length === 1 ? "One waits by itself" : `${count(items.length)} wait by themselves`}</summary>
      <ul>
        {items.slice(0, most).map((item) => (
          <li key={item.id}>
            <Words item={item} />{" "}
            <span className="quiet">
              in <Place item={item} />, since <Ago at={item.since} />
            </span>
          </li>
        ))}
      </ul>
      {items.length > most && <p className="quiet small">and {items.length - most} more</p>}
    </details>
  );
}

function Place({ item }: { readonly item: Quiet }) {
  if (item.run === undefined) return <span className="given">{item.by}</span>;
  return (
    <Link to="/runs" search={{ run: item.run }} className="given">
      {item.by}
    </Link>
  );
}

function Words({ item }: { readonly item: Quiet }) {
  switch (item.kind) {
    case "timer":
      return (
        <>
          goes on <Within at={item.wakes} />
        </>
      );
    case "signal":
      return (
        <>
          waits for the signal <code className="given">{item.signal.slice(0, 80)}</code>
        </>
      );
    default:
      return (
        <>
          runs <code className="given">{item.command.slice(0, 120)}</code>
        </>
      );
  }
}

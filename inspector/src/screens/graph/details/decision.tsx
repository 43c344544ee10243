/** What waits for somebody here, or who decided what and why. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RathError } from "../../../../../src/client/client.ts";
import { neutral, neutralJson } from "../../../../../src/wire/neutral.ts";
import { useClient } from "../../../client.tsx";
import { Badge } from "../../../parts/badge.tsx";
import { when } from "../../../parts/when.ts";
import classes from "./details.module.css";

export function Decision({ id }: { readonly id: string }) {
  const { pending } = useClient();
  const { data } = useQuery({
    queryKey: ["pending", id],
    // Most calls never waited for anybody.
    queryFn: ({ signal }) =>
      pending.get(id, { signal }).catch((error: unknown) => {
        if (RathError.is(error)) return null;
        throw error;
      }),
  });
  if (data == null) return null;
  const { waits, decision } = data;
  if (waits)
    return (
      <p className={classes["decision"]}>
        <Badge tone="warn">waiting</Badge> Nobody has decided yet.{" "}
        <Link to="/approvals" search={{ pending: id, whose: "all" }}>
          To what is asked
        </Link>
      </p>
    );
  if (decision?.by === undefined) return null;
  const { by, at, reason, approve, input, answer } = decision;
  return (
    <div className={classes["decision"]}>
      <p className="given">
        <Badge tone={approve === false ? "bad" : "ok"}>{approve === undefined ? "decided" : approve ? "approved" : "denied"}</Badge>{" "}
        {neutral(by)}
        {at !== undefined && <span className="quiet small"> {when(at)}</span>}
      </p>
      {reason !== undefined && <p className="given">“{neutral(reason.slice(0, 1000))}”</p>}
      {input !== undefined && <p className="given mono">with {neutralJson(input).slice(0, 1000)}</p>}
      {answer !== undefined && <p className="given mono">{neutralJson(answer).slice(0, 1000)}</p>}
    </div>
  );
}

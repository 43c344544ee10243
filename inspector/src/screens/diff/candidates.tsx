/** What can be compared, where only one side or none is chosen. */

import { count } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/empty.tsx";
import { shortId } from "../../parts/short-id.ts";
import classes from "./candidates.module.css";
import { useBranches } from "./use-branches.ts";

interface Props {
  readonly a: string;
  readonly b: string;
  readonly choose: (places: { readonly a: string; readonly b: string }) => void;
}

export function Candidates({ a, b, choose }: Props) {
  const given = a === "" ? b : a;
  const branches = useBranches(given);
  const id = given.split("@")[0] ?? "";
  return (
    <div className={classes["page"]}>
      <Empty title={given === "" ? "Choose two places" : "Choose the other side"}>
        <p>
          Two sessions, two branches, or two places in one: <code>ID</code>, <code>ID@step</code> or <code>ID@event</code>. In a session,{" "}
          <kbd>m</kbd> marks a row and <kbd>c</kbd> compares another one with it.
        </p>
      </Empty>
      {branches.length > 0 && (
        <section className={classes["list"]}>
          <h2>{given === "" ? "Newest sessions" : "Branches of this lineage"}</h2>
          <ul>
            {branches.map(({ id: branch, name, status, step, won }) => (
              <li key={branch}>
                <code className="quiet">{shortId(branch)}</code>
                <span className="given clip">{neutral(name.slice(0, 200))}</span>
                <span className="quiet small number">step {count(step)}</span>
                {won ? <Badge tone="ok">won</Badge> : <StatusBadge status={status} />}
                <span className={classes["sides"]}>
                  <button type="button" disabled={branch === id && a !== ""} onClick={() => choose({ a: branch, b })}>
                    as a
                  </button>
                  <button type="button" disabled={branch === id && b !== ""} onClick={() => choose({ a, b: branch })}>
                    as b
                  </button>
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

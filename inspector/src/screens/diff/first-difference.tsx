/** The first event of each side that the other does not have, and what differs in them. */
import { useMemo } from "react";
import type { DiffResource } from "../../../../src/client/client.ts";
import { count } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { EventLink } from "../../parts/event-link.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { type Side, valueText } from "./diff-sections.ts";
import classes from "./diff-summary.module.css";
import { differences } from "./differences.ts";

type First = NonNullable<DiffResource["first"]["a"]>;

export function FirstDifference({ diff }: { readonly diff: DiffResource }) {
  const { a, b } = diff.first;
  const fields = useMemo(() => (a === undefined || b === undefined ? [] : differences(told(a), told(b))), [a, b]);
  const lines = useMemo(() => {
    const wanted = new Set([a?.id, b?.id]);
    const found = diff.events.flatMap((both) => [both.a, both.b]).filter((event) => event !== undefined && wanted.has(event.id));
    return new Map(found.map((event) => [event?.id, event?.line ?? ""]));
  }, [diff, a, b]);
  return (
    <section aria-labelledby="first-difference">
      <h2 id="first-difference">First difference</h2>
      <div className={classes["pair"]}>
        <FirstEvent side="a" event={a} line={lines.get(a?.id)} />
        <FirstEvent side="b" event={b} line={lines.get(b?.id)} />
      </div>
      {fields.length > 0 && (
        <table className={classes["fields"]}>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">a</th>
              <th scope="col">b</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ path, a: left, b: right }) => (
              <tr key={path}>
                <th scope="row">
                  <code className="given">{neutral(path.slice(0, 200))}</code>
                </th>
                <td data-side="a">
                  <FieldValue value={left} />
                </td>
                <td data-side="b">
                  <FieldValue value={right} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** What an event says, without what differs of any two events. */
function told({ kind, by, facts, data }: First): object {
  const { ms: _, ...rest } = facts as Record<string, unknown>;
  return { kind, by, facts: rest, data };
}

function FieldValue({ value }: { readonly value: unknown }) {
  return value === undefined ? <span className="quiet">not there</span> : <GivenText text={valueText(value).slice(0, 4000)} mono />;
}

function FirstEvent({ side, event, line }: { readonly side: Side; readonly event: First | undefined; readonly line: string | undefined }) {
  if (event === undefined)
    return (
      <div className={classes["side"]} data-side={side}>
        <span className="quiet">Side {side} has nothing more: it ends where both part.</span>
      </div>
    );
  return (
    <div className={classes["side"]} data-side={side}>
      <span className="small">
        <EventLink session={event.session} event={event.id}>
          step {count(event.step)}
        </EventLink>{" "}
        <code>{event.kind}</code> <span className="quiet given">{neutral(event.by.slice(0, 120))}</span>
      </span>
      <GivenText text={(line ?? "").slice(0, 1000)} />
    </div>
  );
}

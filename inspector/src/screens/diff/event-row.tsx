/** An event of each side, or of one, next to each other; and the fold of those that are the same. */
import type { DiffResource } from "../../../../src/client/client.ts";
import { plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { EventLink } from "../../parts/event-link.tsx";
import { Icon } from "../../parts/icon.tsx";
import classes from "./event-row.module.css";

type Both = DiffResource["events"][number];

const longestLine = 300;
const signs = { same: ["=", "the same"], changed: ["~", "changed"], onlyA: ["-", "only in a"], onlyB: ["+", "only in b"] } as const;

export function EventRow({ both }: { readonly both: Both | undefined }) {
  if (both === undefined) return null;
  const { relation, a, b } = both;
  const [sign, means] = signs[relation === "only" ? (a === undefined ? "onlyB" : "onlyA") : relation];
  return (
    <div className={classes["row"]} data-relation={relation}>
      <EventSide side="a" event={a} />
      <span className={classes["sign"]} title={means}>
        <span aria-hidden="true">{sign}</span>
        <span className="unseen">{means}</span>
      </span>
      <EventSide side="b" event={b} />
    </div>
  );
}

function EventSide({ side, event }: { readonly side: "a" | "b"; readonly event: Both["a"] }) {
  if (event === undefined) return <span className={classes["none"]} data-side={side} />;
  const { id, session, step, kind, line, source, inside, by } = event;
  const text = neutral(line.slice(0, longestLine).replace(/\s+/g, " "));
  return (
    <span className={classes["side"]} data-side={side} title={`${kind} by ${neutral(by)}`}>
      <EventLink session={session} event={id}>
        <span className="number">{step}</span>
      </EventLink>
      <span className="given clip">
        {text}
        {line.length > longestLine && "…"}
      </span>
      {source !== undefined && <span className="quiet small">reused</span>}
      {inside !== undefined && <span className="quiet small">nested</span>}
    </span>
  );
}

export function FoldRow({ count, open, toggle }: { readonly count: number; readonly open: boolean; readonly toggle: () => void }) {
  return (
    <button type="button" data-look="plain" className={classes["fold"]} aria-expanded={open} onClick={toggle}>
      <Icon name={open ? "shut" : "open"} /> {plural(count, "event")} the same on both sides
    </button>
  );
}

/** The card around what was said or done. Its buttons act from there. */
import type { ReactNode } from "react";
import { count } from "../../../../src/wire/format.ts";
import { useAct } from "../../actions/actions.tsx";
import { useMay } from "../../client.tsx";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Icon } from "../../parts/icon.tsx";
import { usePlace } from "../../session/use-place.ts";
import type { Item } from "./conversation.ts";
import { copyPlace } from "./copy-place.ts";
import classes from "./transcript.module.css";

interface Props {
  readonly item: Item;
  readonly look: "user" | "system" | "reply" | "effect";
  /** What it is, in a word or two. */
  readonly title: ReactNode;
  /** Beside the title: outcome, time, cost. */
  readonly aside?: ReactNode;
  readonly choose: () => void;
  readonly children?: ReactNode;
}

export function ItemCard({ item, look, title, aside, choose, children }: Props) {
  const { lineage } = useLineage();
  const row = item.result ?? item.row;
  return (
    <article className={classes["card"]} data-look={look}>
      <header className={classes["head"]}>
        <h3>
          <button type="button" className={classes["title"]} onClick={choose} title="Choose this place">
            {title}
          </button>
        </h3>
        <span className="quiet small given clip">{lineage.by(item.row)}</span>
        {aside}
        <ItemVerbs item={item} />
        <time
          className="quiet small number"
          dateTime={new Date(lineage.at(row)).toISOString()}
          title={new Date(lineage.at(row)).toISOString()}
        >
          {count(lineage.step(item.row))}
        </time>
      </header>
      {children}
    </article>
  );
}

function ItemVerbs({ item }: { readonly item: Item }) {
  const { lineage } = useLineage();
  const { branch } = usePlace();
  const act = useAct();
  const mayWrite = useMay("sessions:write");
  const mayRun = useMay("runs:write");
  const row = item.result ?? item.row;
  const place = { session: lineage.branch(row), event: lineage.id(row) };
  return (
    <span className={classes["itemVerbs"]}>
      {mayWrite && (
        <button type="button" data-look="plain" onClick={() => act({ verb: "fork", place })}>
          Fork
        </button>
      )}
      {mayRun && (
        <button type="button" data-look="plain" onClick={() => act({ verb: "rerun", place: { ...place, event: lineage.id(item.row) } })}>
          Rerun
        </button>
      )}
      <button
        type="button"
        data-look="plain"
        aria-label="Copy the link to this message"
        title="Copy the link"
        onClick={() => copyPlace(lineage.id(item.row), branch)}
      >
        <Icon name="link" />
      </button>
    </span>
  );
}

/** Until the event was read, or where it cannot be. */
export function NotYet({ missing, erased = false }: { readonly missing: boolean; readonly erased?: boolean }) {
  return <p className="quiet small">{erased ? "What it said was erased." : missing ? "It could not be read." : "…"}</p>;
}

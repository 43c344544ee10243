/** What can be done from a place, and the other ways of looking at it. */
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useAct } from "../../../actions/actions.tsx";
import { useMay } from "../../../client.tsx";
import { CopyButton } from "../../../parts/copy-button.tsx";
import { markHere, useMarked } from "../../../shell/marked.ts";
import type { GraphRows } from "../graph-rows.ts";
import classes from "./details.module.css";

const screens = [
  ["transcript", "Transcript"],
  ["call", "Model call"],
  ["scrubber", "Scrubber"],
  ["raw", "Raw"],
] as const;

interface Props {
  readonly rows: GraphRows;
  readonly event: number;
  /** What a rerun would change: an answer rather than the end of the agent after it. */
  readonly said: number;
  /** Whether it is explained now. */
  readonly asked: boolean;
  readonly ask: () => void;
}

export function PlaceActions({ rows, event, said, asked, ask }: Props) {
  const { lineage } = rows;
  const navigate = useNavigate();
  const { session } = useParams({ from: "/s/$session" });
  const act = useAct();
  const [mayFork, mayRun] = [useMay("sessions:write"), useMay("runs:write")];
  const marked = useMarked();
  const place = { session: lineage.branch(event), event: lineage.id(event) };
  const here = `${place.session}@${place.event}`;
  return (
    <div className={classes["actions"]}>
      {mayFork && (
        <button type="button" title="f" onClick={() => act({ verb: "fork", place })}>
          Fork…
        </button>
      )}
      {mayRun && (
        <button type="button" onClick={() => act({ verb: "rerun", place: { ...place, event: lineage.id(said) } })}>
          Rerun…
        </button>
      )}
      {mayRun && (
        <button type="button" onClick={() => act({ verb: "replay", place })}>
          Replay…
        </button>
      )}
      <button type="button" aria-expanded={asked} onClick={ask}>
        Why?
      </button>
      {marked === undefined || marked === here ? (
        <button type="button" title="m" aria-pressed={marked === here} onClick={() => markHere(marked === here ? undefined : here)}>
          {marked === here ? "Marked" : "Mark"}
        </button>
      ) : (
        <button type="button" title="c" onClick={() => void navigate({ to: "/diff", search: { a: marked, b: here } })}>
          Compare
        </button>
      )}
      <CopyButton text={linkTo(lineage.session, place.event)} what="a link to this place" />
      <nav className={classes["screens"]} aria-label="The same place on other screens">
        {screens.map(([to, name]) => (
          <Link key={to} to={`/s/$session/${to}`} params={{ session }} search={(kept) => ({ ...kept, at: place.event })}>
            {name}
          </Link>
        ))}
      </nav>
    </div>
  );
}

function linkTo(session: string, event: string): string {
  return `${window.location.href.replace(/#.*$/, "")}#/s/${session}/graph?at=${event}`;
}

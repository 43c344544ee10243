/** The event that was chosen, and the ways to it. */
import { Link } from "@tanstack/react-router";
import { count } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { when } from "../../parts/when.ts";
import { useOpenCall } from "../../session/open-calls.tsx";
import classes from "./timeline.module.css";
import type { Work } from "./work.ts";
import { howLong, howMuch } from "./work-tip.tsx";

export function ChosenWork({ lineage, row, work }: { readonly lineage: Lineage; readonly row: number; readonly work: Work | undefined }) {
  const stands = useOpenCall();
  const id = lineage.id(row);
  const line = useEventLines([id])(id);
  const link = (to: "graph" | "transcript" | "scrubber" | "call", name: string) => (
    <Link to={`/s/$session/${to}`} params={{ session: lineage.session }} search={(kept) => kept}>
      {name}
    </Link>
  );
  return (
    <section className={classes["chosenWork"]} aria-label="Chosen event" aria-live="polite">
      <p className="given clip" title={neutral(line?.slice(0, 1000) ?? "")}>
        {neutral(line?.slice(0, 400) ?? lineage.kind(row))}
      </p>
      <p className="quiet small">
        step {count(lineage.step(row))} · {when(lineage.at(row))}
        {work !== undefined && ` · ${howLong(work, stands(work.call))}`} · {howMuch(lineage, row)}
      </p>
      <nav aria-label="The event on other screens" className={classes["ways"]}>
        {link("graph", "Graph")}
        {link("transcript", "Transcript")}
        {link("scrubber", "State then")}
        {work?.kind === "model" && link("call", "What the model read")}
      </nav>
    </section>
  );
}

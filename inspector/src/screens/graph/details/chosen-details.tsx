/** All about the row or event that is chosen: what it is, who did it, what it took and said, why, and what can be done from here. */
import { useDeferredValue, useState } from "react";
import { count, money, plural, seconds } from "../../../../../src/wire/format.ts";
import { neutral } from "../../../../../src/wire/neutral.ts";
import { Badge, StatusBadge } from "../../../parts/badge.tsx";
import { CopyButton } from "../../../parts/copy-button.tsx";
import { shortId } from "../../../parts/short-id.ts";
import { when } from "../../../parts/when.ts";
import { glyphOf, glyphWords, kindWords } from "../row-look.ts";
import type { Shown } from "../shown-rows.ts";
import { eventOf } from "../use-chosen.ts";
import type { Graph } from "../use-graph.ts";
import classes from "./details.module.css";
import { PlaceActions } from "./place-actions.tsx";
import { RowContent } from "./row-content.tsx";
import { WhyHops } from "./why-hops.tsx";

interface Props {
  readonly graph: Graph;
  readonly chosen: Shown;
  readonly goTo: (event: string) => void;
}

export function ChosenDetails({ graph, chosen, goTo }: Props) {
  const { rows, decisions } = graph;
  const { lineage, turns } = rows;
  // Whoever holds a key down sees rows move; what they say comes after.
  const settled = useDeferredValue(chosen);
  const event = eventOf(rows, settled);
  const [asked, setAsked] = useState<number>();
  const word =
    settled.event === undefined ? (turns.isTurn(settled.row) ? "turn" : glyphWordOf(graph, settled.row)) : kindWords(lineage.kind(event));
  return (
    <article className={classes["details"]} aria-label="Details of what is chosen">
      <header className={classes["header"]}>
        <h2>
          <span className={classes["word"]}>{word}</span> <span className="given quiet">{neutral(lineage.by(event).slice(0, 200))}</span>
        </h2>
        <span className={classes["badges"]}>
          {turns.trouble(settled.row) !== undefined && <StatusBadge status={turns.trouble(settled.row) ?? ""} />}
          {decisions.get(settled.row) === "waiting" && <Badge tone="warn">waiting</Badge>}
        </span>
      </header>
      <PlaceActions
        rows={rows}
        event={event}
        said={saidBy(graph, settled)}
        asked={asked === event}
        ask={() => setAsked(asked === event ? undefined : event)}
      />
      <RowFacts graph={graph} shown={settled} />
      {asked === event && <WhyHops session={lineage.branch(event)} event={lineage.id(saidBy(graph, settled))} goTo={goTo} />}
      <RowContent key={`${settled.row} ${settled.event}`} rows={rows} shown={settled} decisions={decisions} />
    </article>
  );
}

function glyphWordOf({ rows, decisions }: Graph, row: number): string {
  const glyph = glyphOf(rows, row, decisions);
  const { lineage, turns } = rows;
  return ["effect", "quiet", "waiting", "decided", "trouble"].includes(glyph)
    ? kindWords(lineage.kind(turns.said(row)))
    : glyphWords[glyph];
}

/** What a row says: an answer rather than the end of the agent after it. */
function saidBy({ rows }: Graph, { row, event }: Shown): number {
  return event ?? rows.turns.said(row);
}

function RowFacts({ graph, shown }: { readonly graph: Graph; readonly shown: Shown }) {
  const { rows, branchNamed } = graph;
  const { lineage, turns } = rows;
  const event = eventOf(rows, shown);
  const first = shown.event ?? turns.first(shown.row);
  const spent = shown.event === undefined ? undefined : lineage.spent(shown.event);
  const total = turns.figures(shown.row);
  const { tokens, usd, ms } =
    shown.event === undefined ? total : { tokens: (spent?.input ?? 0) + (spent?.output ?? 0), usd: spent?.usd ?? 0, ms: spent?.ms ?? 0 };
  const branch = lineage.branch(event);
  const told = branchNamed.get(branch);
  const steps = [lineage.step(first), lineage.step(event)];
  return (
    <dl className={classes["facts"]}>
      <Fact name="at">{when(lineage.at(first))}</Fact>
      <Fact name={steps[0] === steps[1] ? "step" : "steps"}>
        {steps[0] === steps[1] ? count(steps[0] ?? 0) : `${count(steps[0] ?? 0)} to ${count(steps[1] ?? 0)}`}
      </Fact>
      {(tokens > 0 || usd > 0 || ms >= 1) && (
        <Fact name="took">
          {[tokens > 0 && plural(tokens, "token"), usd > 0 && money(usd), ms >= 1 && seconds(ms)].filter(Boolean).join(" · ")}
        </Fact>
      )}
      <Fact name="branch">
        <span className="given">{neutral((told?.label ?? "").slice(0, 100))}</span>{" "}
        <span className={classes["id"]}>
          <code className="quiet">{shortId(branch)}</code>
          <CopyButton text={branch} what="the id of the branch" />
        </span>
      </Fact>
      <Fact name="event">
        <code>{lineage.id(event).slice(0, 12)}</code>
        <CopyButton text={lineage.id(event)} what="the id of the event" />
      </Fact>
      {told?.reason !== undefined && <Fact name="rejected">{neutral(told.reason.slice(0, 500))}</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="given">{children}</dd>
    </div>
  );
}

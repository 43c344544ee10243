/** What somebody wants to know first: where both sides part, what the first difference is, and what each side cost. */
import { Link } from "@tanstack/react-router";
import type { DiffResource } from "../../../../src/client/client.ts";
import { money, plural } from "../../../../src/wire/format.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { EventLink } from "../../parts/event-link.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { shortId } from "../../parts/short-id.ts";
import { figuresOf, type Side } from "./diff-sections.ts";
import classes from "./diff-summary.module.css";
import { Figures } from "./figures.tsx";
import { FirstDifference } from "./first-difference.tsx";

type Place = DiffResource["a"];

export function DiffSummary({ diff }: { readonly diff: DiffResource }) {
  const figures = figuresOf(diff);
  return (
    <div className={classes["summary"]}>
      <section className={classes["places"]} aria-label="What is compared">
        <PlaceCard side="a" diff={diff} />
        <PlaceCard side="b" diff={diff} />
      </section>
      <p className="quiet">
        Common ancestor:{" "}
        {diff.ancestors.length === 0
          ? "none, these come from different beginnings"
          : diff.ancestors.map((place) => <PlaceLink key={place.event} place={place} />)}
        {diff.ancestors.length > 1 && " (several, because the branches were merged crosswise)"}
        {diff.detached && " (one side was detached there)"}
      </p>
      {diff.identical ? (
        <p className={classes["same"]}>
          <strong>The same happened on both sides.</strong> {sameText(diff)}
        </p>
      ) : (
        <FirstDifference diff={diff} />
      )}
      {(["a", "b"] as const).map((side) => (
        <Reuse key={side} side={side} diff={diff} />
      ))}
      {figures.length > 0 && <Figures figures={figures} />}
      {diff.text.a !== diff.text.b && <FinalTexts text={diff.text} />}
    </div>
  );
}

function sameText({ events }: DiffResource): string {
  const same = events.filter(({ relation }) => relation === "same").length;
  return same === 0 ? "Nothing came after the common ancestor." : `${plural(same, "event")} in the same order.`;
}

function PlaceCard({ side, diff }: { readonly side: Side; readonly diff: DiffResource }) {
  const place = diff[side];
  const stop = diff.stop[side];
  return (
    <div className={classes["place"]} data-side={side}>
      <strong className={classes["name"]}>{side}</strong>
      <PlaceLink place={place} />
      <StatusBadge status={diff.status[side]} />
      {stop !== undefined && <span className="quiet small given">stopped: {stop.slice(0, 100)}</span>}
      <Link className="small" to="/s/$session/transcript" params={{ session: place.session }} search={{ at: place.event }}>
        Transcript
      </Link>
    </div>
  );
}

function PlaceLink({ place: { session, event, step } }: { readonly place: Place }) {
  return (
    <EventLink session={session} event={event}>
      <code>
        {shortId(session)}@{step}
      </code>
    </EventLink>
  );
}

function Reuse({ side, diff }: { readonly side: Side; readonly diff: DiffResource }) {
  const taken = diff.reused[side];
  if (taken === undefined) return null;
  return (
    <p>
      <strong>{side}</strong> is a rerun: {taken.results} of {plural(taken.of, "result")} reused
      {taken.saved.usd > 0 && `, ${money(taken.saved.usd)} saved`}.
    </p>
  );
}

function FinalTexts({ text }: { readonly text: DiffResource["text"] }) {
  return (
    <section>
      <h2>Final text</h2>
      <div className={classes["pair"]}>
        {(["a", "b"] as const).map((side) => (
          <div key={side} className={classes["side"]} data-side={side}>
            {text[side] === "" ? <span className="quiet small">no text on side {side}</span> : <GivenText text={text[side]} />}
          </div>
        ))}
      </div>
    </section>
  );
}

/** One thing that differs: what it is, and what each side says, line by line where there is a patch. */
import { neutral } from "../../../../src/wire/neutral.ts";
import { Badge } from "../../parts/badge.tsx";
import { EventLink } from "../../parts/event-link.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { Patch } from "../../parts/patch.tsx";
import type { Row, Said } from "./diff-sections.ts";
import { PatchLines } from "./patch-lines.tsx";
import classes from "./section-row.module.css";

interface Props {
  readonly row: Row;
  /** The sessions of both sides. */
  readonly a: string;
  readonly b: string;
}

export function SectionRow({ row, a, b }: Props) {
  if (row.path !== undefined && row.patch !== "" && row.patch !== undefined)
    return (
      <div className={classes["row"]}>
        <Patch patch={row.patch} path={row.path} />
      </div>
    );
  return <SaidRow row={row} a={a} b={b} />;
}

function SaidRow({ row, a, b }: Props) {
  const [sign, means] = row.a === undefined ? ["+", "only in b"] : row.b === undefined ? ["-", "only in a"] : ["~", "differs"];
  return (
    <article className={classes["row"]}>
      <h3 className={classes["title"]}>
        <span className={classes["sign"]} data-sign={sign} title={means}>
          <span aria-hidden="true">{sign}</span>
          <span className="unseen">{means}: </span>
        </span>
        <span className="given">{neutral(row.what.slice(0, 500))}</span>
        {row.about !== undefined && row.about !== row.what && <span className="quiet small given">{neutral(row.about.slice(0, 200))}</span>}
        {row.path !== undefined && <Badge>{(row.b ?? row.a)?.text}</Badge>}
      </h3>
      <RowContent row={row} a={a} b={b} />
    </article>
  );
}

function RowContent({ row, a, b }: Props) {
  if (row.path !== undefined) return <p className="quiet small">There is no patch: too long, or not text.</p>;
  if (row.patch === undefined || row.patch === "")
    return (
      <div className={classes["pair"]}>
        <SideText name="a" session={a} said={row.a} />
        <SideText name="b" session={b} said={row.b} />
      </div>
    );
  return (
    <>
      <PatchLines patch={row.patch} />
      <p className={classes["links"]}>
        <SideLink name="a" session={a} said={row.a} />
        <SideLink name="b" session={b} said={row.b} />
      </p>
    </>
  );
}

interface SideProps {
  readonly name: "a" | "b";
  readonly session: string;
  readonly said: Said | undefined;
}

function SideText({ name, session, said }: SideProps) {
  if (said === undefined)
    return (
      <div className={classes["none"]}>
        <span className="quiet small">nothing on side {name}</span>
      </div>
    );
  return (
    <div className={classes["side"]} data-side={name}>
      {said.text === "" ? <span className="quiet small">no text</span> : <GivenText text={said.text} mono />}
      <SideLink name={name} session={session} said={said} />
    </div>
  );
}

function SideLink({ name, session, said }: SideProps) {
  if (said?.event === undefined) return null;
  return (
    <span className="quiet small">
      {name}: <EventLink session={session} event={said.event} />
    </span>
  );
}

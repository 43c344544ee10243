/** What is under the pointer: what it was, how long it took and what it cost. */
import { count, money, plural, seconds } from "../../../../src/wire/format.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import type { OpenCall } from "../../session/open-call.ts";
import { useOpenCall } from "../../session/open-calls.tsx";
import { kindWords } from "./legend.tsx";
import classes from "./timeline.module.css";
import type { Work } from "./work.ts";

interface Props {
  readonly lineage: Lineage;
  readonly work: Work;
  readonly more: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export function WorkTip({ lineage, work, more, x, y, width }: Props) {
  const stands = useOpenCall();
  const id = lineage.id(work.row);
  const line = useEventLines([id])(id);
  return (
    <div className={classes["tip"]} role="tooltip" style={{ top: y + 16, ...(x > width / 2 ? { right: width - x + 8 } : { left: x + 8 }) }}>
      <p className={classes["tipLine"]}>{line?.slice(0, 200) ?? lineage.kind(work.row)}</p>
      <p className="quiet small">{howLong(work, stands(work.call))}</p>
      <p className="quiet small">{howMuch(lineage, work.row)}</p>
      {more > 0 && <p className="quiet small">{count(more)} more here: go nearer to tell them apart</p>}
    </div>
  );
}

/** The time that a piece of work took, and what for. How long one takes that has no result, its record does not tell. */
export function howLong({ kind, before, from, begin, to, attempts, open }: Work, stands: OpenCall): string {
  const isWaiting = kind === "person" || kind === "wait";
  const parts = [
    open !== true
      ? `${kindWords[kind]} ${seconds(to - begin)}`
      : `${kindWords[kind]}${isWaiting ? ` ${seconds(to - begin)} until now, no result yet` : `, ${stands}`}`,
    ...(before === undefined ? [] : [`${kindWords[before]} ${seconds(begin - from)}`]),
    ...(attempts > 1 ? [`${count(attempts)} attempts`] : []),
  ];
  return parts.join(" · ");
}

export function howMuch(lineage: Lineage, row: number): string {
  const spent = lineage.spent(row);
  const trouble = lineage.trouble(row);
  const parts = [
    lineage.by(row),
    ...(trouble === undefined ? [] : [trouble]),
    ...(spent === undefined || spent.input + spent.output === 0
      ? []
      : [`${plural(spent.input, "token")} in, ${count(spent.output)} out`, money(spent.usd)]),
  ];
  return parts.join(" · ");
}

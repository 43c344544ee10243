/** The branches side by side: how each stands, what it cost and how long it took, and the way to it. */
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { count, money, plural, seconds } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { Badge } from "../../parts/badge.tsx";
import { shortId } from "../../parts/short-id.ts";
import classes from "./branch-strip.module.css";
import type { BranchFigures } from "./graph-rows.ts";
import type { Graph } from "./use-graph.ts";

const cardWidth = 208;
const beyond = 3;

interface Props {
  readonly graph: Graph;
  /** The branch of the row that is chosen. */
  readonly current: number | undefined;
  readonly go: (branch: BranchFigures) => void;
}

export function BranchStrip({ graph, current, go }: Props) {
  const { rows, branchNamed } = graph;
  const made = rows.branches.length;
  // What became of the session comes first; all others in the order in which they began.
  // biome-ignore lint/correctness/useExhaustiveDependencies: branches are added in place, which their number tells
  const branches = useMemo(() => {
    const first = (one: BranchFigures): number =>
      one.session === rows.lineage.session ? 0 : branchNamed.get(one.session)?.won === true ? 1 : 2;
    return [...rows.branches].sort((a, b) => first(a) - first(b) || a.branch - b.branch);
  }, [rows, made, branchNamed]);
  const place = branches.findIndex(({ branch }) => branch === current);
  const box = useRef<HTMLUListElement>(null);
  const [[left, room], setSeen] = useState<readonly [number, number]>([0, 8]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => setSeen([Math.floor(element.scrollLeft / cardWidth), Math.ceil(element.clientWidth / cardWidth)]);
    look();
    element.addEventListener("scroll", look, { passive: true });
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      sizes.disconnect();
    };
  }, []);
  useEffect(() => {
    const element = box.current;
    if (element === null || place < 0) return;
    const start = place * cardWidth;
    if (start < element.scrollLeft) element.scrollLeft = start;
    else if (start + cardWidth > element.scrollLeft + element.clientWidth) element.scrollLeft = start + cardWidth - element.clientWidth;
  }, [place]);
  const most = branches.reduce((sum, { usd, ms }) => ({ usd: Math.max(sum.usd, usd), ms: Math.max(sum.ms, ms) }), { usd: 0, ms: 0 });
  const [from, to] = [Math.max(0, left - beyond), Math.min(branches.length, left + room + beyond)];
  return (
    <nav className={classes["strip"]} aria-label={`Branches: ${count(branches.length)}`}>
      <ul ref={box} className={classes["cards"]} onKeyDown={beside}>
        {from > 0 && <li style={{ minWidth: from * cardWidth }} aria-hidden="true" />}
        {branches.slice(from, to).map((branch) => (
          <BranchCard key={branch.session} graph={graph} branch={branch} most={most} current={branch.branch === current} go={go} />
        ))}
        {to < branches.length && <li style={{ minWidth: (branches.length - to) * cardWidth }} aria-hidden="true" />}
      </ul>
    </nav>
  );
}

/** Arrows go from card to card. */
function beside(event: KeyboardEvent): void {
  if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
  const item = (event.target as Element).closest("li");
  const next = event.key === "ArrowRight" ? item?.nextElementSibling : item?.previousElementSibling;
  next?.querySelector("button")?.focus();
  event.preventDefault();
}

interface CardProps extends Pick<Props, "graph" | "go"> {
  readonly branch: BranchFigures;
  readonly most: { readonly usd: number; readonly ms: number };
  readonly current: boolean;
}

function BranchCard({ graph, branch, most, current, go }: CardProps) {
  const { rows, branchNamed, main } = graph;
  const told = branchNamed.get(branch.session);
  const { lane } = rows.lanes(branch.firstRow);
  const own = branch.session === rows.lineage.session;
  const name = told?.label ?? (branch.nested ? "nested work" : shortId(branch.session));
  const status = branch.rejected ? "rejected" : (told?.status ?? "");
  const about = [name, status, told?.reason, plural(branch.events, "event")]
    .filter((part) => part !== undefined && part !== "")
    .join(" · ");
  return (
    <li className={classes["item"]}>
      <button
        type="button"
        className={classes["card"]}
        aria-current={current ? "true" : undefined}
        data-lane={lane % 8}
        data-rejected={branch.rejected}
        title={neutral(about.slice(0, 400))}
        onClick={() => go(branch)}
      >
        <span className={classes["name"]}>
          <svg
            width="18"
            height="10"
            aria-hidden="true"
            className={classes["line"]}
            data-main={main.has(branch.lastRow) || told?.won === true}
          >
            <path d="M0 5H18" />
          </svg>
          <span className="given clip">{neutral(name.slice(0, 80))}</span>
          {told?.won === true && <Badge tone="ok">won</Badge>}
          {own && told?.won !== true && <Badge tone="accent">this</Badge>}
          {branch.rejected && <Badge tone="bad">rejected</Badge>}
          {!branch.rejected && status === "waiting" && <Badge tone="warn">waiting</Badge>}
        </span>
        <Bar what="cost" share={branch.usd / (most.usd || 1)} figure={money(branch.usd)} />
        <Bar what="time" share={branch.ms / (most.ms || 1)} figure={seconds(branch.ms)} />
      </button>
    </li>
  );
}

function Bar({ what, share, figure }: { readonly what: string; readonly share: number; readonly figure: string }) {
  return (
    <span className={classes["bar"]}>
      <span className="unseen">{what} </span>
      <span className={classes["track"]} aria-hidden="true">
        <span style={{ width: `${share === 0 ? 0 : Math.max(2, share * 100)}%` }} data-what={what} />
      </span>
      <span className={classes["figure"]}>{figure}</span>
    </span>
  );
}

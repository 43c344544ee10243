/** What had been recalled and remembered until then, newest first. */
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { newestOf } from "./moments.ts";
import classes from "./scrubber.module.css";

interface Props {
  readonly lineage: Lineage;
  readonly branch: string;
  readonly rows: readonly number[];
  readonly at: number;
}

const most = 8;

export function MemoryThen({ lineage, branch, rows, at }: Props) {
  return (
    <section className={classes["pane"]} aria-label="Memory">
      <h3>
        Memory <Link to="/memory">all memory</Link>
      </h3>
      <h4>Written</h4>
      <MemoryEvents lineage={lineage} branch={branch} rows={rows} at={at} kinds={written} none="Nothing had been written." />
      <h4>Read</h4>
      <MemoryEvents lineage={lineage} branch={branch} rows={rows} at={at} kinds={read} none="Nothing had been recalled." />
    </section>
  );
}

const written = ["remember.returned", "forget.returned"];
const read = ["recall.returned"];

function MemoryEvents({ lineage, branch, rows, at, kinds, none }: Props & { readonly kinds: readonly string[]; readonly none: string }) {
  const found = useMemo(() => newestOf(lineage, rows, at, kinds, most), [lineage, rows, at, kinds]);
  const lineOf = useEventLines(found.map((row) => lineage.id(row)));
  if (found.length === 0) return <p className="quiet">{none}</p>;
  return (
    <ul className={classes["events"]}>
      {found.map((row) => (
        <li key={row}>
          <Link
            to="."
            search={(kept) => ({ ...kept, at: lineage.id(row), branch: branch === lineage.session ? undefined : branch })}
            title={neutral(lineOf(lineage.id(row))?.slice(0, 500) ?? "")}
          >
            <span className={classes["stepNumber"]}>{lineage.step(row)}</span>
            <span className="clip given">{lineOf(lineage.id(row))?.slice(0, 200) ?? lineage.kind(row)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

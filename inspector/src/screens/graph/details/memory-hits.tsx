/** What was recalled: each item with its score and how far it is trusted. */
import { neutral } from "../../../../../src/wire/neutral.ts";
import { Badge } from "../../../parts/badge.tsx";
import classes from "./details.module.css";

interface RecalledItem {
  readonly uri: string;
  readonly version: number;
  readonly content: string;
  readonly score: number;
  readonly trust: string;
}

const most = 20;

export function MemoryHits({ hits }: { readonly hits: readonly RecalledItem[] }) {
  if (hits.length === 0) return <p className="quiet">Nothing was found.</p>;
  return (
    <ul className={classes["memories"]}>
      {hits.slice(0, most).map(({ uri, version, content, score, trust }) => (
        <li key={`${uri}@${version}`}>
          <code className="given">
            {neutral(String(uri).slice(0, 200))}@{version}
          </code>{" "}
          <span className="quiet small">{Number(score.toPrecision(3))}</span>{" "}
          <Badge tone={trust === "trusted" ? "ok" : "warn"}>{trust}</Badge>
          <p className="given">{neutral(String(content).slice(0, 500))}</p>
        </li>
      ))}
    </ul>
  );
}

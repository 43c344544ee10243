/** What was found in memory, and which of it the model was given. */
import { GivenText } from "../../parts/given-text.tsx";
import classes from "./transcript.module.css";

interface Hit {
  readonly uri: string;
  readonly key: string;
  readonly version: number;
  readonly content: string;
  readonly trust: string;
}

const most = 20;

export function RecalledMemories({
  hits,
  injected = [],
}: {
  readonly hits: readonly unknown[];
  readonly injected?: readonly string[] | undefined;
}) {
  if (hits.length === 0) return <p className="quiet small">nothing found</p>;
  const shown = hits.slice(0, most) as readonly Hit[];
  return (
    <ul className={classes["hits"]}>
      {shown.map(({ uri, key, version, content, trust }) => (
        <li key={`${uri}@${version}`}>
          <code className="given">
            {key}@{version}
          </code>{" "}
          <span className="quiet small">
            {trust}
            {injected.includes(`${uri}@${version}`) && ", given to the model"}
          </span>
          <GivenText text={content} />
        </li>
      ))}
      {hits.length > most && <li className="quiet">and {hits.length - most} more</li>}
    </ul>
  );
}

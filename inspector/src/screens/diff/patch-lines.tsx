/** A patch of a text, line by line, as much of it as somebody reads. */
import { useState } from "react";
import { plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import classes from "./patch-lines.module.css";

const shownAtFirst = 60;
const shownMore = 500;
const longestLine = 2000;
const longest = 500_000;

export function PatchLines({ patch }: { readonly patch: string }) {
  const [most, setMost] = useState(shownAtFirst);
  const cut = patch.slice(0, longest);
  const lines = cut
    .slice(Math.max(0, cut.search(/^@@/m)))
    .replace(/\n$/, "")
    .split("\n");
  const rest = lines.length - most;
  return (
    <div className={classes["patch"]}>
      <pre>
        {lines.slice(0, most).map((line, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a patch never move
          <PatchLine key={number} line={line} />
        ))}
      </pre>
      {rest > 0 && (
        <button type="button" onClick={() => setMost(most + shownMore)}>
          {plural(rest, "more line")}
        </button>
      )}
      {patch.length > longest && <p className="quiet small">The end is left out: the patch has {plural(patch.length, "character")}.</p>}
    </div>
  );
}

function PatchLine({ line }: { readonly line: string }) {
  const sign = line.startsWith("@@") ? "@" : line[0] === "+" || line[0] === "-" ? line[0] : " ";
  return (
    <span className={classes["line"]} data-sign={sign}>
      {neutral(line.slice(0, longestLine))}
      {line.length > longestLine && "…"}
      {"\n"}
    </span>
  );
}

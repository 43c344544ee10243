/** The whole in a word, which nobody mistakes for another. */
import { count, plural, seconds } from "../../../../src/wire/format.ts";
import { Icon } from "../../parts/icon.tsx";
import { when } from "../../parts/when.ts";
import { signedText, verdictOf } from "./checklist.ts";
import type { Result } from "./use-verification.ts";
import classes from "./verdict.module.css";

const tones = { intact: "ok", "not proven": "warn", "does not replay": "warn", "not intact": "bad" } as const;
const titles = {
  intact: "The record is intact",
  "not proven": "Nothing is wrong, but it is not proven",
  "does not replay": "The record is intact, but the program does not replay it",
  "not intact": "This record cannot be trusted",
} as const;

export function Verdict({ result: { found, at, ms }, ask }: { readonly result: Result; readonly ask: (keys: readonly string[]) => void }) {
  const verdict = verdictOf(found);
  const tone = tones[verdict];
  return (
    <section className={classes["verdict"]} data-tone={tone} role={tone === "bad" ? "alert" : "status"}>
      <span className={classes["sign"]}>
        <Icon name={tone === "ok" ? "yes" : tone === "bad" ? "close" : "warn"} />
      </span>
      <div className={classes["words"]}>
        <h2>{titles[verdict]}</h2>
        <p>
          {found.problems.length > 0 && <strong>{plural(found.problems.length, "problem")}. </strong>}
          {plural(found.events, "event")} checked, {signedText(found)}
          {found.erased > 0 && `, ${count(found.erased)} erased`}.
        </p>
        {found.unknownKeys.length > 0 && (
          <div className={classes["keys"]}>
            <p>
              Signed by {plural(found.unknownKeys.length, "key")} not known here: only you can say whether they are to be trusted. (
              <code>openrath doctor</code> shows the key of a home.)
            </p>
            {found.unknownKeys.slice(0, 20).map((key) => (
              <code key={key} className="given">
                {key.slice(0, 100)}
              </code>
            ))}
            <button type="button" onClick={() => ask(found.unknownKeys)}>
              Check again, trusting {found.unknownKeys.length === 1 ? "it" : "them"}
            </button>
          </div>
        )}
        <p className={classes["when"]}>
          Checked at <time dateTime={at.toISOString()}>{when(at)}</time>, in {seconds(ms)}.
        </p>
      </div>
    </section>
  );
}

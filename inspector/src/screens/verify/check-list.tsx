/** What was checked, one by one, with what a clean result leaves open. */
import { plural } from "../../../../src/wire/format.ts";
import { Badge } from "../../parts/badge.tsx";
import { Icon } from "../../parts/icon.tsx";
import classes from "./check-list.module.css";
import type { Checked } from "./checklist.ts";

const words = { ok: "holds", bad: "does not hold", open: "not checked" } as const;
const tones = { ok: "ok", bad: "bad", open: "quiet" } as const;

export function CheckList({ checks }: { readonly checks: readonly Checked[] }) {
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">What was checked</h2>
      <ul className={classes["list"]}>
        {checks.map(({ name, title, result, said, problems, left }) => (
          <li key={name} data-result={result}>
            <span className={classes["sign"]} aria-hidden="true">
              {result !== "open" && <Icon name={result === "ok" ? "yes" : "close"} />}
            </span>
            <strong>{title}</strong>
            <span>
              {said}
              {left.map((one) => (
                <span key={one} className={classes["left"]}>
                  {one}
                </span>
              ))}
            </span>
            <Badge tone={name === "signatures" && result === "open" ? "warn" : tones[result]}>
              {problems.length > 0
                ? plural(problems.length, "problem")
                : name === "signatures" && result === "open"
                  ? "not proven"
                  : words[result]}
            </Badge>
          </li>
        ))}
      </ul>
    </section>
  );
}

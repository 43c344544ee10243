/** What the looks of works mean. */
import classes from "./timeline.module.css";
import { type Kind, kinds } from "./work.ts";

export const kindWords: Readonly<Record<Kind, string>> = {
  model: "model",
  tool: "tool",
  other: "other work",
  person: "waiting for a person",
  wait: "other waiting",
  retry: "tries before",
};

export function Legend() {
  return (
    <ul className={classes["legend"]}>
      {kinds.map((kind) => (
        <li key={kind}>
          <KindSign kind={kind} /> {kindWords[kind]}
        </li>
      ))}
    </ul>
  );
}

function KindSign({ kind }: { readonly kind: Kind }) {
  const thin = kind === "wait";
  return (
    <svg width="18" height="10" aria-hidden="true">
      <rect className={classes["work"]} data-kind={kind} x="0" y={thin ? 3.5 : 0.5} width="18" height={thin ? 3 : 9} />
    </svg>
  );
}

/** Stripes: whoever does not see the colours sees that somebody waits. Once on the page. */
export function Patterns() {
  return (
    <svg width="0" height="0" className={classes["patterns"]} aria-hidden="true">
      <defs>
        <pattern id="work-person" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="6" height="6" className={classes["personGround"]} />
          <rect width="3" height="6" className={classes["personStripe"]} />
        </pattern>
        <pattern id="work-retry" width="4" height="4" patternUnits="userSpaceOnUse">
          <rect width="4" height="4" className={classes["retryGround"]} />
          <rect width="2" height="4" className={classes["retryStripe"]} />
        </pattern>
      </defs>
    </svg>
  );
}

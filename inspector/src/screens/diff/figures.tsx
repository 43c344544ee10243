/** What was spent on each side, as pairs of bars. */

import type { Figure } from "./diff-sections.ts";
import classes from "./figures.module.css";

export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <section aria-labelledby="figures">
      <h2 id="figures">After the common ancestor</h2>
      <table className={classes["figures"]}>
        <thead>
          <tr>
            <th scope="col">
              <span className="unseen">What</span>
            </th>
            <th scope="col">a</th>
            <th scope="col">b</th>
          </tr>
        </thead>
        <tbody>
          {figures.map(({ what, a, b, text }) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td>
                <Bar side="a" share={share(a, b)} text={text(a)} />
              </td>
              <td>
                <Bar side="b" share={share(b, a)} text={text(b)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function share(of: number, other: number): number {
  return of === 0 ? 0 : of / Math.max(of, other);
}

function Bar({ side, share: part, text }: { readonly side: "a" | "b"; readonly share: number; readonly text: string }) {
  return (
    <span className={classes["figure"]}>
      <span className="number">{text}</span>
      <span className={classes["track"]} aria-hidden="true">
        <span className={classes["bar"]} data-side={side} style={{ width: `${part * 100}%` }} />
      </span>
    </span>
  );
}

/** What is shown before anything is chosen: what the glyphs mean, and how to go on. */
import { GlyphShape } from "../glyph-shape.tsx";
import lanes from "../row-lanes.module.css";
import { type Glyph, glyphWords } from "../row-look.ts";
import classes from "./details.module.css";

export function Legend({ missing }: { readonly missing: boolean }) {
  return (
    <div className={classes["details"]}>
      {missing && <p role="alert">The place that this address names is not among these branches. Choose another one.</p>}
      <h2>Choose a row</h2>
      <p className="quiet">
        Click one, or go with <kbd>j</kbd> and <kbd>k</kbd>; <kbd>l</kbd> unfolds a turn, <kbd>/</kbd> searches, <kbd>?</kbd> tells all
        keys.
      </p>
      <ul className={classes["legend"]}>
        {(Object.keys(glyphWords) as Glyph[]).map((glyph) => (
          <li key={glyph}>
            <svg width="20" height="20" viewBox="-10 -10 20 20" aria-hidden="true">
              <g className={lanes["glyph"]} data-lane="0" data-glyph={glyph}>
                <GlyphShape glyph={glyph} />
              </g>
            </svg>
            {glyphWords[glyph]}
          </li>
        ))}
        <li>
          <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
            <path className={lanes["main"]} data-lane="0" d="M10 0V20" />
          </svg>
          the line that became the session
        </li>
        <li>
          <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
            <path className={lanes["line"]} data-lane="1 rejected" d="M10 0V20" />
          </svg>
          a branch that was rejected
        </li>
      </ul>
    </div>
  );
}

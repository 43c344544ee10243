/**
 * Text that models and strangers wrote: shown as text, whatever it is. Control characters and those that turn the direction of a line
 * are made visible, and of what is long only as much is put into the page as was asked for.
 */
import { useState } from "react";
import { count } from "../../../src/wire/format.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import classes from "./given-text.module.css";

const shownAtFirst = 4000;
const shownMore = 200_000;
/** A line without an end is broken by hand: browsers take seconds to lay one out. */
const longestLine = 20_000;

export function GivenText({ text, mono = false }: { readonly text: string; readonly mono?: boolean }) {
  const [most, setMost] = useState(shownAtFirst);
  const rest = text.length - most;
  return (
    <div className={classes["text"]} data-mono={mono} dir="auto">
      {broken(neutral(text.slice(0, most)))}
      {rest > 0 && (
        <button type="button" className={classes["more"]} onClick={() => setMost(most + shownMore)}>
          {count(rest)} more characters: show {rest > shownMore ? count(shownMore) : "them"}
        </button>
      )}
    </div>
  );
}

function broken(text: string): string {
  if (text.length <= longestLine) return text;
  return text.replaceAll(new RegExp(`[^\\n]{${longestLine}}`, "g"), "$&\n");
}

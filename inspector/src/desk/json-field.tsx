/** JSON that somebody writes: whether it is JSON is said at once, what fits is for the server to say. */
import { useId } from "react";
import classes from "./json-field.module.css";

interface Props {
  readonly label: string;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly rows?: number;
}

export type Parsed = { readonly value: unknown } | { readonly problem: string };

export function parsed(text: string): Parsed {
  if (text.trim() === "") return { problem: "There is nothing written." };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

export function JsonField({ label, text, setText, rows = 10 }: Props) {
  const id = useId();
  const found = parsed(text);
  const problem = "problem" in found ? found.problem : undefined;
  return (
    <div className={classes["field"]}>
      <label htmlFor={id}>{label}</label>
      <textarea
        {...{ id, rows, spellCheck: false, value: text }}
        className="mono"
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        onChange={(event) => setText(event.target.value)}
      />
      <p id={`${id}-problem`} className={classes["problem"]} data-bad={problem !== undefined}>
        {problem === undefined ? "This is JSON. Whether it fits is checked when it is sent." : `Not JSON yet: ${problem}`}
      </p>
    </div>
  );
}

/** One of a few, beside each other; "all" is no choice. */
import classes from "./choice.module.css";

interface Props {
  readonly label: string;
  readonly options: readonly string[];
  readonly value: string | undefined;
  readonly set: (value: string | undefined) => void;
  readonly counts?: ReadonlyMap<string, number> | undefined;
  /** Whether none of them may be chosen. */
  readonly all?: boolean;
}

export function Choice({ label, options, value, set, counts, all = true }: Props) {
  return (
    <fieldset className={classes["choice"]} aria-label={label}>
      {(all ? [undefined, ...options] : options).map((option) => (
        <button key={option ?? "all"} type="button" aria-pressed={option === value} onClick={() => set(option)}>
          {option ?? "all"}
          {option !== undefined && counts?.has(option) === true && <span className="quiet number"> {counts.get(option)}</span>}
        </button>
      ))}
    </fieldset>
  );
}

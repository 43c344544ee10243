/** One field of an answer. */
import { useId } from "react";
import type { AnswerField } from "./answer-fields.ts";
import classes from "./approvals.module.css";

interface Props {
  readonly field: AnswerField;
  readonly value: string | boolean | undefined;
  readonly set: (value: string | boolean) => void;
}

/** So many beside each other; more are a list. */
const mostButtons = 6;

export function AnswerInput({ field, value, set }: Props) {
  const { kind, choices, required } = field;
  const id = useId();
  if (kind === "boolean")
    return (
      <Buttons
        {...{ field, value, set }}
        options={[
          ["yes", true],
          ["no", false],
        ]}
      />
    );
  if (kind === "choice" && choices.length <= mostButtons)
    return <Buttons {...{ field, value, set }} options={choices.map((choice) => [choice, choice] as const)} />;
  return (
    <div className={classes["answer"]}>
      <label htmlFor={id}>
        <Label field={field} />
      </label>
      {kind === "choice" ? (
        <select id={id} required={required} value={String(value ?? "")} onChange={(event) => set(event.target.value)}>
          <option value="">choose</option>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : kind === "text" ? (
        <textarea id={id} rows={2} maxLength={field.longest} value={String(value ?? "")} onChange={(event) => set(event.target.value)} />
      ) : (
        <input
          id={id}
          type="number"
          {...{ required, min: field.min, max: field.max, step: kind === "integer" ? 1 : "any" }}
          value={String(value ?? "")}
          onChange={(event) => set(event.target.value)}
        />
      )}
    </div>
  );
}

function Label({ field: { label, name, required } }: { readonly field: AnswerField }) {
  return (
    <span className="given">
      {label === "" ? "Answer" : label}
      {name !== "" && name !== label && <code className="quiet"> {name}</code>}
      {!required && <span className="quiet small"> may be left out</span>}
    </span>
  );
}

interface ButtonsProps extends Props {
  readonly options: readonly (readonly [string, string | boolean])[];
}

function Buttons({ field, value, set, options }: ButtonsProps) {
  const group = useId();
  return (
    <fieldset className={classes["choices"]}>
      <legend>
        <Label field={field} />
      </legend>
      {options.map(([word, option]) => (
        <label key={word}>
          <input type="radio" name={group} checked={value === option} onChange={() => set(option)} />
          <span className="given">{word}</span>
        </label>
      ))}
    </fieldset>
  );
}

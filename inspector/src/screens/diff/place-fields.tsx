/** The two places that are compared: ids, or places in sessions as ID@step or ID@event. */
import { type FormEvent, useId, useState } from "react";
import { neutral } from "../../../../src/wire/neutral.ts";
import { Icon } from "../../parts/icon.tsx";
import { useMarked } from "../../shell/marked.ts";
import classes from "./place-fields.module.css";
import { useBranches } from "./use-branches.ts";

interface Props {
  readonly a: string;
  readonly b: string;
  readonly choose: (places: { readonly a: string; readonly b: string }) => void;
  readonly swap: () => void;
}

export function PlaceFields({ a, b, choose, swap }: Props) {
  const [places, setPlaces] = useState({ a, b });
  const marked = useMarked();
  const list = useId();
  const branches = useBranches(a === "" ? b : a);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    choose({ a: places.a.trim(), b: places.b.trim() });
  };
  return (
    <form className={classes["fields"]} onSubmit={submit}>
      <h1>Compare</h1>
      <PlaceField side="a" value={places.a} list={list} change={(value) => setPlaces({ ...places, a: value })} />
      <button type="button" data-look="plain" onClick={swap} aria-label="Swap the two sides" title="Swap the two sides (x)">
        <Icon name="swap" />
      </button>
      <PlaceField side="b" value={places.b} list={list} change={(value) => setPlaces({ ...places, b: value })} />
      <button type="submit" data-look="main">
        Compare
      </button>
      {marked !== undefined && marked !== a && marked !== b && (
        <span className={classes["marked"]}>
          <span className="quiet small">
            Marked: <code>{marked.slice(0, 17)}</code>
          </span>
          <button type="button" onClick={() => choose({ a: marked, b })}>
            as a
          </button>
          <button type="button" onClick={() => choose({ a, b: marked })}>
            as b
          </button>
        </span>
      )}
      <datalist id={list}>
        {branches.map(({ id, name, status }) => (
          <option key={id} value={id}>
            {neutral(name.slice(0, 80))} · {status}
          </option>
        ))}
      </datalist>
    </form>
  );
}

interface FieldProps {
  readonly side: "a" | "b";
  readonly value: string;
  readonly list: string;
  readonly change: (value: string) => void;
}

function PlaceField({ side, value, list, change }: FieldProps) {
  return (
    <label className={classes["field"]} data-side={side}>
      <span>
        <span className="unseen">Side </span>
        {side}
      </span>
      <input
        className="mono"
        value={value}
        list={list}
        placeholder="a session, or ID@step"
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => change(event.target.value)}
      />
    </label>
  );
}

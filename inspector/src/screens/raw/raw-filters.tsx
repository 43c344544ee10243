/** Which events are shown: by kind, by who wrote them, by branch, by a text in them. */

import { useRef } from "react";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useTyped } from "../../desk/use-typed.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { useBranches } from "../../session/use-branches.ts";
import type { LookedPlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import classes from "./raw.module.css";
import type { Choices } from "./raw-rows.ts";

interface Props {
  readonly choices: Choices;
  readonly search: LookedPlace["search"];
  readonly change: LookedPlace["change"];
}

const mostChoices = 200;
/** So long nothing must be typed before the server is asked. */
const pauseMs = 300;

export function RawFilters({ choices, search, change }: Props) {
  const { lineage } = useLineage();
  const { nameOf } = useBranches();
  const ops = [...new Set(choices.kinds.map((kind) => kind.slice(0, kind.indexOf("."))))];
  return (
    <>
      <TextFilter text={search["q"] ?? ""} change={(q) => change({ q: q === "" ? undefined : q })} />
      <Choice
        label="Kind"
        all="every kind"
        value={search["kind"]}
        options={[...ops, ...choices.kinds].map((kind) => [kind, kind.includes(".") ? kind : `${kind}.*`])}
        choose={(kind) => change({ kind })}
      />
      <Choice
        label="Branch"
        all="every branch"
        value={search["on"]}
        options={lineage.sessions.map((id) => [id, nameOf(id)])}
        choose={(on) => change({ on })}
      />
      <Choice
        label="Written by"
        all="everybody"
        value={search["by"]}
        options={choices.writers.map((by) => [by, by])}
        choose={(by) => change({ by })}
      />
    </>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly all: string;
  readonly value: string | undefined;
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly choose: (value: string | undefined) => void;
}

function Choice({ label, all, value, options, choose }: ChoiceProps) {
  const shown = options.slice(0, mostChoices);
  const known = value === undefined || shown.some(([one]) => one === value);
  return (
    <label>
      <span className="unseen">{label}</span>
      <select
        className={classes["choice"]}
        value={value ?? ""}
        onChange={(event) => choose(event.target.value === "" ? undefined : event.target.value)}
      >
        <option value="">{all}</option>
        {!known && <option value={value}>{options.find(([one]) => one === value)?.[1] ?? value}</option>}
        {shown.map(([one, name]) => (
          <option key={one} value={one}>
            {neutral(name.slice(0, 80))}
          </option>
        ))}
      </select>
    </label>
  );
}

function TextFilter({ text, change }: { readonly text: string; readonly change: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useTyped(text, change, pauseMs);
  useKeys([{ keys: "/", does: "search in what events say", act: () => field.current?.focus() }]);
  return (
    <input
      ref={field}
      type="search"
      className={classes["text"]}
      aria-label="Text in events"
      placeholder="Text in events  /"
      maxLength={1000}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") field.current?.blur();
      }}
    />
  );
}

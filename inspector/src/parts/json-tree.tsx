/** A value as a tree that opens as far as somebody looks. Whatever is in it shows as text, and of what is long only the beginning. */
import { type ReactNode, useState } from "react";
import { count } from "../../../src/wire/format.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import classes from "./json-tree.module.css";

const firstChars = 300;
const moreChars = 20_000;
const firstItems = 50;

interface Props {
  readonly value: unknown;
  /** How many levels are open at first. */
  readonly open?: number;
  /** The fields of an object without what is around them. */
  readonly bare?: boolean;
}

/** An object with more fields has its braces: they fold it. */
const mostBare = 12;

export function JsonTree({ value, open = 1, bare = false }: Props) {
  const fields = bare && typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  return (
    <div className={classes["tree"]} data-bare={fields.length > 0 && fields.length <= mostBare}>
      {fields.length > 0 && fields.length <= mostBare ? (
        fields.map(([name, inner]) => <Value key={name} name={name} value={inner} open={open - 1} />)
      ) : (
        <Value value={value} open={open} />
      )}
    </div>
  );
}

function Value({ value, name, open }: { readonly value: unknown; readonly name?: string | undefined; readonly open: number }): ReactNode {
  if (typeof value === "object" && value !== null) return <Branch value={value} name={name} open={open} />;
  return (
    <div className={classes["line"]}>
      <Name name={name} />
      {typeof value === "string" ? <Text text={value} /> : <span data-type={typeof value}>{String(value)}</span>}
    </div>
  );
}

function Branch({ value, name, open }: { readonly value: object; readonly name: string | undefined; readonly open: number }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [most, setMost] = useState(firstItems);
  const isList = Array.isArray(value);
  const entries = isOpen ? Object.entries(value) : [];
  const size = isList ? value.length : Object.keys(value).length;
  const [begin, end] = isList ? ["[", "]"] : ["{", "}"];
  if (size === 0)
    return (
      <div className={classes["line"]}>
        <Name name={name} />
        {begin}
        {end}
      </div>
    );
  return (
    <details className={classes["branch"]} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        {isOpen ? begin : <span className="quiet">{`${begin} ${size} ${isList ? "items" : size === 1 ? "field" : "fields"} ${end}`}</span>}
      </summary>
      {isOpen && (
        <div className={classes["inner"]}>
          {entries.slice(0, most).map(([key, inner]) => (
            <Value key={key} name={key} value={inner} open={open - 1} />
          ))}
          {entries.length > most && (
            <button type="button" className="small" onClick={() => setMost(most * 10)}>
              {count(entries.length - most)} more
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Name({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return null;
  return <span className={classes["name"]}>{neutral(name.slice(0, 200))}: </span>;
}

function Text({ text }: { readonly text: string }) {
  const [most, setMost] = useState(firstChars);
  const rest = text.length - most;
  return (
    <span className={classes["text"]} dir="auto">
      "{neutral(text.slice(0, most))}
      {rest > 0 ? (
        <button type="button" className="small" onClick={() => setMost(most + moreChars)}>
          {count(rest)} more
        </button>
      ) : (
        '"'
      )}
    </span>
  );
}

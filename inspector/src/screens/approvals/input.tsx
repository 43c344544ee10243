/** The input of a call: each of its fields by name, texts as texts; and exactly, as JSON. */
import { JsonText } from "../../desk/json-text.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import classes from "./approvals.module.css";

const mostNamed = 30;

export function Input({ input }: { readonly input: unknown }) {
  const named = namedOf(input);
  return (
    <section aria-label="Input">
      <h3>Input</h3>
      {input === undefined && <p className="quiet">none</p>}
      {named !== undefined && (
        <dl className={classes["input"]}>
          {named.map(([name, value]) => (
            <div key={name} style={{ display: "contents" }}>
              <dt className="mono quiet given">{name.slice(0, 100)}</dt>
              <dd className={name === "command" ? classes["command"] : undefined}>
                <JsonText value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {input !== undefined && (
        <details open={named === undefined}>
          <summary>Exactly, as JSON</summary>
          <div className={classes["json"]}>
            {typeof input === "string" ? <GivenText text={JSON.stringify(input)} mono /> : <JsonText value={input} />}
          </div>
        </details>
      )}
    </section>
  );
}

function namedOf(input: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  const entries = Object.entries(input);
  return entries.length === 0 || entries.length > mostNamed ? undefined : entries;
}

/** What a call read and wrote, as lengths of one bar, and what it cost. */
import { count, money } from "../../../../src/wire/format.ts";
import classes from "./call.module.css";

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
  readonly usd?: number;
}

export function UsageBar({ usage, unpriced }: { readonly usage: Usage; readonly unpriced: boolean }) {
  const { input, output, cached = 0, cacheWrite = 0, reasoning = 0, usd = 0 } = usage;
  const parts = [
    ["read", Math.max(0, input - cached - cacheWrite), "read"],
    ["from the cache", cached, "cached"],
    ["written to the cache", cacheWrite, "written"],
    ["reasoning", reasoning, "reasoning"],
    ["reply", Math.max(0, output - reasoning), "reply"],
  ] as const;
  const shown = parts.filter(([, tokens]) => tokens > 0);
  return (
    <section aria-label="Tokens and cost" className={classes["usage"]}>
      <div className={classes["usageBar"]} aria-hidden="true">
        {shown.map(([name, tokens, look]) => (
          <span key={name} data-look={look} style={{ flexGrow: tokens }} />
        ))}
      </div>
      <dl>
        {shown.map(([name, tokens, look]) => (
          <div key={name}>
            <dt>
              <span className={classes["swatch"]} data-look={look} /> {name}
            </dt>
            <dd className="number">{count(tokens)}</dd>
          </div>
        ))}
        <div>
          <dt>cost</dt>
          <dd className="number">{unpriced ? "no price known" : money(usd)}</dd>
        </div>
      </dl>
    </section>
  );
}

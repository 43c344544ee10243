/** From here on models read less: what was left out, and what stands for it. */
import { count, plural } from "../../../../src/wire/format.ts";
import { useEvent } from "../../lineage/use-event.ts";
import { GivenText } from "../../parts/given-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { NotYet } from "./item-card.tsx";
import type { ItemProps } from "./item-props.ts";
import classes from "./transcript.module.css";

interface Range {
  readonly events: number;
}

interface Compressed {
  readonly policy: string;
  readonly dropped: readonly Range[];
  readonly kept: readonly Range[];
  readonly replacement?: { readonly event?: string; readonly text?: string };
  readonly tokens: { readonly before: number; readonly after: number };
}

export function CompressionItem({ event, missing }: ItemProps) {
  const data = event?.data as Compressed | undefined;
  if (data === undefined) return <NotYet missing={missing} erased={event !== undefined} />;
  const { policy, dropped, kept, tokens, replacement } = data;
  return (
    <details className={classes["compression"]}>
      <summary className={classes["compressionLine"]}>
        <span>
          context compressed: {policy}, {count(tokens.before)} → {count(tokens.after)} tokens
        </span>
      </summary>
      <div className={classes["compressed"]}>
        <p>
          {plural(eventsIn(dropped), "event")} no longer read, {plural(eventsIn(kept), "event")} still read. Nothing was removed.
        </p>
        {replacement !== undefined && (
          <>
            <p className="quiet small">In its place models read:</p>
            {replacement.text !== undefined ? <GivenText text={replacement.text} /> : <ValueOf event={replacement.event} />}
          </>
        )}
      </div>
    </details>
  );
}

function eventsIn(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { events }) => sum + events, 0);
}

function ValueOf({ event }: { readonly event: string | undefined }) {
  const { data } = useEvent(event);
  const { value } = (data?.data ?? {}) as { readonly value?: unknown };
  return typeof value === "string" ? <GivenText text={value} /> : <JsonTree value={value} />;
}

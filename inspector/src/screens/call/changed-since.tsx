/** What of a request was not in the call before it. */
import type { RecordedRequest } from "../../../../src/client/client.ts";
import { count, plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useRequest } from "../../actions/use-request.ts";
import { Badge } from "../../parts/badge.tsx";
import { usePlace } from "../../session/use-place.ts";
import classes from "./call.module.css";
import { type DifferentLine, excerpt, textDifference } from "./text-difference.ts";

type Changed = NonNullable<RecordedRequest["previous"]>["changed"][number];

export function ChangedSince({ recorded }: { readonly recorded: RecordedRequest }) {
  const { change } = usePlace();
  const { previous, request } = recorded;
  if (previous === undefined)
    return (
      <section>
        <h2>Since the call before</h2>
        <p className="quiet">It is the first call on this line: all of it is new.</p>
      </section>
    );
  const fresh = request.messages.length - previous.same;
  return (
    <section>
      <h2>Since the call before</h2>
      <p>
        The call at{" "}
        <button type="button" className={classes["inline"]} onClick={() => change({ at: previous.event })}>
          step {count(previous.step)}
        </button>{" "}
        had {plural(previous.same, "message")} of these;{" "}
        {fresh === 0 ? "none is new" : `${plural(fresh, "message")} ${fresh === 1 ? "is" : "are"} new`}.{" "}
        {previous.changed.length === 0 ? (
          <span className="quiet">Model, instructions, tools, settings and output are as they were.</span>
        ) : (
          previous.changed.map((part) => (
            <span key={part}>
              <Badge tone="warn">{part} changed</Badge>{" "}
            </span>
          ))
        )}
      </p>
      {previous.changed.length > 0 && <Differences recorded={recorded} previous={previous} />}
    </section>
  );
}

interface Props {
  readonly recorded: RecordedRequest;
  readonly previous: NonNullable<RecordedRequest["previous"]>;
}

function Differences({ recorded, previous }: Props) {
  const before = useRequest(previous.session, previous.event);
  if (before.data === undefined)
    return <p className="quiet small">{before.error === null ? "…" : "The call before cannot be read any more."}</p>;
  const old = before.data.request;
  return (
    <>
      {previous.changed.map((part) => (
        <figure key={part} className={classes["difference"]}>
          <figcaption className="quiet small">{part}</figcaption>
          <Lines lines={excerpt(textDifference(textOf(old[part], part), textOf(recorded.request[part], part)))} />
        </figure>
      ))}
    </>
  );
}

/** Longer ones are not compared: whoever reads them looks at both. */
const longestText = 200_000;
const mostLines = 300;

function textOf(value: unknown, part: Changed): string {
  if (value === undefined) return "";
  if (part === "tools")
    return (value as readonly { name: string; description: string }[]).map(({ name, description }) => `${name}: ${description}`).join("\n");
  return (typeof value === "string" ? value : JSON.stringify(value, undefined, 2)).slice(0, longestText);
}

const signs = { same: " ", removed: "-", added: "+" } as const;

function Lines({ lines }: { readonly lines: readonly (DifferentLine | undefined)[] }) {
  return (
    <pre className={classes["lines"]}>
      {lines.slice(0, mostLines).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of two texts that do not change
        <span key={index} data-sign={line?.sign ?? "left"}>
          {line === undefined ? "…" : `${signs[line.sign]} ${neutral(line.text.slice(0, 2000))}`}
          {"\n"}
        </span>
      ))}
      {lines.length > mostLines && `… ${plural(lines.length - mostLines, "more line")}`}
    </pre>
  );
}

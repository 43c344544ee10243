/** The messages that a model read, newest last. Those of the call before are folded. */
import { useState } from "react";
import type { RecordedRequest } from "../../../../src/client/client.ts";
import { plural } from "../../../../src/wire/format.ts";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { type GivenPart, Parts } from "../transcript/parts.tsx";
import classes from "./call.module.css";

type Message = RecordedRequest["request"]["messages"][number];

/** So many more are shown at a time, from the newest. */
const pageSize = 20;

export function RequestMessages({ messages, same }: { readonly messages: readonly Message[]; readonly same: number }) {
  const [from, setFrom] = useState(Math.max(same, messages.length - pageSize));
  const hidden = Math.min(from, messages.length);
  return (
    <section>
      <h2>
        Messages <span className="quiet small">{messages.length}</span>
      </h2>
      {hidden > 0 && (
        <button type="button" onClick={() => setFrom(Math.max(0, from - pageSize))}>
          {plural(hidden, "earlier message")}
          {hidden <= same ? ", as in the call before" : ""}: show {hidden > pageSize ? pageSize : "them"}
        </button>
      )}
      <ol className={classes["messages"]}>
        {messages.slice(from).map((message, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a request on record does not change
          <li key={from + index} className={classes["box"]} data-new={from + index >= same}>
            <p className={classes["role"]}>
              <strong>{message.role}</strong> {from + index >= same && <Badge tone="accent">new</Badge>}
            </p>
            <MessageBody message={message} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface Result {
  readonly tool: string;
  readonly outcome: string;
  readonly value: unknown;
}

function MessageBody({ message }: { readonly message: Message }) {
  const { text, parts, results } = message as { text?: string; parts?: readonly GivenPart[]; results?: readonly Result[] };
  if (results !== undefined)
    return (
      <>
        {results.map(({ tool, outcome, value }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: results of one round never move
          <div key={index} className={classes["result"]}>
            <p>
              <code className="given">{tool}</code> <StatusBadge status={outcome} />
            </p>
            {typeof value === "string" ? <GivenText text={value} mono /> : <JsonTree value={value} bare />}
          </div>
        ))}
      </>
    );
  if (parts !== undefined)
    return (
      <>
        <Parts parts={parts.filter(({ type }) => type !== "call")} />
        {parts
          .filter(({ type }) => type === "call")
          .map(({ tool, input = "" }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: calls of one reply never move
            <div key={index} className={classes["result"]}>
              <p>
                calls <code className="given">{tool}</code>
              </p>
              <GivenText text={input} mono />
            </div>
          ))}
      </>
    );
  return <GivenText text={text ?? ""} />;
}

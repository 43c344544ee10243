/** The tools that a model could call, and which of them it did. */
import { useState } from "react";
import type { RecordedRequest } from "../../../../src/client/client.ts";
import { count } from "../../../../src/wire/format.ts";
import { Badge } from "../../parts/badge.tsx";
import { clipped } from "../../parts/clipped.ts";
import { GivenText } from "../../parts/given-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import classes from "./call.module.css";

type Tool = RecordedRequest["request"]["tools"][number];

const most = 40;

export function ToolsOffered({ tools, called }: { readonly tools: readonly Tool[]; readonly called: readonly string[] }) {
  const [shown, setShown] = useState(most);
  const sorted = [...tools].sort((a, b) => Number(called.includes(b.name)) - Number(called.includes(a.name)));
  return (
    <section>
      <h2>
        Tools offered <span className="quiet small">{tools.length}</span>
      </h2>
      {tools.length === 0 && <p className="quiet">none</p>}
      <ul className={classes["tools"]}>
        {sorted.slice(0, shown).map((tool) => (
          <li key={tool.name}>
            <ToolOffered tool={tool} times={called.filter((name) => name === tool.name).length} />
          </li>
        ))}
      </ul>
      {tools.length > shown && (
        <button type="button" onClick={() => setShown(shown + 200)}>
          {count(tools.length - shown)} more
        </button>
      )}
    </section>
  );
}

function ToolOffered({ tool, times }: { readonly tool: Tool; readonly times: number }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code className="given">{tool.name}</code>{" "}
        {times > 0 && <Badge tone="ok">{times === 1 ? "called" : `called ${times} times`}</Badge>}{" "}
        <span className="quiet small given">{clipped(tool.description, 160)}</span>
      </summary>
      {isOpen && (
        <div className={classes["box"]}>
          <GivenText text={tool.description} />
          <JsonTree value={tool.input} open={2} />
        </div>
      )}
    </details>
  );
}

/** Something done: a tool, a check, a question, a choice, a look into memory. What it was given, and what it came to. */
import type { ReactNode } from "react";
import { seconds } from "../../../../src/wire/format.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { OpenCallBadge } from "../../session/open-calls.tsx";
import { ChangedFiles } from "./changed-files.tsx";
import { DecidedBy } from "./decided-by.tsx";
import { type Called, nameOf, type Returned } from "./effect-words.ts";
import { ItemCard, NotYet } from "./item-card.tsx";
import type { ItemProps } from "./item-props.ts";
import { RecalledMemories } from "./recalled-memories.tsx";
import classes from "./transcript.module.css";

export function EffectItem({ item, event, result, missing, choose }: ItemProps) {
  const { lineage } = useLineage();
  const op = lineage.kind(item.row).replace(/\.called$/, "");
  const called = event?.data as Called | undefined;
  const returned = result?.data as Returned | undefined;
  const spent = item.result === undefined ? undefined : lineage.spent(item.result);
  const trouble = item.result === undefined ? undefined : lineage.trouble(item.result);
  const aside = (
    <>
      {item.result === undefined ? <OpenCallBadge row={item.row} /> : <Outcome trouble={trouble} returned={returned} />}
      {called?.approval !== undefined &&
        (returned?.answer === undefined ? <Badge tone="warn">needs approval</Badge> : <Badge>needed approval</Badge>)}
      {((result?.facts["attempts"] as number | undefined) ?? 1) > 1 && <Badge>{String(result?.facts["attempts"])} tries</Badge>}
      <span className="quiet small number">{spent !== undefined && spent.ms > 0 && seconds(spent.ms)}</span>
    </>
  );
  const title = (
    <>
      <span className={classes["op"]}>{op}</span> <span className="given">{nameOf(op, called).slice(0, 200)}</span>
    </>
  );
  return (
    <ItemCard item={item} look="effect" title={title} aside={aside} choose={choose}>
      {called === undefined && <NotYet missing={missing} erased={event !== undefined} />}
      {called !== undefined && <Given op={op} called={called} returned={returned} />}
      {returned !== undefined && <CameTo op={op} returned={returned} trouble={trouble} />}
      {returned?.answer !== undefined && <DecidedBy answer={returned.answer} />}
      {returned?.acted !== undefined && returned.acted.changes.length > 0 && (
        <ChangedFiles
          session={lineage.branch(item.result ?? item.row)}
          from={lineage.id(item.row)}
          at={lineage.id(item.result ?? item.row)}
          paths={returned.acted.changes.map(({ path }) => path)}
        />
      )}
    </ItemCard>
  );
}

function Outcome({ trouble, returned }: { readonly trouble: string | undefined; readonly returned: Returned | undefined }) {
  if (trouble !== undefined) return <StatusBadge status={trouble} />;
  if (returned?.passed === undefined) return <StatusBadge status="ok" />;
  return <Badge tone={returned.passed ? "ok" : "bad"}>{returned.passed ? "passed" : "not passed"}</Badge>;
}

function Given({ op, called, returned }: { readonly op: string; readonly called: Called; readonly returned: Returned | undefined }) {
  if (op === "remember") return <Labelled label="content">{valueView(called.content)}</Labelled>;
  if (op === "forget") return <Labelled label="because">{valueView(called.reason)}</Labelled>;
  if (op === "route")
    return (
      <Labelled label="among">
        <span className="given">
          {called.candidates
            ?.map(({ name }) => name)
            .join(", ")
            .slice(0, 500)}
        </span>
      </Labelled>
    );
  if (called.input === undefined && called.raw === undefined) return null;
  const changed = op === "tool" && returned?.input !== undefined;
  return (
    <>
      <Labelled label="input">{valueView(called.input ?? called.raw)}</Labelled>
      {changed && <Labelled label="changed to">{valueView(returned?.input)}</Labelled>}
    </>
  );
}

function CameTo({ op, returned, trouble }: { readonly op: string; readonly returned: Returned; readonly trouble: string | undefined }) {
  const { value, message, reason, item } = returned;
  if (op === "recall" && Array.isArray(value)) return <RecalledMemories hits={value} injected={returned.injected} />;
  if ((op === "remember" || op === "forget") && item !== undefined)
    return (
      <Labelled label="as">
        <code className="given">
          {item.uri}@{item.version}
        </code>{" "}
        <span className="quiet small">
          {item.origin}, {item.trust}
        </span>
      </Labelled>
    );
  const said = trouble === undefined ? (value ?? reason) : (message ?? reason ?? value);
  return said === undefined ? null : <Labelled label="result">{valueView(said)}</Labelled>;
}

function Labelled({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className={classes["labelled"]}>
      <span className="quiet small">{label}</span>
      <div>{children}</div>
    </div>
  );
}

function valueView(value: unknown) {
  return typeof value === "string" ? <GivenText text={value} mono /> : <JsonTree value={value} bare />;
}

/** What a model said, or says just now. */

import { Link, useParams } from "@tanstack/react-router";
import { count, money, seconds } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { OpenCallBadge } from "../../session/open-calls.tsx";
import { ItemCard, NotYet } from "./item-card.tsx";
import type { ItemProps } from "./item-props.ts";
import { type GivenPart, Parts, Reasoning } from "./parts.tsx";
import classes from "./transcript.module.css";
import type { Writing } from "./use-written.ts";

interface Replied {
  readonly parts?: readonly GivenPart[];
  readonly model?: string;
  readonly finish?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly failures?: readonly { readonly message: string }[];
}

export function ReplyItem({ item, event, result, missing, choose, written }: ItemProps & { readonly written: Writing | undefined }) {
  const { session } = useParams({ from: "/s/$session" });
  const { lineage } = useLineage();
  const asked = event?.data as { readonly model: string } | undefined;
  const said = result?.data as Replied | undefined;
  const spent = item.result === undefined ? undefined : lineage.spent(item.result);
  const trouble = item.result === undefined ? undefined : lineage.trouble(item.result);
  const failed = said?.failures?.length ?? 0;
  const aside = (
    <>
      {item.result === undefined && (written === undefined ? <OpenCallBadge row={item.row} /> : <Badge tone="accent">writing</Badge>)}
      {trouble !== undefined && <StatusBadge status={trouble} />}
      {said?.finish === "length" && <Badge tone="warn">cut at its length</Badge>}
      {said?.finish === "refused" && <Badge tone="bad">refused</Badge>}
      {failed > 0 && (
        <span title={said?.failures?.map(({ message }) => neutral(message.slice(0, 200))).join("\n")}>
          <Badge tone="warn">{failed === 1 ? "1 failed try" : `${failed} failed tries`}</Badge>
        </span>
      )}
      <span className="quiet small number">
        {spent !== undefined && `${seconds(spent.ms)} · ${count(spent.input)} → ${count(spent.output)} tokens · ${money(spent.usd)}`}
      </span>
      <Link
        className="small"
        to="/s/$session/call"
        params={{ session }}
        search={(kept) => ({ ...kept, at: lineage.id(item.row) })}
        title="What exactly it read"
      >
        request
      </Link>
    </>
  );
  return (
    <ItemCard
      item={item}
      look="reply"
      title={<span className="given">{said?.model ?? asked?.model ?? "model"}</span>}
      aside={aside}
      choose={choose}
    >
      {said !== undefined && <Parts parts={said.parts ?? []} calls />}
      {said !== undefined && trouble !== undefined && <GivenText text={said.message ?? said.reason ?? trouble} />}
      {said === undefined && item.result !== undefined && <NotYet missing={missing} erased={result !== undefined} />}
      {item.result === undefined && written !== undefined && <BeingWritten written={written} />}
    </ItemCard>
  );
}

/** A reply as far as it has come. */
export function BeingWritten({ written }: { readonly written: Writing }) {
  return (
    <div className={classes["writing"]}>
      {written.reasoning !== "" && <Reasoning text={written.reasoning.slice(-4000)} open={written.text === ""} />}
      {written.text !== "" && <GivenText text={written.text.slice(-4000)} />}
    </div>
  );
}

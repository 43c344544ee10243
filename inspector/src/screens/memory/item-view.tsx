/** One memory: what it says, since when, what justifies it, where it was used, and how it came to be what it is. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { neutral, neutralJson } from "../../../../src/wire/neutral.ts";
import { useClient, useInfo, useMay } from "../../client.tsx";
import { Badge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loading } from "../../parts/loading.tsx";
import { ForgetDialog } from "./forget-dialog.tsx";
import { ItemFacts } from "./item-facts.tsx";
import classes from "./item-view.module.css";
import { PutDialog } from "./put-dialog.tsx";
import { RetractDialog } from "./retract-dialog.tsx";
import { UsedBy } from "./used-by.tsx";
import { Versions } from "./versions.tsx";
import { WhyMemory } from "./why-memory.tsx";

/** `name`: a uri, or uri@version. */
export function ItemView({ name, back }: { readonly name: string; readonly back: () => void }) {
  const { memory } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["memory", "item", name],
    queryFn: ({ signal }) => memory.get(name, { signal }),
  });
  return (
    <div className={classes["view"]}>
      <button type="button" data-look="plain" className={classes["back"]} onClick={back}>
        <Icon name="open" /> All memories
      </button>
      {data === undefined && error === null && <Loading what="the memory" />}
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data !== undefined && error === null && <Item item={data} />}
    </div>
  );
}

function Item({ item }: { readonly item: MemoryRecordResource }) {
  const { key, uri, version, state, content, value, trust, reason, erased } = item;
  return (
    <>
      <header className={classes["header"]}>
        <h2 className="given">{neutral(key.slice(0, 200))}</h2>
        <Badge tone={state === "retracted" ? "bad" : "ok"}>{state}</Badge>
        <Badge tone={trust === "untrusted" ? "warn" : "quiet"}>{trust}</Badge>
        <Verbs item={item} />
      </header>
      <p className={classes["uri"]}>
        <code className="quiet given">{neutral(`${uri}@${version}`.slice(0, 400))}</code>
        <CopyButton text={uri} what="the uri" />
      </p>
      <div className={classes["content"]} data-state={state}>
        {erased !== undefined ? (
          <p className="quiet">What it said was erased.</p>
        ) : content === "" ? (
          <p className="quiet">It says nothing any more.</p>
        ) : (
          <GivenText text={value === undefined ? content : neutralJson(value, 2)} mono={value !== undefined} />
        )}
      </div>
      {reason !== undefined && (
        <p>
          <span className="quiet">Reason: </span>
          <span className="given">{neutral(reason.slice(0, 2000))}</span>
        </p>
      )}
      <ItemFacts item={item} />
      <WhyMemory name={`${uri}@${version}`} />
      <UsedBy uri={uri} />
      <Versions uri={uri} current={version} />
    </>
  );
}

function Verbs({ item }: { readonly item: MemoryRecordResource }) {
  const mayWrite = useMay("memory:write");
  const { caller } = useInfo();
  const [asked, ask] = useState<"retract" | "forget" | "put">();
  if (!mayWrite) return null;
  const { state, scope, owner } = item;
  const close = (): void => ask(undefined);
  const isOwn = scope === "project" || (scope === "user" && owner === caller.identity);
  return (
    <span className={classes["verbs"]}>
      {isOwn && (
        <button type="button" onClick={() => ask("put")}>
          {state === "retracted" ? "Remember again…" : "Change…"}
        </button>
      )}
      {state !== "retracted" && (scope === "project" || scope === "user") && (
        <button type="button" onClick={() => ask("forget")}>
          Forget…
        </button>
      )}
      {state !== "retracted" && (
        <button type="button" data-look="bad" onClick={() => ask("retract")}>
          Retract…
        </button>
      )}
      {asked === "retract" && <RetractDialog item={item} close={close} />}
      {asked === "forget" && <ForgetDialog item={item} close={close} />}
      {asked === "put" && <PutDialog item={item} close={close} />}
    </span>
  );
}

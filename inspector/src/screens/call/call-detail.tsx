/** One model call: what it read, what of that was new, what it cost, and what was replied. */
import { Link, useParams } from "@tanstack/react-router";
import { count, seconds } from "../../../../src/wire/format.ts";
import { useRequest } from "../../actions/use-request.ts";
import { useEvent } from "../../lineage/use-event.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { StatusBadge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Loading } from "../../parts/loading.tsx";
import { OpenCallBadge } from "../../session/open-calls.tsx";
import { type GivenPart, Parts } from "../transcript/parts.tsx";
import classes from "./call.module.css";
import { ChangedSince } from "./changed-since.tsx";
import type { ModelCall } from "./model-calls.ts";
import { RequestMessages } from "./request-messages.tsx";
import { ToolsOffered } from "./tools-offered.tsx";
import { type Usage, UsageBar } from "./usage-bar.tsx";

interface Props {
  readonly chosen: ModelCall;
  readonly before: (() => void) | undefined;
  readonly next: (() => void) | undefined;
  readonly rerun: (() => void) | undefined;
}

interface Replied {
  readonly parts?: readonly GivenPart[];
  readonly finish?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly unpriced?: true;
}

export function CallDetail({ chosen, before, next, rerun }: Props) {
  const { lineage } = useLineage();
  const call = lineage.id(chosen.call);
  const request = useRequest(lineage.branch(chosen.call), call);
  const result = useEvent(chosen.result === undefined ? undefined : lineage.id(chosen.result));
  const replied = result.data?.data as Replied | undefined;
  const usage = result.data?.facts["usage"] as Usage | undefined;
  const called = (replied?.parts ?? []).flatMap(({ type, tool }) => (type === "call" && tool !== undefined ? [tool] : []));
  return (
    <div className={classes["detail"]}>
      <CallBar chosen={chosen} before={before} next={next} rerun={rerun} model={request.data?.request.model} />
      <div className={classes["body"]}>
        {usage !== undefined && <UsageBar usage={usage} unpriced={replied?.unpriced === true} />}
        <section>
          <h2>Reply</h2>
          {chosen.result === undefined && <p className="quiet">It was asked, and has not replied.</p>}
          {result.error !== null && <Failure error={result.error} retry={() => void result.refetch()} />}
          {replied !== undefined && (
            <div className={classes["box"]}>
              <Parts parts={replied.parts ?? []} calls />
              {(replied.message ?? replied.reason) !== undefined && <GivenText text={replied.message ?? replied.reason ?? ""} />}
            </div>
          )}
        </section>
        {request.error !== null && <Failure error={request.error} retry={() => void request.refetch()} />}
        {request.isPending && <Loading what="the request" />}
        {request.data !== undefined && (
          <>
            <ChangedSince recorded={request.data} />
            <section>
              <h2>Instructions</h2>
              <div className={classes["box"]}>
                {request.data.request.instructions === "" ? (
                  <p className="quiet">none</p>
                ) : (
                  <GivenText text={request.data.request.instructions} />
                )}
              </div>
            </section>
            <RequestMessages messages={request.data.request.messages} same={request.data.previous?.same ?? 0} />
            <ToolsOffered tools={request.data.request.tools} called={called} />
            <section>
              <h2>Settings</h2>
              <div className={classes["box"]}>
                <JsonTree value={request.data.request.settings} bare />
              </div>
            </section>
            {request.data.request.output !== undefined && (
              <section>
                <h2>Output schema</h2>
                <div className={classes["box"]}>
                  <JsonTree value={request.data.request.output} />
                </div>
              </section>
            )}
          </>
        )}
      </div>
    </div>
  );
}

function CallBar({ chosen, before, next, rerun, model }: Props & { readonly model: string | undefined }) {
  const { session } = useParams({ from: "/s/$session" });
  const { lineage } = useLineage();
  const { call, result } = chosen;
  const trouble = result === undefined ? undefined : lineage.trouble(result);
  const spent = result === undefined ? undefined : lineage.spent(result);
  return (
    <header className={classes["bar"]}>
      <h2 className="given">{model ?? "Model call"}</h2>
      <span className="quiet small">
        step {count(lineage.step(call))}
        {/* Some models have the name of whoever asks them. */}
        {lineage.by(call) !== model && (
          <>
            {" · "}
            <span className="given">{lineage.by(call)}</span>
          </>
        )}
        {spent !== undefined && ` · ${seconds(spent.ms)}`}
      </span>
      {result === undefined ? <OpenCallBadge row={call} /> : <StatusBadge status={trouble ?? "ok"} />}
      <CopyButton text={window.location.href} what="the link" />
      <span className={classes["verbs"]}>
        <Link className="small" to="/s/$session/transcript" params={{ session }} search={(kept) => ({ ...kept, at: lineage.id(call) })}>
          In the transcript
        </Link>
        <button type="button" disabled={before === undefined} onClick={before} title="[">
          Previous
        </button>
        <button type="button" disabled={next === undefined} onClick={next} title="]">
          Next
        </button>
        {rerun !== undefined && (
          <button type="button" data-look="main" onClick={rerun} title="r">
            Rerun with other instructions or another model…
          </button>
        )}
      </span>
    </header>
  );
}

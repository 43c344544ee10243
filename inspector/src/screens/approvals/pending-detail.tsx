/** One thing that waits, with all that whoever decides needs to see, and the ways to decide it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { PendingDetail as Detail } from "../../../../src/client/client.ts";
import { decidedText } from "../../../../src/wire/pending-line.ts";
import { useClient } from "../../client.tsx";
import { JsonText } from "../../desk/json-text.tsx";
import { Ago, Within } from "../../desk/time-text.tsx";
import { Badge } from "../../parts/badge.tsx";
import { Failure } from "../../parts/failure.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loading } from "../../parts/loading.tsx";
import { useKeys } from "../../shell/keys.ts";
import { ApprovalFacts } from "./approval-facts.tsx";
import classes from "./approvals.module.css";
import { type Deciding, useDeciding } from "./decide.ts";
import { DenyDialog, Problem } from "./deny-dialog.tsx";
import { fileCallOf } from "./dry-run.ts";
import { DryRunView } from "./dry-run-view.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { Input } from "./input.tsx";
import { QuestionForm } from "./question-form.tsx";
import { UnknownForm } from "./unknown-form.tsx";
import type { ForPeople } from "./waiting.ts";
import { kindWords, subjectOf } from "./words.ts";

interface Props {
  readonly pending: ForPeople;
  readonly decided: (id: string) => void;
  readonly back: () => void;
}

export function PendingDetail({ pending, decided, back }: Props) {
  const { pending: calls } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["pending", "one", pending.id],
    queryFn: ({ signal }) => calls.get(pending.id, { signal }),
  });
  const { kind, by, since, session, run } = pending;
  return (
    <article className={classes["detail"]} aria-labelledby="pending-title">
      <header className={classes["header"]}>
        <button type="button" data-look="plain" className={classes["back"]} onClick={back}>
          <Icon name="open" /> All that waits
        </button>
        <Badge tone={kind === "unknown" ? "bad" : kind === "approval" ? "warn" : "accent"}>{kindWords[kind]}</Badge>
        <h2 id="pending-title" tabIndex={-1} className="given" dir="auto">
          {kind === "approval" ? <code>{pending.tool}</code> : subjectOf(pending).slice(0, 1000)}
        </h2>
        <p className="quiet small">
          <span className="given">{by}</span> asked <Ago at={since} />
          {kind === "question" && pending.to !== undefined && <span className="given"> for {pending.to}</span>}
          {kind !== "unknown" && pending.expires !== undefined && (
            <>
              {" · expires "}
              <Within at={pending.expires} />
            </>
          )}
          {" · "}
          <Link to="/s/$session/transcript" params={{ session }} search={{ at: pending.id }}>
            session
          </Link>
          {run !== undefined && (
            <>
              {" · "}
              <Link to="/runs" search={{ run }}>
                run
              </Link>
            </>
          )}
        </p>
      </header>
      {data === undefined ? (
        error === null ? (
          <Loading what="what is asked" />
        ) : (
          <Failure error={error} retry={() => void refetch()} />
        )
      ) : (
        <Asked detail={data} pending={pending} decided={decided} />
      )}
    </article>
  );
}

function Asked({
  detail,
  pending,
  decided,
}: {
  readonly detail: Detail;
  readonly pending: ForPeople;
  readonly decided: (id: string) => void;
}) {
  const deciding = useDeciding(pending, decided);
  const form = useRef<HTMLFormElement>(null);
  const { decidable, waits, decision } = detail;
  const fileCall = pending.kind === "approval" ? fileCallOf(pending.tool, pending.input) : undefined;
  return (
    <>
      <div className={classes["body"]}>
        {pending.kind === "approval" && <ApprovalFacts detail={detail} changesFiles={fileCall !== undefined} />}
        {fileCall !== undefined && <DryRunView call={fileCall} session={pending.session} />}
        {pending.kind === "unknown" && (
          <p>It was started, and nobody knows whether it happened. Nothing goes on behind it before somebody says so.</p>
        )}
        {pending.kind !== "question" && <Input input={pending.input} />}
        {pending.kind === "question" && isLong(pending.question) && <GivenText text={pending.question} />}
        {detail.schema !== undefined && (
          <details>
            <summary>What the tool takes</summary>
            <div className={classes["json"]}>
              <JsonText value={detail.schema} />
            </div>
          </details>
        )}
        {decidable && pending.kind === "question" && <QuestionForm schema={pending.answer} {...{ deciding, form }} />}
        {decidable && pending.kind === "unknown" && <UnknownForm {...{ deciding, form }} />}
        {!waits && (
          <p role="status">
            It waits no longer
            {decision === undefined ? "." : `: ${decidedText(decision as never).slice(0, 500)}, by ${decision.by ?? "nobody"}.`}
          </p>
        )}
        {waits && !decidable && (
          <p className="quiet">
            You may not decide this{pending.kind === "question" && pending.to !== undefined ? `: it is for ${pending.to}` : ""}.
          </p>
        )}
      </div>
      {decidable && pending.kind === "approval" && <ApprovalActions {...{ detail, pending, deciding }} />}
      {decidable && pending.kind !== "approval" && <FormKey form={form} />}
    </>
  );
}

/** Whether the heading, which has two lines, may leave something out: then the question stands below it. */
function isLong(question: string): boolean {
  return question.length > 120 || question.includes("\n");
}

interface ActionsProps {
  readonly detail: Detail;
  readonly pending: Extract<ForPeople, { readonly kind: "approval" }>;
  readonly deciding: Deciding;
}

function ApprovalActions({ detail, pending, deciding }: ActionsProps) {
  const [asked, setAsked] = useState<"deny" | "edit">();
  const { send, busy, problem } = deciding;
  const approve = (): void => {
    if (!busy) void send({ approve: true }, "Approved");
  };
  useKeys([
    { keys: "a", does: "approve", act: approve },
    { keys: "d", does: "deny, with a reason", act: () => setAsked("deny") },
    { keys: "e", does: "approve with another input", act: () => setAsked("edit") },
  ]);
  const close = (): void => setAsked(undefined);
  return (
    <footer className={classes["footer"]}>
      {asked === undefined && <Problem text={problem} />}
      <button type="button" data-look="main" disabled={busy} onClick={approve}>
        Approve <kbd>a</kbd>
      </button>
      <button type="button" data-look="bad" disabled={busy} onClick={() => setAsked("deny")}>
        Deny… <kbd>d</kbd>
      </button>
      <button type="button" disabled={busy} onClick={() => setAsked("edit")}>
        Edit… <kbd>e</kbd>
      </button>
      {asked === "deny" && <DenyDialog what={pending.tool} {...{ deciding, close }} />}
      {asked === "edit" && <EditDialog what={pending.tool} input={pending.input} schema={detail.schema} {...{ deciding, close }} />}
    </footer>
  );
}

function FormKey({ form }: { readonly form: React.RefObject<HTMLFormElement | null> }) {
  useKeys([{ keys: "a", does: "answer", act: () => form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus() }]);
  return null;
}

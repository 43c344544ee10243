/** Can I trust this record? It is checked against its own hashes and signatures at once; against more when somebody asks. */
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Failure } from "../../parts/failure.tsx";
import { CheckList } from "./check-list.tsx";
import { Checking } from "./checking.tsx";
import { checklistOf } from "./checklist.ts";
import { Problems } from "./problems.tsx";
import { ReplaySteps } from "./replay-steps.tsx";
import { Statement } from "./statement.tsx";
import { type Asking, nothingMore, useVerification } from "./use-verification.ts";
import { Verdict } from "./verdict.tsx";
import classes from "./verify.module.css";
import { VerifyBar } from "./verify-bar.tsx";

export function VerifyScreen() {
  const { session } = useParams({ strict: false });
  return session === undefined ? null : <Verified key={session} session={session} />;
}

function Verified({ session }: { readonly session: string }) {
  const [asking, ask] = useState<Asking>(nothingMore);
  const { data, error, isFetching, refetch } = useVerification(session, asking);
  const again = (): void => void refetch();
  return (
    <div className={classes["screen"]}>
      <VerifyBar session={session} asking={asking} ask={ask} again={again} busy={isFetching} />
      <div className={classes["page"]} aria-busy={isFetching}>
        {isFetching && <Checking replay={asking.replay} />}
        {!isFetching && error !== null && <Failure error={error} retry={again} />}
        {!isFetching && data !== undefined && error === null && (
          <>
            <Verdict result={data} ask={(keys) => ask({ ...asking, keys })} />
            {data.found.problems.length > 0 && <Problems problems={data.found.problems} session={session} />}
            <CheckList checks={checklistOf(data.found, { anchored: asking.anchor !== undefined, replayed: asking.replay })} />
            {data.found.replays.length > 0 && <ReplaySteps replays={data.found.replays} />}
            <Statement found={data.found} session={session} />
          </>
        )}
      </div>
    </div>
  );
}

/** Why did two branches differ? Two places, and everything that is not the same behind them. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { useClient } from "../../client.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import { shortId } from "../../parts/short-id.ts";
import { useKeys } from "../../shell/keys.ts";
import { Candidates } from "./candidates.tsx";
import classes from "./diff.module.css";
import { DiffResult } from "./diff-result.tsx";
import { PlaceFields } from "./place-fields.tsx";

export function DiffScreen() {
  const { a = "", b = "" } = useSearch({ strict: false });
  const navigate = useNavigate();
  const choose = (places: { readonly a: string; readonly b: string }): void =>
    void navigate({ to: "/diff", search: (kept) => ({ ...kept, ...places, section: undefined }) });
  const swap = (): void => choose({ a: b, b: a });
  useKeys([{ keys: "x", does: "swap the two sides", act: swap }]);
  useEffect(() => {
    document.title = a === "" || b === "" ? "Compare · OpenRath" : `${shortId(a)} and ${shortId(b)} · OpenRath`;
  }, [a, b]);
  return (
    <div className={classes["screen"]}>
      <PlaceFields key={`fields ${a} ${b}`} a={a} b={b} choose={choose} swap={swap} />
      {a === "" || b === "" ? <Candidates a={a} b={b} choose={choose} /> : <Compared key={`${a} ${b}`} a={a} b={b} />}
    </div>
  );
}

function Compared({ a, b }: { readonly a: string; readonly b: string }) {
  const { project } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["diff", a, b],
    queryFn: ({ signal }) => project.diff({ a, b, signal }),
    gcTime: 60_000,
  });
  if (data !== undefined) return <DiffResult diff={data} />;
  return error === null ? <Loading what="both sides" /> : <Failure error={error} retry={() => void refetch()} />;
}

/** The files that an effect changed; what changed in them is read when somebody looks. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { plural } from "../../../../src/wire/format.ts";
import { useClient } from "../../client.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Patch } from "../../parts/patch.tsx";
import classes from "./transcript.module.css";

interface Props {
  readonly session: string;
  /** The call and its result. */
  readonly from: string;
  readonly at: string;
  readonly paths: readonly string[];
}

const named = 3;

export function ChangedFiles({ session, from, at, paths }: Props) {
  const [isOpen, setOpen] = useState(false);
  const more = paths.length - named;
  return (
    <details className={classes["fold"]} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        changed <span className="given mono">{paths.slice(0, named).join(", ").slice(0, 300)}</span>
        {more > 0 && ` and ${plural(more, "more file")}`}
      </summary>
      {isOpen && <Patches session={session} from={from} at={at} />}
    </details>
  );
}

function Patches({ session, from, at }: Omit<Props, "paths">) {
  const { sessions } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["changes", session, from, at],
    queryFn: ({ signal }) => sessions.changes(session, { from, at, patches: true, limit: 50, signal }).page(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading what="the changes" />;
  const patch = data.items.map((file) => file.patch ?? "").join("");
  const without = data.items.filter((file) => file.patch === undefined);
  return (
    <>
      {patch !== "" && <Patch patch={patch} />}
      {without.length > 0 && <p className="quiet">{plural(without.length, "file")} without a patch: too long to show here.</p>}
      {data.next !== undefined && <p className="quiet">There are more: see Files.</p>}
    </>
  );
}

/** What the moment changed in the files. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { plural } from "../../../../src/wire/format.ts";
import { useClient } from "../../client.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Patch } from "../../parts/patch.tsx";
import type { LookedPlace } from "../../session/use-place.ts";
import classes from "./scrubber.module.css";

const mostFiles = 20;

export function FilesThen({ place }: { readonly place: LookedPlace }) {
  const { lineage, row = 0, session, at } = place;
  const { sessions } = useClient();
  const before = lineage.parents(row)[0];
  const wrote = lineage.has(row, "files");
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["changes", session, "of", at],
    queryFn: ({ signal }) =>
      sessions
        .changes(session, {
          at,
          limit: mostFiles,
          patches: true,
          signal,
          from: before === undefined || before < 0 ? undefined : lineage.id(before),
        })
        .page(),
    enabled: wrote,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const patch = data?.items.map((item) => item.patch ?? "").join("") ?? "";
  return (
    <section className={classes["pane"]} data-wide="true" aria-label="Files" aria-busy={isPlaceholderData}>
      <h3>
        Files
        <Link to="/s/$session/files" params={{ session: lineage.session }} search={(kept) => ({ ...kept, at })}>
          all files then
        </Link>
        {wrote && (
          <Link to="/s/$session/files" params={{ session: lineage.session }} search={(kept) => ({ ...kept, at, since: "before" })}>
            what it changed
          </Link>
        )}
      </h3>
      {!wrote ? (
        <p className="quiet">This event changed no file.</p>
      ) : error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <p className="quiet">Reading…</p>
      ) : data.items.length === 0 ? (
        <p className="quiet">The files were recorded, and none of them is different.</p>
      ) : (
        <>
          <p className="quiet small">
            {data.next === undefined ? plural(data.items.length, "file") : `More than ${mostFiles} files`} changed by this event
          </p>
          {patch === "" ? <p className="given">{data.items.map((item) => item.path).join(", ")}</p> : <Patch patch={patch} />}
        </>
      )}
    </section>
  );
}

/** How it came to be what it is: every version, with what became of the words of the one before. */
import { useQuery } from "@tanstack/react-query";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { ago, plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { Badge } from "../../parts/badge.tsx";
import { EventLink } from "../../parts/event-link.tsx";
import { Failure } from "../../parts/failure.tsx";
import classes from "./item-view.module.css";
import { wordChanges } from "./word-changes.ts";

const mostRead = 200;
const longest = 4000;

export function Versions({ uri, current }: { readonly uri: string; readonly current: number }) {
  const { memory } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["memory", "versions", uri],
    queryFn: ({ signal }) => memory.history(uri, { limit: mostRead, signal }).page(),
  });
  const versions = data?.items ?? [];
  return (
    <section aria-labelledby="versions">
      <h3 id="versions">Versions</h3>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <p className="quiet">Reading its versions…</p>}
      {data?.next !== undefined && <p className="quiet small">Only the first {plural(mostRead, "version")} are shown.</p>}
      <ol className={classes["versions"]} reversed>
        {versions
          .map((version, index) => (
            <VersionView key={version.version} version={version} before={versions[index - 1]} current={version.version === current} />
          ))
          .reverse()}
      </ol>
    </section>
  );
}

interface Props {
  readonly version: MemoryRecordResource;
  readonly before: MemoryRecordResource | undefined;
  readonly current: boolean;
}

function VersionView({ version, before, current }: Props) {
  const { version: number, state, by, at, reason, content, session, event, revision } = version;
  return (
    <li className={classes["version"]} data-current={current}>
      <span className={classes["line"]}>
        <strong>v{number}</strong>
        <Badge tone={state === "retracted" ? "bad" : "ok"}>{state}</Badge>
        <span className="given clip">{neutral(by.slice(0, 120))}</span>
        <span className="quiet small">
          {ago(at, new Date())} · revision {revision}
        </span>
        {session !== undefined && <EventLink session={session} event={event} />}
      </span>
      {reason !== undefined && <span className="quiet small given">{neutral(reason.slice(0, 500))}</span>}
      <span className={classes["words"]}>
        {before === undefined ? neutral(content.slice(0, longest)) : <ChangedWords before={before.content} after={content} />}
        {content.length > longest && "…"}
      </span>
    </li>
  );
}

function ChangedWords({ before, after }: { readonly before: string; readonly after: string }) {
  if (before === after) return <span className="quiet small">the same words</span>;
  return wordChanges(before.slice(0, longest), after.slice(0, longest)).map(({ kind, text }, index) => {
    const shown = neutral(text);
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a text have no other name
    if (kind === "same") return <span key={index}>{shown}</span>;
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a text have no other name
    return kind === "added" ? <ins key={index}>{shown}</ins> : <del key={index}>{shown}</del>;
  });
}

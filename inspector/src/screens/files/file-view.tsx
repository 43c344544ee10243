/** One file: what changed in it, what it says, and who wrote it. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { ChangedFile } from "../../../../src/client/client.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { saveAnswer } from "../../actions/save-file.ts";
import { useClient } from "../../client.tsx";
import { Badge } from "../../parts/badge.tsx";
import { CodeBlock } from "../../parts/code-block.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Patch } from "../../parts/patch.tsx";
import type { LookedPlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import { sayFailure } from "../../shell/toasts.tsx";
import { Blame } from "./blame.tsx";
import type { Compared } from "./compared.ts";
import type { Content } from "./content.ts";
import classes from "./files.module.css";
import { useContent, usePatch } from "./use-files.ts";

type Shown = "patch" | "content" | "blame";
const words: Readonly<Record<Shown, string>> = { patch: "Changes", content: "Content", blame: "Who wrote it" };

interface Props {
  readonly place: LookedPlace;
  readonly compared: Compared;
  readonly path: string;
  readonly items: readonly ChangedFile[];
}

export function FileView({ place, compared, path, items }: Props) {
  const navigate = useNavigate();
  const { sessions } = useClient();
  const { show } = useSearch({ strict: false }) as { show?: string };
  const change = items.find((item) => item.path === path);
  const shown: Shown = show === "content" || show === "blame" ? show : change === undefined ? "content" : "patch";
  const go = (to: Shown): void =>
    void navigate({ to: ".", search: (kept: object) => ({ ...kept, path, show: to, line: undefined }), replace: true });
  const download = async (): Promise<void> => {
    const response = await sessions.file(place.session, { path, at: place.at });
    await saveAnswer(path.slice(path.lastIndexOf("/") + 1), response);
  };
  useKeys([
    { keys: "p", does: "what changed in the file", act: () => go("patch") },
    { keys: "n", does: "what the file says", act: () => go("content") },
    { keys: "b", does: "who wrote its lines", act: () => go("blame") },
  ]);
  return (
    <article className={classes["file"]} aria-label={neutral(path)}>
      <header className={classes["head"]}>
        <h3 className="mono given clip">{neutral(path)}</h3>
        <CopyButton text={path} what="the path" />
        {change !== undefined && (
          <Badge tone={change.kind === "added" ? "ok" : change.kind === "removed" ? "bad" : "accent"}>{change.kind}</Badge>
        )}
        <fieldset className={classes["shown"]}>
          <legend className="unseen">What of the file</legend>
          {(["patch", "content", "blame"] as const).map((one) => (
            <button key={one} type="button" data-look="plain" aria-pressed={shown === one} onClick={() => go(one)}>
              {words[one]}
            </button>
          ))}
        </fieldset>
        {change?.kind !== "removed" && (
          <button
            type="button"
            data-look="plain"
            aria-label="Download the file"
            title="Download the file"
            onClick={() => download().catch(sayFailure)}
          >
            <Icon name="download" />
          </button>
        )}
      </header>
      <div className={classes["body"]} data-shown={shown}>
        {shown === "patch" ? (
          <PatchOf place={place} compared={compared} path={path} items={items} />
        ) : change?.kind === "removed" ? (
          <Empty title="It was removed">What changed shows what it said.</Empty>
        ) : shown === "blame" ? (
          <Blame place={place} path={path} />
        ) : (
          <ContentOf place={place} path={path} />
        )}
      </div>
    </article>
  );
}

function PatchOf({ place, compared, path, items }: Props) {
  const { data, error, refetch, isLoading } = usePatch(place, compared, path, items);
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (isLoading) return <Loading what="what changed" />;
  if (data === undefined) return <Empty title="Nothing is different in this file">Its content is what it was when it was compared.</Empty>;
  if (data.of !== undefined && data.patch === undefined) return <Empty title={`Only its ${data.of} is different`} />;
  if (data.patch === undefined) return <Empty title="It is too long for a patch">Its content can be read and downloaded.</Empty>;
  return <Patch patch={data.patch} path={path} />;
}

function ContentOf({ place, path }: Pick<Props, "place" | "path">) {
  const { data, error, refetch } = useContent(place, path, true);
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  return data === undefined ? <Loading what="the file" /> : <ShownContent content={data} path={path} />;
}

function ShownContent({ content, path }: { readonly content: Content; readonly path: string }) {
  switch (content.type) {
    case "text":
      return content.text === "" ? <Empty title="The file is empty" /> : <CodeBlock text={content.text} path={path} fill />;
    case "picture":
      return <Picture bytes={content.bytes} media={content.media} path={path} />;
    case "bytes":
      return <Empty title="It is no text">It can be downloaded.</Empty>;
    default:
      return content satisfies never;
  }
}

function Picture({ bytes, media, path }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly media: string; readonly path: string }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type: media }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, media]);
  return url === undefined ? null : <img className={classes["picture"]} src={url} alt={`What ${neutral(path)} shows`} />;
}

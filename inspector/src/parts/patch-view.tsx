/** A patch file by file, side by side or one below the other. Large ones begin folded. */
import { useMemo, useState, useSyncExternalStore } from "react";
import { Decoration, Diff, Hunk, type HunkData, type HunkTokens, markEdits, tokenize } from "react-diff-view";
import "react-diff-view/style/index.css";
import { count } from "../../../src/wire/format.ts";
import { CodeBlock } from "./code-block.tsx";
import { Empty } from "./empty.tsx";
import { Icon } from "./icon.tsx";
import type { ShownPart } from "./long-lines.ts";
import classes from "./patch-view.module.css";
import { type FilePatch, firstChanges, readPatch } from "./read-patch.ts";
import { useNarrow } from "./use-narrow.ts";

type Look = "split" | "unified";
const looks: readonly Look[] = ["split", "unified"];

const shownAtFirst = 150;
const shownMore = 400;
/** Files beyond these are folded until somebody opens them. */
const mostOpen = 3;
const mostFiles = 100;

export function PatchView({ patch, path }: { readonly patch: string; readonly path?: string | undefined }) {
  const files = useMemo(() => readPatch(patch, path), [patch, path]);
  const [look, choose] = useLook();
  if (patch.trim() === "") return <Empty title="Nothing is different" />;
  if (files === undefined) return <CodeBlock text={patch} path={`${path ?? "text"}.diff`} />;
  return (
    <div className={classes["patch"]}>
      <fieldset className={classes["look"]}>
        <legend className="unseen">How the patch is shown</legend>
        {looks.map((one) => (
          <button key={one} type="button" data-look="plain" aria-pressed={look === one} onClick={() => choose(one)}>
            {one === "split" ? "Side by side" : "Unified"}
          </button>
        ))}
      </fieldset>
      {files.slice(0, mostFiles).map((file) => (
        <FileView key={file.place} file={file} look={look} opened={file.place < mostOpen} alone={files.length === 1} />
      ))}
      {files.length > mostFiles && <p className="quiet small">{count(files.length - mostFiles)} more files are not shown.</p>}
    </div>
  );
}

interface FileProps {
  readonly file: FilePatch;
  readonly look: Look;
  readonly opened: boolean;
  readonly alone: boolean;
}

function FileView({ file, look, opened, alone }: FileProps) {
  const { path, was, added, removed } = file;
  const [isOpen, setOpen] = useState(opened);
  return (
    <section className={classes["file"]} aria-label={`Changes of ${path}`}>
      <h3 className={classes["name"]}>
        <button type="button" data-look="plain" aria-expanded={isOpen} disabled={alone} onClick={() => setOpen(!isOpen)}>
          {!alone && <Icon name={isOpen ? "shut" : "open"} />}
          <span className="mono given">{was === undefined ? path : `${was} to ${path}`}</span>
        </button>
        <span className="quiet small">{wordOf(file)}</span>
        <span className={classes["added"]}>+{count(added)}</span>
        <span className={classes["removed"]}>−{count(removed)}</span>
      </h3>
      {isOpen && <Hunks file={file} look={look} />}
    </section>
  );
}

function Hunks({ file, look }: { readonly file: FilePatch; readonly look: Look }) {
  const [most, setMost] = useState(shownAtFirst);
  const shown = useMemo(() => [...firstChanges(file.hunks, most)], [file, most]);
  const tokens = useMemo(() => edits(shown), [shown]);
  const widgets = useMemo(() => Object.fromEntries([...file.parts].map(([key, part]) => [key, <Left key={key} part={part} />])), [file]);
  const total = file.hunks.reduce((sum, { changes }) => sum + changes.length, 0);
  if (total === 0) return <p className={classes["none"]}>{file.binary ? "Bytes that are no text." : "No line is different."}</p>;
  const sided = file.type === "add" || file.type === "delete" ? "unified" : look;
  return (
    <div className={classes["hunks"]}>
      <Diff viewType={sided} diffType={file.type} hunks={shown} tokens={tokens ?? null} widgets={widgets}>
        {(hunks) =>
          hunks.flatMap((hunk) => [
            <Decoration key={`about ${hunk.content}`} className={classes["about"] ?? ""}>
              <span className="given">{hunk.content}</span>
            </Decoration>,
            <Hunk key={hunk.content} hunk={hunk} />,
          ])
        }
      </Diff>
      {total > most && (
        <button type="button" className={classes["more"]} onClick={() => setMost(most + shownMore)}>
          {count(total - most)} more lines: show {total - most > shownMore ? count(shownMore) : "them"}
        </button>
      )}
    </div>
  );
}

/** Below a long line: what of it is above. */
function Left({ part: { from, to, of } }: { readonly part: ShownPart }) {
  return (
    <span className={classes["left"]}>
      characters {count(from)} to {count(to)} of {count(of)}
    </span>
  );
}

/** Which words of a line are different; only where that is quickly found. */
function edits(hunks: HunkData[]): HunkTokens | undefined {
  const changes = hunks.flatMap((hunk) => hunk.changes);
  const size = changes.reduce((sum, { content }) => sum + content.length, 0);
  const reach = Math.max(0, ...hunks.map(({ oldStart, newStart }) => Math.max(oldStart, newStart)));
  if (changes.length > 600 || size > 20_000 || reach > 50_000) return undefined;
  try {
    return tokenize(hunks, { highlight: false, enhancers: [markEdits(hunks, { type: "block" })] });
  } catch {
    return undefined;
  }
}

function wordOf({ type, binary }: FilePatch): string {
  const words = { add: "added", delete: "removed", modify: "", rename: "renamed", copy: "copied" } as const;
  return [words[type], binary ? "bytes" : ""].filter((word) => word !== "").join(", ");
}

const place = "openrath.patch";
const listeners = new Set<() => void>();

/** Everybody who reads patches here reads them the same way. */
function useLook(): readonly [Look, (look: Look) => void] {
  const isNarrow = useNarrow();
  const chosen = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    (): Look | undefined => looks.find((look) => look === localStorage.getItem(place)),
  );
  return [
    // Two halves of a phone are too narrow to read code in, unless somebody wants it so.
    chosen ?? (isNarrow ? "unified" : "split"),
    (look) => {
      localStorage.setItem(place, look);
      for (const listener of listeners) listener();
    },
  ];
}

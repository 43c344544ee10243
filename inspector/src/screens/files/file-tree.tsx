/** All files at the place, a directory at a time: each is read when it is opened. */

import { type KeyboardEvent, useState } from "react";
import type { FileEntry } from "../../../../src/client/client.ts";
import { size } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { Failure } from "../../parts/failure.tsx";
import { Icon } from "../../parts/icon.tsx";
import classes from "./files.module.css";
import { type Asked, useDirectory } from "./use-files.ts";

interface Props {
  readonly place: Asked;
  readonly chosen: string | undefined;
  readonly choose: (path: string) => void;
}

export function FileTree({ place, chosen, choose }: Props) {
  return (
    <section aria-label="All files">
      <h3>All files</h3>
      <Directory place={{ session: place.session, at: place.at, named: place.named }} under="" depth={0} chosen={chosen} choose={choose} />
    </section>
  );
}

function Directory({ place, under, depth, chosen, choose }: Props & { readonly under: string; readonly depth: number }) {
  const { data, error, refetch, hasNextPage, fetchNextPage } = useDirectory(place, under);
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <p className="quiet small">Reading…</p>;
  const entries = data.pages.flatMap((page) => page.items);
  return (
    <>
      <ul onKeyDown={moveFocus}>
        {entries.map((entry) =>
          entry.type === "directory" ? (
            <Folder key={entry.path} entry={entry} place={place} depth={depth} chosen={chosen} choose={choose} />
          ) : (
            <li key={entry.path}>
              <button
                type="button"
                data-look="plain"
                className={classes["entry"]}
                style={{ paddingLeft: indent(depth) }}
                aria-current={entry.path === chosen}
                title={neutral(titleOf(entry))}
                disabled={entry.type !== "file" && entry.type !== "link"}
                onClick={() => choose(entry.path)}
              >
                <span className="clip given">{nameOf(entry.path)}</span>
                <span className={classes["size"]}>{entry.type === "file" ? size(entry.size ?? 0) : entry.type}</span>
              </button>
            </li>
          ),
        )}
      </ul>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More of {under === "" ? "the files" : nameOf(under)}
        </button>
      )}
    </>
  );
}

function Folder({ entry, place, depth, chosen, choose }: Props & { readonly entry: FileEntry; readonly depth: number }) {
  const [isOpen, setOpen] = useState(chosen?.startsWith(`${entry.path}/`) === true);
  return (
    <li>
      <button
        type="button"
        data-look="plain"
        className={classes["entry"]}
        style={{ paddingLeft: indent(depth) }}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={isOpen ? "shut" : "open"} />
        <span className="clip given">{nameOf(entry.path)}</span>
      </button>
      {isOpen && <Directory place={place} under={entry.path} depth={depth + 1} chosen={chosen} choose={choose} />}
    </li>
  );
}

/** Up and down from one entry to the next, as in other trees. */
function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const buttons = [...(event.currentTarget.closest("section")?.querySelectorAll<HTMLElement>("li button:not(:disabled)") ?? [])];
  const next = buttons[buttons.indexOf(document.activeElement as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1)];
  event.preventDefault();
  event.stopPropagation();
  next?.focus();
}

function indent(depth: number): string {
  return `${0.375 + depth * 0.875}rem`;
}

function nameOf(path: string): string {
  return neutral(path.slice(path.lastIndexOf("/") + 1));
}

function titleOf({ path, type, target, why }: FileEntry): string {
  return [path, type === "file" ? "" : type, target === undefined ? "" : `to ${target}`, why ?? ""]
    .filter((part) => part !== "")
    .join(", ");
}

/** A text is looked for in everything that was said and done; what is found is listed and can be walked through. */
import { useEffect, useRef, useState } from "react";
import { count } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { agentName } from "../../parts/agent-name.ts";
import { Icon } from "../../parts/icon.tsx";
import { kindWords } from "./row-look.ts";
import classes from "./search-bar.module.css";
import type { Hit, Hits } from "./use-hits.ts";

interface Props {
  readonly text: string;
  readonly found: Hits;
  /** The hit that was gone to last. */
  readonly current: number;
  readonly ask: (text: string) => void;
  readonly go: (index: number) => void;
  readonly close: () => void;
}

const askMs = 250;

export function SearchBar({ text, found, current, ask, go, close }: Props) {
  const [written, setWritten] = useState(text);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    const timer = setTimeout(() => written !== text && ask(written), askMs);
    return () => clearTimeout(timer);
  }, [written, text, ask]);
  return (
    <search className={classes["search"]}>
      <form
        className={classes["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (written !== text) ask(written);
          else if (found.hits.length > 0) go(current + 1);
        }}
      >
        <input
          ref={field}
          type="search"
          aria-label="Text to look for"
          placeholder="Text in messages, calls, results…"
          value={written}
          maxLength={1000}
          onChange={(event) => setWritten(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && close()}
        />
        <span className="quiet small number" role="status">
          {statusOf(text, found, current)}
        </span>
        <button type="button" data-look="plain" aria-label="Close the search" onClick={close}>
          <Icon name="close" />
        </button>
      </form>
      {found.hits.length > 0 && (
        <ul className={classes["hits"]} aria-label="Found">
          {found.hits.map((hit, index) => (
            <HitLine
              key={`${hit.event} ${hit.where} ${hit.line} ${hit.start}`}
              hit={hit}
              current={index === current}
              go={() => go(index)}
            />
          ))}
          {found.more !== undefined && (
            <li>
              <button type="button" data-look="plain" onClick={found.more}>
                More…
              </button>
            </li>
          )}
        </ul>
      )}
    </search>
  );
}

function statusOf(text: string, { hits, looking, error, more }: Hits, current: number): string {
  if (text === "") return "";
  if (error !== null && error !== undefined) return "the search failed";
  if (looking && hits.length === 0) return "looking…";
  if (hits.length === 0) return "nothing found";
  const all = `${count(hits.length)}${more === undefined ? "" : "+"}`;
  return current < 0 ? `${all} found` : `${count(current + 1)} of ${all}`;
}

function HitLine({ hit, current, go }: { readonly hit: Hit; readonly current: boolean; readonly go: () => void }) {
  const { excerpt, start, end, kind, where } = hit;
  const line = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (current) line.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    <li>
      <button
        ref={line}
        type="button"
        data-look="plain"
        className={classes["hit"]}
        aria-current={current ? "true" : undefined}
        onClick={go}
      >
        <span className="quiet number">{count(hit.step)}</span>
        <span className="quiet given clip">{agentName(hit.by)}</span>
        <span className="quiet given clip" title={neutral(where)}>
          {kindWords(kind)} · {neutral(where)}
        </span>
        <span className="given clip">
          {neutral(excerpt.slice(0, start))}
          <mark>{neutral(excerpt.slice(start, end))}</mark>
          {neutral(excerpt.slice(end))}
        </span>
      </button>
    </li>
  );
}

/**
 * The text of a file, with line numbers and colours. Only the lines that are on screen are in the page; very long lines and texts are
 * cut, and large ones have no colours.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { count, plural } from "../../../src/wire/format.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import classes from "./code-block.module.css";
import type { Token } from "./highlight.ts";

interface Props {
  readonly text: string;
  /** Says which language it is, and what is shown to whoever cannot see it. */
  readonly path: string;
  /** Takes the height that there is instead of as much as the text needs. */
  readonly fill?: boolean;
  /** What stands before a line, counted from 1. */
  readonly gutter?: ((line: number) => ReactNode) | undefined;
  /** A line that is pointed at. */
  readonly line?: number | undefined;
}

const lineHeight = 20;
const mostColoured = 200_000;
const mostShown = 2_000_000;
const longestLine = 2000;

export function CodeBlock({ text, path, fill = false, gutter, line: chosen }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const { lines, longest } = useMemo(() => linesOf(text), [text]);
  const tokens = useTokens(lines, path, text.length <= mostColoured);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => element.current,
    estimateSize: () => lineHeight,
    overscan: 10,
    paddingStart: 4,
    paddingEnd: 4,
  });
  useEffect(() => {
    if (chosen !== undefined) virtual.scrollToIndex(chosen - 1, { align: "center" });
  }, [chosen, virtual]);
  return (
    <figure className={classes["block"]} data-fill={fill}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <section ref={element} className={classes["scroll"]} aria-label={`Content of ${neutral(path)}`} tabIndex={0}>
        <div className={classes["lines"]} style={{ height: virtual.getTotalSize(), width: `max(100%, ${longest + 12}ch)` }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              className={classes["line"]}
              data-chosen={index + 1 === chosen || undefined}
              style={{ transform: `translateY(${start}px)` }}
            >
              {gutter?.(index + 1)}
              <span className={classes["number"]} aria-hidden="true">
                {index + 1}
              </span>
              <code className={classes["code"]}>{codeOf(lines[index] ?? "", tokens[index])}</code>
            </div>
          ))}
        </div>
      </section>
      {text.length > mostShown && (
        <figcaption className="quiet small">
          The first {count(mostShown)} of {count(text.length)} characters
        </figcaption>
      )}
    </figure>
  );
}

function codeOf(line: string, tokens: readonly Token[] | undefined): ReactNode {
  if (tokens === undefined) return line;
  return tokens.map(({ at, text, colour }) => (
    <span key={at} style={{ color: colour }}>
      {text}
    </span>
  ));
}

function linesOf(text: string): { readonly lines: readonly string[]; readonly longest: number } {
  const lines = neutral(text.slice(0, mostShown)).split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  const cut = lines.map((line) =>
    line.length <= longestLine ? line : `${line.slice(0, longestLine)} … ${plural(line.length - longestLine, "more character")}`,
  );
  return { lines: cut, longest: cut.reduce((most, line) => Math.max(most, line.length), 0) };
}

function useTokens(lines: readonly string[], path: string, wanted: boolean): readonly (readonly Token[])[] {
  const [found, setFound] = useState<{ readonly of: readonly string[]; readonly tokens: readonly (readonly Token[])[] }>();
  useEffect(() => {
    if (!wanted) return;
    const stop = new AbortController();
    const colour = async (): Promise<void> => {
      const { highlight, languageOf } = await import("./highlight.ts");
      const language = languageOf(path);
      if (language === undefined || stop.signal.aborted) return;
      await highlight(lines, language, { signal: stop.signal, done: (tokens) => !stop.signal.aborted && setFound({ of: lines, tokens }) });
    };
    // Without colours it is the same text.
    colour().catch(() => {});
    return () => stop.abort();
  }, [lines, path, wanted]);
  return found?.of === lines ? found.tokens : [];
}

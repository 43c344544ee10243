/** The parts of something said. Reasoning is folded; files are named, not shown. */
import { size } from "../../../../src/wire/format.ts";
import { GivenText } from "../../parts/given-text.tsx";
import classes from "./transcript.module.css";

/** A part as events have it. */
export interface GivenPart {
  readonly type: string;
  readonly text?: string;
  readonly tool?: string;
  readonly input?: string;
  readonly mediaType?: string;
  readonly data?: { readonly base64?: string };
  readonly url?: string;
  readonly title?: string;
}

export function Parts({ parts, calls = false }: { readonly parts: readonly GivenPart[]; readonly calls?: boolean }) {
  return (
    <>
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts on record never move
        <PartView key={index} part={part} calls={calls} />
      ))}
    </>
  );
}

function PartView({ part, calls }: { readonly part: GivenPart; readonly calls: boolean }) {
  switch (part.type) {
    case "text":
      return <GivenText text={part.text ?? ""} />;
    case "reasoning":
      return <Reasoning text={part.text ?? ""} />;
    case "file":
      return (
        <p className="quiet">
          file <span className="given">{part.mediaType}</span>
          {part.data?.base64 !== undefined && `, ${size((part.data.base64.length * 3) / 4)}`}
          {part.url !== undefined && <code className="given">{part.url.slice(0, 500)}</code>}
        </p>
      );
    case "source":
      return (
        <p className="quiet small">
          source <span className="given">{(part.title ?? part.url ?? "").slice(0, 500)}</span>
        </p>
      );
    case "call":
      return calls ? (
        <p className="quiet small">
          calls <code className="given">{part.tool}</code>
        </p>
      ) : null;
    default:
      return <p className="quiet small">{part.type}</p>;
  }
}

export function Reasoning({ text, open = false }: { readonly text: string; readonly open?: boolean }) {
  return (
    <details className={classes["fold"]} open={open}>
      <summary>reasoning</summary>
      <GivenText text={text} />
    </details>
  );
}

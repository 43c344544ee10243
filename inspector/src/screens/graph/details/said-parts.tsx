/** Pieces of what was said: text, thoughts, calls, files and sources. */
import { size } from "../../../../../src/wire/format.ts";
import { GivenText } from "../../../parts/given-text.tsx";
import classes from "./details.module.css";

export interface SaidPart {
  readonly type: string;
  readonly text?: string;
  readonly tool?: string;
  readonly input?: unknown;
  readonly mediaType?: string;
  readonly url?: string;
  readonly title?: string;
  readonly data?: { readonly base64?: string };
}

const most = 50;

export function SaidParts({ parts }: { readonly parts: readonly SaidPart[] }) {
  return (
    <>
      {parts.slice(0, most).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: what is on record does not change its order
        <PartContent key={index} part={part} />
      ))}
      {parts.length > most && <p className="quiet">and {parts.length - most} more parts</p>}
    </>
  );
}

function PartContent({ part }: { readonly part: SaidPart }) {
  switch (part.type) {
    case "text":
      return <GivenText text={part.text ?? ""} />;
    case "reasoning":
      return (
        <details>
          <summary className="quiet">Reasoning</summary>
          <GivenText text={part.text ?? ""} />
        </details>
      );
    case "call":
      return (
        <p className={classes["call"]}>
          calls <code className="given">{part.tool}</code>
        </p>
      );
    case "file":
      return (
        <p className="quiet">
          file, {part.mediaType}
          {part.data?.base64 !== undefined && `, ${size((part.data.base64.length * 3) / 4)}`}
        </p>
      );
    default:
      return (
        <p className="quiet given">
          {[part.type, part.title, part.url]
            .filter((text) => text !== undefined)
            .join(" · ")
            .slice(0, 500)}
        </p>
      );
  }
}

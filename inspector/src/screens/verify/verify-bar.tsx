/** What is to be checked, and the command that does the same. */
import { type ChangeEvent, useId } from "react";
import { useInfo, useMay } from "../../client.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { sayFailure } from "../../shell/toasts.tsx";
import { commandOf } from "./checklist.ts";
import type { Asking } from "./use-verification.ts";
import classes from "./verify.module.css";

/** What the server takes. */
const longestAnchor = 1_000_000;

interface Props {
  readonly session: string;
  readonly asking: Asking;
  readonly ask: (asking: Asking) => void;
  readonly again: () => void;
  readonly busy: boolean;
}

export function VerifyBar({ session, asking, ask, again, busy }: Props) {
  const mayReplay = useMay("runs:write");
  const field = useId();
  const { store } = useInfo();
  const command = commandOf(session, { anchor: asking.anchor?.name, replay: asking.replay, keys: asking.keys });
  const take = (event: ChangeEvent<HTMLInputElement>): void => {
    const file = event.target.files?.[0];
    event.target.value = "";
    if (file !== undefined) readAnchor(file).then((anchor) => ask({ ...asking, anchor }), sayFailure);
  };
  return (
    <div className={classes["bar"]}>
      <button type="button" data-look="main" onClick={again} disabled={busy}>
        Check again
      </button>
      <span className={classes["anchor"]}>
        <label htmlFor={field}>Anchor</label>
        {asking.anchor === undefined ? (
          <input id={field} type="file" accept=".jsonl,.json,.txt" onChange={take} disabled={busy} />
        ) : (
          <>
            <output id={field} className="mono given">
              {asking.anchor.name.slice(0, 60)}
            </output>
            <button type="button" onClick={() => ask({ ...asking, anchor: undefined })} disabled={busy}>
              Without it
            </button>
          </>
        )}
      </span>
      {mayReplay && (
        <label className={classes["choice"]}>
          <input
            type="checkbox"
            checked={asking.replay}
            disabled={busy}
            onChange={(event) => ask({ ...asking, replay: event.target.checked })}
          />
          Replay its runs, too
        </label>
      )}
      {/* No other process finds what is held in memory, like a file that is looked at. */}
      {store !== "memory" && (
        <span className={classes["command"]}>
          <code className="clip" title={command}>
            {command}
          </code>
          <CopyButton text={command} what="the command that does the same" />
        </span>
      )}
    </div>
  );
}

async function readAnchor(file: File): Promise<{ readonly name: string; readonly text: string }> {
  if (file.size > longestAnchor) throw new Error(`${file.name} is too large for an anchor: it has more than ${longestAnchor} bytes.`);
  return { name: file.name, text: await file.text() };
}

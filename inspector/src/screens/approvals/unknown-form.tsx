/** What became of an effect that was started and has no result: somebody looked, and says so. */
import { type FormEvent, type RefObject, useState } from "react";
import type { DecisionRequest } from "../../../../src/client/client.ts";
import { parsed } from "../../desk/json-field.tsx";
import classes from "./approvals.module.css";
import type { Deciding } from "./decide.ts";
import { Problem } from "./deny-dialog.tsx";

type Became = "ok" | "error" | "run-again";

const words: Readonly<Record<Became, readonly [string, string]>> = {
  ok: ["It happened", "its result is what you write"],
  error: ["It failed", "it had no effect, and the work goes on with an error"],
  "run-again": ["Run it again", "it never happened, or does no harm twice"],
};

interface Props {
  readonly deciding: Deciding;
  readonly form: RefObject<HTMLFormElement | null>;
}

export function UnknownForm({ deciding: { send, busy, problem }, form }: Props) {
  const [became, setBecame] = useState<Became>();
  const [text, setText] = useState("");
  const [reason, setReason] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (became === undefined || busy) return;
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    void send({ outcome: outcomeOf(became, text), ...why }, words[became][0]);
  };
  return (
    <form ref={form} className={classes["form"]} onSubmit={submit}>
      <fieldset className={classes["became"]}>
        <legend>What became of it?</legend>
        {(Object.keys(words) as Became[]).map((one) => (
          <label key={one}>
            <input type="radio" name="became" checked={became === one} onChange={() => setBecame(one)} />
            <span>
              {words[one][0]} <span className="quiet small">{words[one][1]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {became === "ok" && (
        <label>
          Its result <span className="quiet small">JSON, or a text as it stands; empty for none</span>
          <textarea rows={3} className="mono" value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      )}
      {became === "error" && (
        <label>
          What went wrong
          <input required maxLength={2000} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      )}
      <label>
        How you know <span className="quiet small">goes on record; may be left out</span>
        <input maxLength={2000} value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
      <Problem text={problem} />
      <div className={classes["actions"]}>
        <button type="submit" data-look="main" disabled={busy || became === undefined}>
          Say so
        </button>
      </div>
    </form>
  );
}

function outcomeOf(became: Became, text: string): NonNullable<DecisionRequest["outcome"]> {
  if (became === "run-again") return "run-again";
  if (became === "error") return { type: "error", message: text };
  if (text.trim() === "") return { type: "ok" };
  const found = parsed(text);
  return { type: "ok", value: "value" in found ? found.value : text };
}

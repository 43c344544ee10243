/** A yes to another input than was asked for. It is checked by the server against what the tool takes. */
import { type FormEvent, useState } from "react";
import { neutral, neutralJson } from "../../../../src/wire/neutral.ts";
import { JsonField, parsed } from "../../desk/json-field.tsx";
import { JsonText } from "../../desk/json-text.tsx";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import classes from "./approvals.module.css";
import type { Deciding } from "./decide.ts";
import { Problem } from "./deny-dialog.tsx";

interface Props {
  readonly what: string;
  readonly input: unknown;
  readonly schema: object | undefined;
  readonly deciding: Deciding;
  readonly close: () => void;
}

export function EditDialog({ what, input, schema, deciding: { send, busy, problem }, close }: Props) {
  const [text, setText] = useState(() => neutralJson(input, 2));
  const [reason, setReason] = useState("");
  const found = parsed(text);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if ("problem" in found || busy) return;
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    if (await send({ approve: true, input: found.value, ...why }, "Approved with another input")) close();
  };
  return (
    <Dialog title={`Approve ${neutral(what.slice(0, 100))} with another input`} close={close} wide>
      <form className={classes["form"]} onSubmit={(event) => void submit(event)}>
        <JsonField label="Input" {...{ text, setText }} rows={Math.min(18, text.split("\n").length + 2)} />
        <label>
          Reason <span className="quiet small">may be left out</span>
          <input maxLength={2000} value={reason} onChange={(event) => setReason(event.target.value)} />
        </label>
        {schema !== undefined && (
          <details>
            <summary>What the tool takes</summary>
            <div className={classes["json"]}>
              <JsonText value={schema} />
            </div>
          </details>
        )}
        <Problem text={problem} />
        <DialogActions>
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button type="submit" data-look="main" disabled={busy || "problem" in found}>
            Approve this input
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

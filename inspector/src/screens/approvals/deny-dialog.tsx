/** A no, with the reason that goes on record: agents read it. */
import { type FormEvent, useState } from "react";
import { neutral } from "../../../../src/wire/neutral.ts";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import classes from "./approvals.module.css";
import type { Deciding } from "./decide.ts";

interface Props {
  readonly what: string;
  readonly deciding: Deciding;
  readonly close: () => void;
}

export function DenyDialog({ what, deciding: { send, busy, problem }, close }: Props) {
  const [reason, setReason] = useState("");
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!busy && (await send({ approve: false, reason: reason.trim() }, "Denied"))) close();
  };
  return (
    <Dialog title={`Deny ${neutral(what.slice(0, 100))}`} close={close}>
      <form className={classes["form"]} onSubmit={(event) => void submit(event)}>
        <label>
          Reason <span className="quiet small">goes on record; the agent reads it</span>
          <input required maxLength={2000} value={reason} onChange={(event) => setReason(event.target.value)} />
        </label>
        <Problem text={problem} />
        <DialogActions>
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button type="submit" data-look="bad" disabled={busy || reason.trim() === ""}>
            Deny
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

export function Problem({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p role="alert" className={`${classes["problem"]} given`}>
      {text.slice(0, 2000)}
    </p>
  );
}

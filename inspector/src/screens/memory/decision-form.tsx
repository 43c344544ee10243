/** A question about memory that wants a reason: what it does is above, the answer below. */
import { type FormEvent, type ReactNode, useId } from "react";
import { Dialog, DialogActions } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import classes from "./dialogs.module.css";

interface Props {
  readonly title: string;
  readonly verb: string;
  readonly bad?: boolean;
  readonly reason: string;
  readonly setReason: (reason: string) => void;
  readonly ready?: boolean;
  readonly busy: boolean;
  readonly error: Error | null;
  readonly send: () => void;
  readonly close: () => void;
  readonly children: ReactNode;
}

export function DecisionForm({ title, verb, bad = false, reason, setReason, ready = true, busy, error, send, close, children }: Props) {
  const field = useId();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (reason.trim() !== "" && ready && !busy) send();
  };
  return (
    <Dialog title={title} close={close}>
      <form className={classes["form"]} onSubmit={submit}>
        {children}
        <label htmlFor={field}>Reason, for the record</label>
        <textarea id={field} rows={2} required maxLength={10_000} value={reason} onChange={(event) => setReason(event.target.value)} />
        {error !== null && <Failure error={error} />}
        <DialogActions>
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button type="submit" data-look={bad ? "bad" : "main"} disabled={busy || !ready || reason.trim() === ""}>
            {busy ? "Sending…" : verb}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

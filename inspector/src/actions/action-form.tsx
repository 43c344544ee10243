/** The form of a question. What went wrong is told in it, and what was typed stays. */
import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { RathError } from "../../../src/client/client.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import classes from "./actions.module.css";

interface Props {
  readonly title: string;
  /** What the button says. */
  readonly verb: string;
  readonly close: () => void;
  readonly submit: () => void;
  readonly busy: boolean;
  readonly error: unknown;
  /** Whether there is enough to send. */
  readonly ready?: boolean;
  readonly wide?: boolean;
  readonly dangerous?: boolean;
  readonly children: ReactNode;
}

export function ActionForm({ title, verb, close, submit, busy, error, ready = true, wide = false, dangerous = false, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  // What is to be filled in first is ready to be typed into.
  useEffect(() => (form.current?.querySelector("textarea") ?? form.current?.querySelector<HTMLElement>("input, select"))?.focus(), []);
  const send = (event: FormEvent): void => {
    event.preventDefault();
    if (ready && !busy) submit();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
  };
  return (
    <Dialog title={title} close={close} wide={wide}>
      <form ref={form} className={classes["form"]} onSubmit={send} onKeyDown={onKeyDown}>
        {children}
        <Problem error={error} />
        <DialogActions>
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button type="submit" data-look={dangerous ? "bad" : "main"} disabled={!ready || busy} title="Ctrl+Enter">
            {busy ? "…" : verb}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Why it did not work. */
export function Problem({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null;
  const { code, message } = RathError.is(error) ? error : { code: undefined, message: String(error) };
  return (
    <p className={classes["problem"]} role="alert">
      <span className="given">{neutral(message.slice(0, 2000))}</span>
      {code !== undefined && <code> {code}</code>}
    </p>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** What is filled in, with what ties it to its name and its hint. */
  readonly children: (tied: { readonly id: string; readonly "aria-describedby": string | undefined }) => ReactNode;
}

/** Something to fill in, with its name above it. */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  const hintId = `${id}-hint`;
  return (
    <div className={classes["field"]}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": hint === undefined ? undefined : hintId })}
      {hint !== undefined && (
        <span id={hintId} className="quiet small">
          {hint}
        </span>
      )}
    </div>
  );
}

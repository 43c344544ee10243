/** A question above the page. The browser's own: it keeps the focus inside, and Escape closes it, unless something was typed. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import classes from "./dialog.module.css";
import { Icon } from "./icon.tsx";

interface Props {
  readonly title: string;
  readonly close: () => void;
  readonly children: ReactNode;
  /** Wider than a question: for editing. */
  readonly wide?: boolean;
  /** Stays where it is while what is in it grows and shrinks. */
  readonly top?: boolean;
}

export function Dialog({ title, close, children, wide = false, top = false }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // The browser begins with the button that closes it: whoever is asked something begins with the answer.
    dialog?.querySelector<HTMLElement>("input, textarea, select")?.focus();
    return () => dialog?.close();
  }, []);
  const typed = useRef(new Set<EventTarget>());
  const [asking, setAsking] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  const last = useRef<HTMLElement>(null);
  const goOn = (): void => {
    setAsking(false);
    last.current?.focus();
  };
  useEffect(() => {
    if (asking) keep.current?.focus();
  }, [asking]);
  // What somebody wrote is not thrown away by a key that was pressed once too often.
  const leave = (): void => {
    if (!asking && [...typed.current].some((field) => isFilled(field, element.current))) setAsking(true);
    else close();
  };
  return (
    <dialog
      ref={element}
      className={classes["dialog"]}
      data-wide={wide}
      data-top={top}
      aria-labelledby={titleId}
      onInput={({ target }) => {
        typed.current.add(target);
        last.current = target as HTMLElement;
        setAsking(false);
      }}
      // The browser may close it by itself when it was kept open before: it is asked here, every time.
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
        event.preventDefault();
        leave();
      }}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onClose={() => {
        if (element.current?.open === false) close();
      }}
    >
      <header className={classes["header"]}>
        <h2 id={titleId}>{title}</h2>
        <button type="button" data-look="plain" aria-label="Close" onClick={leave}>
          <Icon name="close" />
        </button>
      </header>
      {children}
      {asking && (
        <div className={classes["asking"]} role="alert">
          <span>What you typed is lost when this closes.</span>
          <button ref={keep} type="button" onClick={goOn}>
            Keep typing
          </button>
          <button type="button" data-look="bad" onClick={close}>
            Discard
          </button>
        </div>
      )}
    </dialog>
  );
}

/** Whether a field of a form that was typed into is still there, and has something in it. */
function isFilled(field: EventTarget, dialog: HTMLDialogElement | null): boolean {
  const isText = field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && field.type === "text");
  return isText && field.form !== null && dialog?.contains(field) === true && field.value.trim() !== "" && !field.readOnly;
}

/** What a dialog ends with. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className={classes["actions"]}>{children}</div>;
}

/** A question above the page. The browser's own: it keeps the focus inside, and Escape closes it. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import classes from "./dialog.module.css";
import { Icon } from "./icon.tsx";

interface Props {
  readonly title: string;
  readonly close: () => void;
  readonly children: ReactNode;
  /** Wider than a question: for editing. */
  readonly wide?: boolean;
}

export function Dialog({ title, close, children, wide = false }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // The browser begins with the button that closes it: whoever is asked something begins with the answer.
    dialog?.querySelector<HTMLElement>("input, textarea, select")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={classes["dialog"]}
      data-wide={wide}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <header className={classes["header"]}>
        <h2 id={titleId}>{title}</h2>
        <button type="button" data-look="plain" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** What a dialog ends with. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className={classes["actions"]}>{children}</div>;
}

/** Short messages about what was done or did not work. They stay until read by whoever is slow, and are told to screen readers. */
import { useSyncExternalStore } from "react";
import { RathError } from "../../../src/client/client.ts";
import { neutral } from "../../../src/wire/neutral.ts";
import { Icon } from "../parts/icon.tsx";
import classes from "./toasts.module.css";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "ok" | "bad";
}

const shownMs = 6000;
let toasts: readonly Toast[] = [];
let next = 0;
const listeners = new Set<() => void>();

function set(changed: readonly Toast[]): void {
  toasts = changed;
  for (const listener of listeners) listener();
}

/** Says that something was done. */
export function say(text: string, tone: Toast["tone"] = "ok"): void {
  const toast = { id: next++, text: neutral(text.slice(0, 500)), tone };
  set([...toasts.slice(-3), toast]);
  if (tone === "ok") setTimeout(() => drop(toast.id), shownMs);
}

/** Says why something did not work; it stays until it is closed. */
export function sayFailure(error: unknown): void {
  say(RathError.is(error) ? `${error.message} (${error.code})` : String(error), "bad");
}

function drop(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

export function Toasts() {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <ul className={classes["toasts"]} aria-live="polite">
      {all.map(({ id, text, tone }) => (
        <li key={id} className={classes["toast"]} data-tone={tone}>
          <span className="given">{text}</span>
          <button type="button" data-look="plain" aria-label="Close" onClick={() => drop(id)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

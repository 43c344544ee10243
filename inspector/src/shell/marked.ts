/** The place that was marked to be compared with another one: a session, or ID@event. Of this tab. */
import { useSyncExternalStore } from "react";
import { say } from "./toasts.tsx";

const place = "openrath.marked";
const listeners = new Set<() => void>();

/** Marks a place, and says so. */
export function markHere(wanted: string | undefined): void {
  mark(wanted);
  say(wanted === undefined ? "Nothing is marked any more" : "Marked: c compares another place with it");
}

function mark(marked: string | undefined): void {
  if (marked === undefined) sessionStorage.removeItem(place);
  else sessionStorage.setItem(place, marked);
  for (const listener of listeners) listener();
}

export function marked(): string | undefined {
  return sessionStorage.getItem(place) ?? undefined;
}

export function useMarked(): string | undefined {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, marked);
}

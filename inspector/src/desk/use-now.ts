/** The time, told again now and then, so that "2m ago" stays true. */
import { useSyncExternalStore } from "react";

const everyMs = 5000;
const listeners = new Set<() => void>();
let now = new Date();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = new Date();
    for (const told of listeners) told();
  }, everyMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** What is shown for the first time after a while is not told an old time. */
function current(): Date {
  if (Date.now() - now.getTime() > everyMs * 2) now = new Date();
  return now;
}

export function useNow(): Date {
  return useSyncExternalStore(subscribe, current);
}

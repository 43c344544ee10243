/** A value that changes often, as of a moment ago: what is asked again because of it is asked seldom, but also while it never rests. */
import { useEffect, useRef, useState } from "react";

export function useSeldom<Value>(value: Value, everyMs = 1500): Value {
  const [shown, setShown] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  const isBehind = shown !== value;
  useEffect(() => {
    if (!isBehind) return undefined;
    const timer = setTimeout(() => setShown(latest.current), everyMs);
    return () => clearTimeout(timer);
  }, [isBehind, everyMs]);
  return shown;
}

/** Does something again when a value has changed, seldom; not at first. */
export function useAgain(value: unknown, again: () => unknown, everyMs?: number): void {
  const seen = useSeldom(value, everyMs);
  const latest = useRef(again);
  latest.current = again;
  const first = useRef(seen);
  useEffect(() => {
    if (seen === first.current) return;
    first.current = seen;
    latest.current();
  }, [seen]);
}

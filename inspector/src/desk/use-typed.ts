/** A text that counts once nobody has typed for a moment. What is typed while the address follows is not lost. */
import { useEffect, useRef, useState } from "react";

export function useTyped(value: string, set: (text: string) => void, pauseMs = 250): readonly [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const latest = useRef(set);
  latest.current = set;
  /** What was passed on last: when it comes back, something else may stand in the field already. */
  const sent = useRef(value);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = text;
      latest.current(text);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [text, pauseMs]);
  return [text, setText];
}

/** Which rows of a long list are on screen. All are equally high, so nothing is measured, and nothing is computed for the others. */
import { type RefObject, useCallback, useLayoutEffect, useState } from "react";

const beyond = 6;
/** The rows on screen change in steps, not with every pixel. */
const steps = 4;

export interface Window {
  readonly from: number;
  readonly to: number;
}

export function useWindow(box: RefObject<HTMLElement | null>, count: number, height: number): Window {
  const [[top, room], setSeen] = useState<readonly [number, number]>([0, 0]);
  const look = useCallback(() => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const next = [Math.floor(scrollTop / height / steps) * steps, Math.ceil(clientHeight / height)] as const;
    setSeen((seen) => (seen[0] === next[0] && seen[1] === next[1] ? seen : next));
  }, [box, height]);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    look();
    element.addEventListener("scroll", look, { passive: true });
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      sizes.disconnect();
    };
  }, [box, look]);
  return { from: Math.max(0, top - beyond), to: Math.min(count, top + room + steps + beyond) };
}

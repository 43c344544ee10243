/** Whether there is as little room as on a phone. */
import { useSyncExternalStore } from "react";

const query = window.matchMedia("(max-width: 48rem)");

export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => query.matches,
  );
}

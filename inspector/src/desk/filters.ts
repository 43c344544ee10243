/** Filters are in the address: what is shown is a link. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

/** What an address says behind the question mark. */
export type Search = Readonly<Record<string, string | undefined>>;

export interface Filters {
  readonly search: Search;
  /** Sets some of them and leaves the rest; without a value one is gone. */
  readonly set: (changed: Search) => void;
}

export function useFilters(): Filters {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const set = useCallback(
    (changed: Search): void =>
      void navigate({
        to: ".",
        search: (kept: Search) => Object.fromEntries(Object.entries({ ...kept, ...changed }).filter(([, value]) => value !== undefined)),
        replace: true,
      }),
    [navigate],
  );
  return { search, set };
}

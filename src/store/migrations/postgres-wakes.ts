import { append as first } from "./postgres-first.ts";

/**
 * A wake writes the row of its run also where an earlier one is unheard, and so keeps it locked until the commit: whoever hears the
 * earlier one then either waits and finds what this one tells of, or passes the run over and leaves it woken. Left alone, the row
 * could be heard and the logs read just before this commit, and nobody would look again.
 */
export const append = first
  .replace("SET woken_at = clock_timestamp()", "SET woken_at = coalesce(woken_at, clock_timestamp())")
  .replace(" AND woken_at IS NULL", "");

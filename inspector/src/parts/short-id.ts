/**
 * The beginning of an id, long enough to name one session or run, so that the command line takes it too. Forks have ids that look
 * random from their first digit on. What was begun by itself has one that begins with the time: only behind the counter of its
 * millisecond are two of them different for sure.
 */
export function shortId(id: string): string {
  return id.slice(0, isTimed(id) ? 26 : 8);
}

/** A UUID of version 7. */
function isTimed(id: string): boolean {
  return id.charAt(14) === "7";
}

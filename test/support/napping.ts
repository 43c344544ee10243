import type { Session } from "../../src/session/session.ts";

/** An effect in which its first process is left, and how often it was begun. */
export function napping(isLeft = true): { readonly nap: (session: Session) => Promise<Session>; readonly naps: () => number } {
  let naps = 0;
  const run = (): unknown => (++naps === 1 && isLeft ? new Promise(() => {}) : 1);
  return { nap: (session) => session.do("nap", run, { repeat: "safe" }), naps: () => naps };
}

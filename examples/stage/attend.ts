/** Follows runs that other processes execute: people decide what waits for them, and something may happen meanwhile. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Decision, Pending, Rath, Run, Session } from "openrath";
import { fact } from "./print.ts";

export interface Attendance {
  readonly signal: AbortSignal;
  /** What a person says of something that waits; undefined where nobody is in charge of it. */
  readonly decide: (pending: Pending) => Promise<Decision | undefined>;
  /** Done again and again until the end. */
  readonly meanwhile: () => Promise<void>;
}

/** Until every run has ended, with a line for each. */
export async function attend(rath: Rath, runs: readonly Run[], { signal, decide, meanwhile }: Attendance): Promise<readonly Session[]> {
  let left = runs.length;
  const seen = new Set<string>();
  const ends = runs.map(async (run) => {
    const session = await run.result();
    fact(`${runs.length - --left}/${runs.length}`, `${session.routes.map(({ choice }) => choice).join(" → ")}: ${session.text}`);
    return session;
  });
  const all = Promise.all(ends);
  all.catch(() => {}); // a run that failed: said below
  while (left > 0) {
    await Promise.race([sleep(50, undefined, { signal }), all]);
    await meanwhile();
    for (const pending of await rath.pending()) {
      const decision = seen.has(pending.id) ? undefined : await decide(pending);
      if (decision === undefined) continue;
      seen.add(pending.id);
      await rath.decide(pending.id, decision);
      fact("decided", `${decision.by}: ${decision.reason}`);
    }
  }
  return all;
}

/** What was decided in a project, the newest first, a page at a time. Each answer is a log of its own: they are read as they were written. */
import { decisionOn } from "../runtime/decide.ts";
import { readEvent } from "../runtime/load.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { RathError } from "../session/errors.ts";
import type { Decided } from "../session/session.ts";
import { noSuchPlace } from "./cursor.ts";
import { isDamage } from "./damage.ts";

/** A page looks at no more answers than this: runs that were cancelled and times that were over are among them. */
const mostLooked = 1000;

export async function newestDecisions(
  runtime: Runtime,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<{ readonly items: readonly Decided[]; readonly next?: string }> {
  const store = await runtime.store();
  if (after !== undefined && !(await isLog(runtime, after))) throw noSuchPlace();
  const items: Decided[] = [];
  let [looked, last] = [0, ""];
  for await (const { id, head } of store.sessions({ log: "answer", newestFirst: true, after })) {
    if (items.length >= limit || looked++ >= mostLooked) return { items, next: last };
    last = id;
    const decided = await decidedWith(runtime, head);
    if (decided !== undefined) items.push(decided);
  }
  return { items };
}

async function isLog(runtime: Runtime, id: string): Promise<boolean> {
  for await (const row of (await runtime.store()).sessions({ id })) return row.id === id;
  return false;
}

/** Undefined for what was erased or is damaged, and for other messages from outside: signals, and that a run is to end. */
async function decidedWith(runtime: Runtime, answer: string): Promise<Decided | undefined> {
  const store = await runtime.store();
  try {
    for await (const stored of store.events({ ids: [answer] })) {
      const event = await readEvent(runtime.platform, store, stored);
      if (event.kind !== "answer.given" || event.data === undefined || event.data.cancel === true) return undefined;
      return await decisionOn(runtime, event.data.question);
    }
  } catch (error) {
    if (!isDamage(error) && !RathError.is(error, "pending.not-found")) throw error;
  }
  return undefined;
}

/** How many runs of a project wait for a worker. Counted now and then, and in between by what is started here. */
import type { Runtime } from "../runtime/runtime.ts";
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";

interface Count {
  readonly at: number;
  queued: number;
}

const counts = new WeakMap<Runtime, Promise<Count>>();

/** So long a count holds; one that says that there is no room is looked at again sooner. */
const countMs = 1000;
const fullMs = 100;

/** Takes a place in the queue, or refuses: other servers may have taken as many in the meantime as start in a second. */
export async function takePlace(runtime: Runtime, most: number): Promise<void> {
  let count = await current(runtime, most, countMs);
  if (count.queued >= most) count = await current(runtime, most, fullMs);
  if (count.queued >= most)
    throw new RathError(
      "server.busy",
      `No more than ${counted(most, "run")} may wait for a worker here: try again later, or start more workers.`,
      {
        retryable: true,
        details: { queue: most, retryAfter: 1 },
      },
    );
  count.queued++;
}

async function current(runtime: Runtime, most: number, forMs: number): Promise<Count> {
  const known = counts.get(runtime);
  if (known !== undefined && performance.now() - (await known).at < forMs) return known;
  // Others may have begun to count while it was looked at.
  const newer = counts.get(runtime);
  if (newer !== known && newer !== undefined) return newer;
  const counting = queuedIn(runtime, most);
  counts.set(runtime, counting);
  counting.catch(() => counts.delete(runtime)); // whoever asked is told
  return counting;
}

async function queuedIn(runtime: Runtime, most: number): Promise<Count> {
  const at = performance.now();
  let queued = 0;
  for await (const _ of (await runtime.store()).runs({ status: "queued" })) if (++queued >= most) break;
  return { at, queued };
}

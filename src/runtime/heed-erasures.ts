/**
 * Erasures by other processes. What this one has read before is still in its memory; once in a while it looks whether anything was
 * erased since, and forgets it. For whoever keeps values for long, as a server does.
 */
import { envelopeOf } from "../session/codec.ts";
import { Log } from "../session/log.ts";
import { isImported } from "./erasure-log.ts";
import { fromStored } from "./load.ts";
import type { Runtime } from "./runtime.ts";

/** How long an erasure by somebody else may stay unknown here. */
const oftenMs = 5000;

interface Heeded {
  /** By log: the newest entry that was read. */
  readonly newest: Map<string, { readonly head: string; readonly step: number }>;
  /** Grows with every entry. */
  entries: number;
  lookedAt: number;
  looking: Promise<void> | undefined;
}

const heeded = new WeakMap<Runtime, Heeded>();

/** Forgets what was erased, and gives a number that is another one after every erasure. Looks again when the last look is old. */
export async function heedErasures(runtime: Runtime, oldestMs = oftenMs): Promise<number> {
  const known = heeded.get(runtime) ?? { newest: new Map(), entries: 0, lookedAt: Number.NEGATIVE_INFINITY, looking: undefined };
  heeded.set(runtime, known);
  if (performance.now() - known.lookedAt >= oldestMs) {
    known.lookedAt = performance.now();
    known.looking = look(runtime, known);
    known.looking.catch(() => {
      known.lookedAt = Number.NEGATIVE_INFINITY; // whoever asks next looks again
    });
  }
  await known.looking;
  return known.entries;
}

async function look(runtime: Runtime, known: Heeded): Promise<void> {
  const { platform } = runtime;
  const store = await runtime.store();
  const gone = new Set<string>();
  for await (const row of store.sessions({ log: "erasure" })) {
    // What was erased elsewhere is not erased here.
    if (isImported(row)) continue;
    const { id, head } = row;
    const before = known.newest.get(id);
    if (before?.head === head) continue;
    for await (const event of store.events({ session: id, from: before === undefined ? 0 : before.step + 1 })) {
      const entry = fromStored(platform, event, new Log(id, "erasure"), [], envelopeOf(platform, event));
      for (const erased of entry.data<"data.erased">(platform)?.events ?? []) gone.add(erased);
      known.newest.set(id, { head: event.id, step: event.step });
      known.entries++;
    }
  }
  if (gone.size > 0) runtime.forgetErased(gone);
}

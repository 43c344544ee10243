/**
 * The store as a simulated process reaches it: every call travels there and back, each way a step of the schedule. On the way it
 * may be lost, arrive late, or arrive and its answer be lost. After the process has died, what was on the wire still may arrive.
 */
import { RathError } from "../../src/session/errors.ts";
import type { Store } from "../../src/store/store.ts";
import type { Random } from "./random.ts";
import type { Schedule, Thread } from "./schedule.ts";

/** How likely each fault is for a call, from 0 to 1. */
export interface Faults {
  /** It never arrives, and the process is told. */
  lost: number;
  /** It happens, and the process is told that nobody knows. */
  unacknowledged: number;
  /** It or its answer takes up to `lateMs`. */
  late: number;
  lateMs: number;
}

export const noFaults: Faults = { lost: 0, unacknowledged: 0, late: 0, lateMs: 0 };

/** How often which fault happened. */
export type Happened = Record<"lost" | "unacknowledged" | "late", number>;

export interface Wire {
  readonly schedule: Schedule;
  readonly random: Random;
  faults: Faults;
  readonly happened: Happened;
}

export function faultyStore(store: Store, thread: Thread, wire: Wire): Store {
  const { schedule, random } = wire;
  const latency = (): number => {
    if (!random.chance(wire.faults.late)) return random.between(0, 2);
    wire.happened.late++;
    return random.between(3, wire.faults.lateMs);
  };
  const cut = (what: string): RathError => new RathError("store.unavailable", `The connection was lost ${what}.`, { retryable: true });

  /** Sends a call and gives what comes back. */
  const call = <T>(label: string, execute: () => Promise<T>, atOnce = false): Promise<T> =>
    new Promise((resolve, reject) => {
      const { lost, unacknowledged } = wire.faults;
      const fate = random.next();
      const isLost = fate < lost;
      const isUnacknowledged = !isLost && fate < lost + unacknowledged;
      const answer = (text: string, run: () => void): void =>
        schedule.add({ at: schedule.now + latency(), thread, ordered: false, label: `${label} ${text}`, run });
      const arrive = (): void => {
        if (isLost) {
          wire.happened.lost++;
          answer("was lost", () => reject(cut("before the call")));
          return;
        }
        execute().then(
          (value) => {
            if (atOnce && thread.dead) return undefined;
            if (atOnce && !isUnacknowledged && thread.stoppedUntil <= schedule.now) return resolve(value);
            if (!isUnacknowledged) return answer("answered", () => resolve(value));
            wire.happened.unacknowledged++;
            return answer("unacknowledged", () => reject(cut("after the call")));
          },
          (error: unknown) => answer("refused", () => reject(error)),
        );
      };
      // Its sender may die meanwhile: the call arrives all the same.
      schedule.add({ at: schedule.now + latency(), thread: undefined, ordered: false, label: `${thread.name} ${label}`, run: arrive });
    });
  const listed = <T>(label: string, read: () => AsyncIterable<T>): AsyncIterable<T> =>
    (async function* () {
      const all = async (): Promise<T[]> => {
        const items: T[] = [];
        for await (const item of read()) items.push(item);
        return items;
      };
      // Most of what is read is read now; the rest is old when it comes.
      yield* await call(label, all, random.chance(0.7));
    })();

  return {
    append: (write) => call(`append ${write.branches.map(({ session }) => short(session)).join(",")}`, () => store.append(write)),
    events: (query) => listed(`events ${short(JSON.stringify(query))}`, () => store.events(query)),
    feed: (query) => listed("feed", () => store.feed(query)),
    fedTo: () => call("fedTo", () => store.fedTo()),
    sessions: (query) => listed(`sessions ${short(JSON.stringify(query))}`, () => store.sessions(query)),
    branches: (parents) => call("branches", () => store.branches(parents)),
    runs: (query) => listed(`runs ${JSON.stringify(query)}`, () => store.runs(query)),
    claim: (run, worker, forMs, options) => call(`claim ${short(run)}`, () => store.claim(run, worker, forMs, options)),
    take: (query, worker, forMs) => call("take", () => store.take(query, worker, forMs)),
    renew: (lease, forMs) => call(`renew ${short(lease.run)} @${lease.epoch}`, () => store.renew(lease, forMs)),
    release: (lease) => call(`release ${short(lease.run)} @${lease.epoch}`, () => store.release(lease)),
    blob: (hash) => call(`blob ${short(hash)}`, () => store.blob(hash)),
    [Symbol.asyncDispose]: async () => {},
  };
}

function short(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

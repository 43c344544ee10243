/** What happens in one simulated world, made up from its seed: programs, processes, people and faults. */
import type { Faults } from "./faulty-store.ts";
import { isSettled, type Program, programFrom } from "./program.ts";
import { Random } from "./random.ts";

/** Times of day are milliseconds since the world began. */
export interface PlannedRun {
  /** Of its workflow, and its key. */
  readonly name: string;
  readonly program: Program;
  /** Clients execute it themselves, beside the workers. */
  readonly here: boolean;
  readonly cancelAt: number | undefined;
  readonly deadlineAt: number | undefined;
}

export interface Plan {
  readonly seed: number;
  readonly workers: number;
  readonly clients: number;
  readonly concurrency: number;
  readonly runs: readonly PlannedRun[];
  readonly faults: Faults;
  /** A worker or a client dies, and another one comes after a while. */
  readonly kills: readonly { readonly at: number; readonly client: boolean }[];
  /** A worker or a client is stopped for a while, and goes on as if nothing had been. */
  readonly stops: readonly { readonly at: number; readonly forMs: number; readonly client: boolean }[];
  /** A worker is told to end and drains. */
  readonly drains: readonly number[];
  /** From then on there are no more faults. */
  readonly calmAt: number;
}

export const leaseMs = 3000;
export const lookMs = 700;

export function planFrom(seed: number): Plan {
  const random = new Random(seed);
  const calmAt = random.pick([2000, 6000, 12_000]);
  const some = (of: number, most: number): number => (random.chance(of) ? random.between(1, most) : 0);
  const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  const rate = (of: number, most: number): number => (random.chance(of) ? random.next() * most : 0);
  const soon = (): number => random.between(0, calmAt);
  return {
    seed,
    workers: random.between(1, 3),
    clients: random.between(1, 2),
    concurrency: random.pick([1, 2, 16]),
    runs: times(random.between(1, 3), () => 0).map((_, index) => ({
      name: `p${index}`,
      program: programFrom(random),
      here: random.chance(0.25),
      cancelAt: random.chance(0.15) ? random.between(0, calmAt * 1.5) : undefined,
      deadlineAt: random.chance(0.15) ? random.between(200, calmAt * 2) : undefined,
    })),
    // Not every world has every fault: together they hide each other.
    faults: {
      lost: rate(0.5, 0.08),
      unacknowledged: rate(0.5, 0.08),
      late: rate(0.5, 0.08),
      lateMs: random.pick([50, 500, leaseMs * 2]),
    },
    kills: times(some(0.5, 3), () => ({ at: soon(), client: random.chance(0.25) })),
    stops: times(some(0.5, 3), () => ({ at: soon(), forMs: random.pick([200, leaseMs * 1.2, leaseMs * 3]), client: random.chance(0.25) })),
    drains: times(some(0.2, 1), soon),
    calmAt,
  };
}

/** Whether it comes to the same whatever goes wrong. */
export function isCertain({ program, cancelAt, deadlineAt }: PlannedRun): boolean {
  return cancelAt === undefined && deadlineAt === undefined && isSettled(program);
}

/** The same programs where nothing goes wrong, of those that come to the same whatever does; undefined when there are none. */
export function calmly(plan: Plan): Plan | undefined {
  const certain = plan.runs.filter(isCertain);
  if (certain.length === 0) return undefined;
  return {
    ...plan,
    workers: 1,
    clients: 1,
    concurrency: 16,
    runs: certain.map((run) => ({ ...run, here: false })),
    faults: { lost: 0, unacknowledged: 0, late: 0, lateMs: 0 },
    kills: [],
    stops: [],
    drains: [],
    calmAt: 0,
  };
}

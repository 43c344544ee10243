/**
 * The scheduler of a simulated world: everything that happens is a step, chance decides which of those that may come now comes
 * next, and time goes on only when none may. Steps of one thread of a process keep their order; what is on the wire does not.
 */
import type { Random } from "./random.ts";

/** Whoever has a thread: it may be dead, or stopped until some time. */
export interface Thread {
  readonly name: string;
  dead: boolean;
  stoppedUntil: number;
}

export interface Step {
  /** When it may happen. */
  at: number;
  /** Whose death or stop prevents it; undefined: the store's and the world's own. */
  readonly thread: Thread | undefined;
  /** Its thread takes it in its order (timers, turns of the event loop), or whenever it comes (what the store answers). */
  readonly ordered: boolean;
  readonly label: string;
  readonly run: () => void;
}

const realImmediate = globalThis.setImmediate;

export class Schedule {
  /** Milliseconds since 1970. */
  now = Date.parse("2026-01-01T00:00:00.000Z");
  readonly began = this.now;
  taken = 0;
  readonly trace: string[] = [];
  readonly #random: Random;
  /** In the order in which they were added. */
  readonly #steps = new Set<Step>();

  constructor(random: Random) {
    this.#random = random;
  }

  add(step: Step): void {
    if (step.thread?.dead !== true) this.#steps.add(step);
  }

  remove(step: Step): void {
    this.#steps.delete(step);
  }

  /** Nothing of a dead thread happens any more. */
  bury(thread: Thread): void {
    thread.dead = true;
    for (const step of this.#steps) if (step.thread === thread) this.#steps.delete(step);
  }

  of(thread: Thread): readonly Step[] {
    return [...this.#steps].filter((step) => step.thread === thread);
  }

  /** Takes one step and lets all that follows from it at once happen. False when nothing can happen any more. */
  async step(): Promise<boolean> {
    if (this.#steps.size === 0) await this.settle();
    let ready = this.#ready();
    if (ready.length === 0) {
      let next = Number.POSITIVE_INFINITY;
      for (const step of this.#steps) next = Math.min(next, timeOf(step));
      if (next === Number.POSITIVE_INFINITY) return false;
      this.now = next;
      ready = this.#ready();
    }
    const step = this.#random.pick(ready);
    this.#steps.delete(step);
    this.taken++;
    this.say(`${step.thread?.name ?? "store"}: ${step.label}`);
    step.run();
    await this.settle();
    return true;
  }

  /** Until all that is under way waits for a step. */
  async settle(): Promise<void> {
    await new Promise((resolve) => realImmediate(resolve));
  }

  say(text: string): void {
    this.trace.push(`${this.now - this.began} ${text}`);
  }

  /** Those that may come now: of each thread's own the first alone. */
  #ready(): readonly Step[] {
    const first = new Map<Thread, Step>();
    const ready: Step[] = [];
    for (const step of this.#steps) {
      if (timeOf(step) > this.now) continue;
      if (!step.ordered || step.thread === undefined) ready.push(step);
      else {
        const known = first.get(step.thread);
        if (known === undefined || step.at < known.at) first.set(step.thread, step);
      }
    }
    return ready.concat([...first.values()]);
  }
}

function timeOf({ at, thread }: Step): number {
  return thread === undefined ? at : Math.max(at, thread.stoppedUntil);
}

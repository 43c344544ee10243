/** Parked runs that go on here: at their time, when something comes for them, and when the store is there again if it was not. */
import type { Workflow } from "../workflow/workflow.ts";
import { pause } from "./worker.ts";

const longestTimer = 2 ** 31 - 1;

export class ParkedRuns {
  readonly #lookMs: number;
  readonly #wake: (run: string) => void;
  readonly #workflows = new Map<string, Workflow>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** How often in a row one could not go on when it was woken. */
  readonly #hindered = new Map<string, number>();
  #closed = false;

  constructor(lookMs: number, wake: (run: string) => void) {
    this.#lookMs = lookMs;
    this.#wake = wake;
  }

  get size(): number {
    return this.#workflows.size;
  }

  workflowOf(run: string): Workflow | undefined {
    return this.#workflows.get(run);
  }

  /** A run waits here, and is woken when so much time has passed, if ever. */
  add(run: string, workflow: Workflow, wakeInMs: number | undefined): void {
    this.#workflows.set(run, workflow);
    if (wakeInMs !== undefined) this.#wakeIn(run, wakeInMs);
  }

  /** It could not go on now: that its time came, or that it was woken, may be told only once, so it is woken again. True the first time. */
  hindered(run: string): boolean {
    if (!this.#workflows.has(run)) return true;
    const before = this.#hindered.get(run) ?? 0;
    this.#hindered.set(run, before + 1);
    this.#wakeIn(run, pause(this.#lookMs, before));
    return before === 0;
  }

  /** It goes on, here or elsewhere, or has ended. */
  delete(run: string): boolean {
    clearTimeout(this.#timers.get(run));
    this.#timers.delete(run);
    this.#hindered.delete(run);
    return this.#workflows.delete(run);
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #wakeIn(run: string, ms: number): void {
    clearTimeout(this.#timers.get(run));
    if (!this.#closed) this.#timers.set(run, setTimeout(() => this.#wake(run), Math.min(Math.max(ms, 0), longestTimer)).unref());
  }
}

/** Runs that others execute and that go on here should those die: looked at from time to time, until they have ended or go on here. */
import type { RunRow } from "../store/store.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { hasEnded, rowOfRun } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";

export class StandIns {
  readonly #runtime: Runtime;
  readonly #isHere: (run: string) => boolean;
  readonly #takeUp: (row: RunRow, workflow: Workflow) => Promise<boolean>;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Runs that wait and have news, or whose time came, which nobody had taken note of at the last look. */
  readonly #unheard = new Set<string>();
  #closed = false;

  constructor(runtime: Runtime, isHere: (run: string) => boolean, takeUp: (row: RunRow, workflow: Workflow) => Promise<boolean>) {
    this.#runtime = runtime;
    this.#isHere = isHere;
    this.#takeUp = takeUp;
  }

  add(run: string, workflow: Workflow): void {
    if (this.#closed) return;
    clearTimeout(this.#timers.get(run));
    const look = async (): Promise<void> => {
      // A store that does not answer now may answer at the next look.
      if (!(await this.#isSettled(run, workflow).catch(() => false))) return this.add(run, workflow);
      this.#timers.delete(run);
      this.#unheard.delete(run);
    };
    this.#timers.set(run, setTimeout(() => void look(), this.#runtime.times.lookMs).unref());
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  async #isSettled(run: string, workflow: Workflow): Promise<boolean> {
    const row = await rowOfRun(await this.#runtime.store(), run);
    if (row === undefined || hasEnded(row.status) || this.#isHere(run)) return true;
    return !this.#closed && this.#isLeft(row) && this.#takeUp(row, workflow);
  }

  /** Nobody goes on with it. One that waits is its owner's, who takes note of news, and of its time, at once, if it lives. */
  #isLeft({ id, owner, status, woken, wakeAt }: RunRow): boolean {
    const due = woken === true || (wakeAt !== undefined && wakeAt <= this.#runtime.platform.time());
    if (owner !== undefined || (status === "waiting" && !due)) return false;
    if (status !== "waiting" || this.#unheard.has(id)) return true;
    this.#unheard.add(id);
    return false;
  }
}

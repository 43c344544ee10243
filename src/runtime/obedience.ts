/** Runs that are cancelled, durably, when the signal they were started with is aborted: whatever they do then, parked ones too. */
import { RathError } from "../session/errors.ts";
import { textOfThrown } from "../session/thrown.ts";
import { whenStopped } from "./effect-context.ts";

export class Obedience {
  readonly #cancel: (run: string, reason: string) => Promise<void>;
  readonly #warn: (message: string) => void;
  readonly #ends = new Map<string, () => void>();

  constructor(cancel: (run: string, reason: string) => Promise<void>, warn: (message: string) => void) {
    this.#cancel = cancel;
    this.#warn = warn;
  }

  heed(run: string, signal: AbortSignal | undefined): void {
    if (signal === undefined || this.#ends.has(run)) return;
    const obey = (): void =>
      void this.#cancel(run, String((signal.reason as Error | undefined)?.message ?? "aborted")).catch((error: unknown) => {
        if (!RathError.is(error, "run.ended")) this.#warn(`Run ${run} could not be cancelled: ${textOfThrown(error)}`);
      });
    if (signal.aborted) obey();
    this.#ends.set(run, whenStopped(signal, obey));
  }

  /** The run has ended. */
  forget(run: string): void {
    this.#ends.get(run)?.();
    this.#ends.delete(run);
  }

  close(): void {
    for (const end of this.#ends.values()) end();
  }
}

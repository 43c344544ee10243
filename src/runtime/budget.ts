/** Limits that many calls share: what a call may cost at most is reserved before it begins and settled when it has ended. */
import { durationMs } from "../session/duration.ts";
import { givenLimits } from "../session/given.ts";
import type { Budget } from "../session/host.ts";
import type { Limits, Totals } from "../session/session.ts";

class SharedBudget implements Budget {
  readonly limits: Limits;
  readonly #now: () => string;
  readonly #until: number | undefined;
  readonly #onCrossed: (limit: "rounds" | "tokens" | "usd" | "time", of: number, spent: number) => void;
  readonly #told = new Set<string>();
  #tokens = 0;
  #usd = 0;
  #uncounted = false;

  /** `since` is when the work under it began. */
  constructor(
    limits: Limits,
    since: string,
    now: () => string,
    onCrossed: (limit: "rounds" | "tokens" | "usd" | "time", of: number, spent: number) => void,
  ) {
    this.limits = givenLimits(limits);
    this.#now = now;
    this.#until = limits.time === undefined ? undefined : Date.parse(since) + durationMs(limits.time);
    this.#onCrossed = onCrossed;
  }

  get left(): Budget["left"] {
    const { tokens, usd } = this.limits;
    return {
      tokens: tokens === undefined ? undefined : tokens - this.#tokens,
      usd: usd === undefined ? undefined : usd - this.#usd,
      ms: this.#until === undefined ? undefined : this.#until - Date.parse(this.#now()),
    };
  }

  get uncounted(): boolean {
    return this.#uncounted;
  }

  reserve(tokens: number, usd: number): (spent: Totals | undefined) => void {
    this.#tokens += tokens;
    this.#usd += usd;
    let open = true;
    return (spent) => {
      if (!open) return;
      open = false;
      this.#tokens -= tokens;
      this.#usd -= usd;
      this.count(spent);
    };
  }

  count(spent: Totals | undefined): void {
    // What is no number would make everything after it none, and a limit that is compared with none never holds.
    if (spent === undefined || !Number.isFinite(spent.input + spent.output + spent.usd)) {
      this.#uncounted = true;
      return;
    }
    this.#tokens += spent.input + spent.output;
    this.#usd += spent.usd;
  }

  crossed(limit: "rounds" | "tokens" | "usd" | "time", of: number, spent: number): void {
    if (this.#told.has(limit)) return;
    this.#told.add(limit);
    this.#onCrossed(limit, of, spent);
  }
}

/** A budget whose crossings are in the run's own log. */
export function budgetOf(execution: BudgetOwner, limits: Limits, since: string, by: string): Budget {
  const { platform } = execution.runtime;
  return new SharedBudget(
    limits,
    since,
    () => platform.time(),
    (limit, of, spent) => {
      // What is executed again has said so before.
      if (execution.recorded?.complete !== false) execution.journal("budget.crossed", { limit, of, spent, by });
    },
  );
}

interface BudgetOwner {
  readonly runtime: { readonly platform: { time(): string } };
  readonly recorded: { readonly complete: boolean } | undefined;
  journal(kind: "budget.crossed", data: unknown): unknown;
}

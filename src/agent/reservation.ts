/**
 * The most a model call may cost, reserved in every budget above it before it begins. A token is at least one byte, so the bytes
 * of what is new bound its tokens; of what was read before, the provider has said how many there are.
 */
import { durationMs } from "../session/duration.ts";
import { type Budget, EffectResult, type Host, type Price } from "../session/host.ts";
import type { ModelRequest, RequestMessage } from "../session/message.ts";
import { type Model, type ModelLike, modelName } from "../session/model.ts";
import type { Totals } from "../session/session.ts";

/** How long an answer may be when nobody says, and the shortest that is worth asking for. */
const defaultOutput = 16_384;
const leastOutput = 16;

/** The newest reply and everything before it were counted by the provider; what came after it is new. */
export interface Counted {
  readonly usage: Totals;
  readonly since: () => readonly RequestMessage[];
}

export class Reservation {
  /** What the budgets leave of the answer's length, where that is less than was asked for. */
  maxOutputTokens: number | undefined;
  deadline: number | undefined;
  readonly #host: Host;
  readonly #likes: readonly ModelLike[];
  readonly #request: ModelRequest;
  readonly #budgets: readonly Budget[];
  /** What the provider counted for the newest reply, where this request goes on from it. */
  readonly #counted: Counted | undefined;
  /** The budget whose time is over first. */
  #timed: Budget | undefined;
  #settle: ((spent: Totals | undefined) => void)[] = [];

  constructor(host: Host, likes: readonly ModelLike[], request: ModelRequest, budgets: readonly Budget[], counted: Counted | undefined) {
    this.#host = host;
    this.#likes = likes;
    this.#request = request;
    this.#budgets = budgets;
    this.#counted = counted;
  }

  /** Reserves in all budgets, or says which one is too small. */
  async reserve(): Promise<EffectResult | undefined> {
    const input = this.#inputTokens();
    const price = this.#budgets.some((budget) => budget.limits.usd !== undefined) ? await this.#dearest(input) : undefined;
    if (price === "unknown")
      return denied(`the price of ${this.#request.model} is not known, and money is limited: give openrath({ prices }) one`);
    const wanted = this.#request.settings.maxOutputTokens ?? defaultOutput;
    let output = wanted;
    // Compared so that what is no number is too much: nobody knows what it would take.
    for (const budget of this.#budgets) {
      const { tokens, usd, ms } = budget.left;
      if (budget.uncounted && (tokens ?? usd) !== undefined) return denied(unsaid);
      if (ms !== undefined) {
        if (ms <= 0) return this.#crossed(budget, "time", ms);
        const deadline = Date.now() + ms;
        if (deadline < (this.deadline ?? Number.POSITIVE_INFINITY)) {
          this.deadline = deadline;
          this.#timed = budget;
        }
      }
      if (tokens !== undefined) {
        if (!(tokens - input >= leastOutput)) return this.#crossed(budget, "tokens", tokens);
        output = Math.min(output, tokens - input);
      }
      if (usd !== undefined) {
        const left = price === undefined ? (usd >= 0 ? output : 0) : Math.floor(outputFor(usd, input, price));
        if (!(left >= Math.min(leastOutput, output))) return this.#crossed(budget, "usd", usd);
        output = Math.min(output, left);
      }
    }
    // Where anything is counted, an answer may not be longer than what was reserved for it.
    if (this.#counts) this.maxOutputTokens = output;
    const usd = price === undefined ? 0 : (input * highestInput(price) + output * price.output) / 1_000_000;
    this.#settle = this.#budgets.map((budget) => budget.reserve(input + output, usd));
    return undefined;
  }

  /** Undefined: the model did not say what it took. */
  settle(spent: Totals | undefined): void {
    for (const settle of this.#settle.splice(0)) settle(spent);
  }

  /** The time is over while the model is asked. */
  timeOver(): void {
    if (this.#timed !== undefined) this.#crossed(this.#timed, "time", Math.min(0, this.#timed.left.ms ?? 0));
  }

  /** Time is counted in milliseconds. */
  #crossed(budget: Budget, limit: "tokens" | "usd" | "time", left: number): EffectResult {
    const { tokens, usd, time } = budget.limits;
    const of = { tokens, usd, time }[limit];
    const most = typeof of === "string" ? durationMs(of) : (of ?? 0);
    budget.crossed(limit, most, most - left);
    return denied(`budget: ${limit === "usd" ? `$${of}` : `${of}${limit === "tokens" ? " tokens" : ""}`} would be crossed`);
  }

  /** Free models cost nothing; of several, what is dearest in each counts: any of them may answer. */
  async #dearest(input: number): Promise<Price | "unknown" | undefined> {
    let dearest: Price | undefined;
    for (const like of this.#likes) {
      const model = await this.#host.model(like).catch(() => undefined);
      if (model?.free === true) {
        const own = priceOfFree(model, this.#host, input);
        if (own !== undefined) dearest = dearest === undefined ? own : dearer(dearest, own);
        continue;
      }
      const price = this.#host.price(model?.id ?? modelName(like), input) ?? this.#host.price(modelName(like), input);
      if (price === undefined) return "unknown";
      dearest = dearest === undefined ? price : dearer(dearest, price);
    }
    return dearest;
  }

  /** Whether any budget is in tokens or money: time needs no counting. */
  get #counts(): boolean {
    return this.#budgets.some(({ limits }) => limits.tokens !== undefined || limits.usd !== undefined);
  }

  #inputTokens(): number {
    if (!this.#counts) return 0;
    if (this.#counted !== undefined) return this.#counted.usage.input + this.#counted.usage.output + bytesOf(this.#counted.since());
    const { instructions, tools, output, messages } = this.#request;
    return bytesOf([instructions, tools, output ?? null, messages]);
  }
}

const unsaid =
  "budget: a model has answered without saying how many tokens it took, so that nobody knows what is left: let its provider say it (includeUsage), or limit rounds and time instead";

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function highestInput(price: Price): number {
  return Math.max(price.input, price.cached, price.cacheWrite);
}

/** How many tokens of an answer the money is enough for, once the input is paid. */
function outputFor(usd: number, input: number, price: Price): number {
  const rest = usd * 1_000_000 - input * highestInput(price);
  return rest < 0 ? -1 : price.output === 0 ? Number.MAX_SAFE_INTEGER : rest / price.output;
}

/** What costs nothing costs what `openrath({ prices })` says of it by its own id: so a script can stand in for money that is spent. */
export function priceOfFree({ id }: Model, host: Host, input: number): Price | undefined {
  const price = host.price(id, input);
  return price?.table === "own" ? price : undefined;
}

function dearer(a: Price, b: Price): Price {
  return {
    table: a.table,
    input: Math.max(a.input, b.input),
    output: Math.max(a.output, b.output),
    cached: Math.max(a.cached, b.cached),
    cacheWrite: Math.max(a.cacheWrite, b.cacheWrite),
  };
}

function denied(reason: string): EffectResult {
  return new EffectResult("denied", { reason });
}

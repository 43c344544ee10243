/**
 * What tokens cost. The figures are facts of a day: they were taken from @pydantic/genai-prices 0.1.8, published on 2026-09-23,
 * which gathers the providers' own price pages. They are the standard rates, without batch, flex or priority tiers. Where a
 * provider names no price for reading or writing its cache, the one for input is taken. Rates of Gemini 3.6 to 3.8 Flash are
 * introductory and end on 2026-12-31. Embedding models write no tokens, and their rates are those for text. A model that is not
 * here has no known price; nothing is guessed.
 */
import { givenOptions, shown, unsupported } from "../session/given.ts";
import type { Price } from "../session/host.ts";
import type { ReplyUsage } from "../session/message.ts";

/** The version of the table, which is the day its figures are from. */
export const pricesVersion = "2026-09-23";

/** Prices of one's own, by the name of the model. What is left out costs as much as input. */
export type Prices = Readonly<
  Record<string, { readonly input: number; readonly output: number; readonly cached?: number; readonly cacheWrite?: number }>
>;

const rates = ["input", "output", "cached", "cacheWrite"] as const;

/** Prices that can be counted with. With one that cannot, a limit in dollars would hold nothing, in silence. */
export function givenPrices(prices: Prices): void {
  for (const [model, price] of Object.entries<unknown>(prices)) {
    const field = `prices[${JSON.stringify(model)}]`;
    if (typeof price !== "object" || price === null)
      throw unsupported(field, `is ${shown(price)}`, "give { input, output, cached?, cacheWrite? }, US dollars for a million tokens");
    const given = givenOptions(price as Prices[string], rates, field);
    for (const name of rates) {
      const rate: unknown = given[name];
      if (Number.isFinite(rate) && (rate as number) >= 0) continue;
      if (rate === undefined && name !== "input" && name !== "output") continue;
      throw unsupported(`${field}.${name}`, `is ${shown(rate)}`, "give US dollars for a million tokens, 0 or more");
    }
  }
}

/**
 * The price of a model, by its name with or without a provider, a date or "latest" at its end. One's own prices come first;
 * models that run on one's own machines cost nothing. `input` is how many tokens the model reads: some cost more for the
 * whole call when it reads very many.
 */
export function priceOf(model: string, overrides: Prices = {}, input = 0): Price | undefined {
  const own = ownPrice(overrides, model) ?? ownPrice(overrides, undated(model));
  if (own !== undefined) {
    const { input: tokens, output, cached = tokens, cacheWrite = tokens } = own;
    return { table: "own", input: tokens, output, cached, cacheWrite };
  }
  const entry = entryOf(model);
  if (entry === undefined) return undefined;
  const [, , , , long] = entry;
  const [tokens, output, cached, cacheWrite] = long !== undefined && input > long.above ? long.rates : entry;
  return { table: pricesVersion, input: tokens, output, cached, cacheWrite };
}

/** What a call costs, in US dollars. */
export function cost(price: Price, usage: ReplyUsage): number {
  const uncached = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
  const read = uncached * price.input + usage.cached * price.cached + usage.cacheWrite * price.cacheWrite;
  return (read + usage.output * price.output) / 1_000_000;
}

/** Input, output, cached, cache write. */
type Row = readonly [number, number, number, number];
type Entry = Row | readonly [...Row, { readonly above: number; readonly rates: Row }];

function ownPrice(prices: Prices, model: string): Prices[string] | undefined {
  return Object.hasOwn(prices, model) ? prices[model] : undefined;
}

function entryOf(model: string): Entry | undefined {
  const slash = model.indexOf("/");
  if (slash === -1)
    return Object.values(table)
      .map((of) => listed(of, model))
      .find((entry) => entry !== undefined);
  const provider = model.slice(0, slash);
  if (provider === "ollama" || provider === "vllm") return [0, 0, 0, 0];
  return Object.hasOwn(table, provider) ? listed(table[provider as keyof typeof table], model.slice(slash + 1)) : undefined;
}

function listed(of: Readonly<Record<string, Entry | string>>, model: string): Entry | undefined {
  for (const name of [model, undated(model)]) {
    const entry = Object.hasOwn(of, name) ? of[name] : undefined;
    if (entry !== undefined) return typeof entry === "string" ? listed(of, entry) : entry;
  }
  return undefined;
}

/** Without "-latest", "-2025-08-07", "-20250807", "@20250807" or Google's "-001". */
export function undated(model: string): string {
  return model.replace(/(?:-latest|-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-\d{3})$/, "");
}

/** A name in place of a price is another name of that model. */
const table = {
  openai: {
    "gpt-4.1": [2, 8, 0.5, 2],
    "gpt-4.1-mini": [0.4, 1.6, 0.1, 0.4],
    "gpt-4.1-nano": [0.1, 0.4, 0.025, 0.1],
    "gpt-4o": [2.5, 10, 1.25, 2.5],
    "gpt-4o-2024-05-13": [5, 15, 5, 5],
    "gpt-4o-mini": [0.15, 0.6, 0.075, 0.15],
    "gpt-5": [1.25, 10, 0.125, 1.25],
    "gpt-5-chat": "gpt-5",
    "gpt-5-codex": "gpt-5",
    "gpt-5-mini": [0.25, 2, 0.025, 0.25],
    "gpt-5-nano": [0.05, 0.4, 0.005, 0.05],
    "gpt-5-pro": [15, 120, 15, 15],
    "gpt-5.1": [1.25, 10, 0.125, 1.25],
    "gpt-5.1-chat": "gpt-5.1",
    "gpt-5.1-codex": "gpt-5.1",
    "gpt-5.1-codex-max": "gpt-5.1",
    "gpt-5.1-codex-mini": [0.25, 2, 0.025, 0.25],
    "gpt-5.2": [1.75, 14, 0.175, 1.75],
    "gpt-5.2-chat": "gpt-5.2",
    "gpt-5.2-codex": "gpt-5.2",
    "gpt-5.2-pro": [21, 168, 21, 21],
    "gpt-5.3": [1.75, 14, 0.175, 1.75],
    "gpt-5.3-chat": "gpt-5.3",
    "gpt-5.3-codex": [1.75, 14, 0.175, 1.75],
    "gpt-5.4": [2.5, 15, 0.25, 2.5, { above: 271_999, rates: [5, 22.5, 0.5, 5] }],
    "gpt-5.4-mini": [0.75, 4.5, 0.075, 0.75],
    "gpt-5.4-nano": [0.2, 1.25, 0.02, 0.2],
    "gpt-5.4-pro": [30, 180, 30, 30, { above: 271_999, rates: [60, 270, 60, 60] }],
    "gpt-5.5": [5, 30, 0.5, 5, { above: 271_999, rates: [10, 45, 1, 10] }],
    "gpt-5.5-chat": "gpt-5.5",
    "gpt-5.5-codex": "gpt-5.5",
    "gpt-5.5-pro": [30, 180, 30, 30, { above: 271_999, rates: [60, 270, 60, 60] }],
    "gpt-5.6-luna": [0.2, 1.2, 0.02, 0.25, { above: 271_999, rates: [0.4, 1.8, 0.04, 0.5] }],
    "gpt-5.6-sol": [4, 20, 0.4, 5, { above: 271_999, rates: [8, 30, 0.8, 10] }],
    "gpt-5.6": "gpt-5.6-sol",
    "gpt-5.6-terra": [2, 12, 0.2, 2.5, { above: 271_999, rates: [4, 18, 0.4, 5] }],
    "gpt-6-astra": [10, 50, 1, 12.5, { above: 271_999, rates: [20, 75, 2, 25] }],
    "gpt-6-luna": [0.1, 0.5, 0.01, 0.125, { above: 272_000, rates: [0.2, 0.75, 0.02, 0.25] }],
    "gpt-6-sol": [2, 10, 0.2, 2.5, { above: 272_000, rates: [4, 15, 0.4, 5] }],
    o1: [15, 60, 7.5, 15],
    "o1-pro": [150, 600, 150, 150],
    o3: [2, 8, 0.5, 2],
    "o3-mini": [1.1, 4.4, 0.55, 1.1],
    "o3-pro": [20, 80, 20, 20],
    "o4-mini": [1.1, 4.4, 0.275, 1.1],
    "text-embedding-3-large": [0.13, 0, 0.13, 0.13],
    "text-embedding-3-small": [0.02, 0, 0.02, 0.02],
    "text-embedding-ada-002": [0.1, 0, 0.1, 0.1],
  },
  anthropic: {
    "claude-3-5-haiku": [0.8, 4, 0.08, 1],
    "claude-3-7-sonnet": [3, 15, 0.3, 3.75],
    "claude-fable-5": [10, 50, 1, 12.5],
    "claude-fable-5-1": [10, 50, 0.25, 12.5],
    "claude-haiku-4-5": [1, 5, 0.1, 1.25],
    "claude-opus-4-0": [15, 75, 1.5, 18.75],
    "claude-opus-4": "claude-opus-4-0",
    "claude-opus-4-1": [15, 75, 1.5, 18.75],
    "claude-opus-4-5": [5, 25, 0.5, 6.25],
    "claude-opus-4-6": [5, 25, 0.5, 6.25],
    "claude-opus-4-7": [5, 25, 0.5, 6.25],
    "claude-opus-4-8": [5, 25, 0.5, 6.25],
    "claude-opus-5": [5, 25, 0.5, 6.25],
    "claude-opus-5-5": [4, 20, 0.2, 5],
    "claude-sonnet-4-0": [3, 15, 0.3, 3.75],
    "claude-sonnet-4": "claude-sonnet-4-0",
    "claude-sonnet-4-5": [3, 15, 0.3, 3.75],
    "claude-sonnet-4-6": [3, 15, 0.3, 3.75],
    "claude-sonnet-5": [2, 10, 0.2, 2.5],
  },
  google: {
    "gemini-2.0-flash": [0.1, 0.4, 0.025, 0.1],
    "gemini-2.0-flash-lite": [0.075, 0.3, 0.075, 0.075],
    "gemini-2.5-flash": [0.3, 2.5, 0.03, 0.3],
    "gemini-2.5-flash-lite": [0.1, 0.4, 0.01, 0.1],
    "gemini-2.5-pro": [1.25, 10, 0.125, 1.25, { above: 200_000, rates: [2.5, 15, 0.25, 2.5] }],
    "gemini-3-flash-preview": [0.5, 3, 0.05, 0.5],
    "gemini-3-pro-preview": [2, 12, 0.2, 2, { above: 200_000, rates: [4, 18, 0.4, 4] }],
    "gemini-3.1-flash-lite": [0.25, 1.5, 0.025, 0.25],
    "gemini-3.1-flash-lite-preview": "gemini-3.1-flash-lite",
    "gemini-3.1-pro-preview": [2, 12, 0.2, 2, { above: 200_000, rates: [4, 18, 0.4, 4] }],
    "gemini-3.5-flash": [1.5, 9, 0.15, 1.5],
    "gemini-3.5-flash-lite": [0.3, 2.5, 0.03, 0.3],
    "gemini-3.6-flash": [0.75, 3.75, 0.075, 0.75],
    "gemini-3.7-flash": [0.75, 3.75, 0.075, 0.75],
    "gemini-3.8-flash": [0.75, 3.75, 0.075, 0.75],
    "gemini-embedding-001": [0.15, 0, 0.15, 0.15],
    "gemini-embedding-2": [0.2, 0, 0.2, 0.2],
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Entry | string>>>>;

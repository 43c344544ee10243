/**
 * How many tokens models read and write in one call, as the providers' own model pages name them. The figures are facts of a day,
 * 2026-11-15: those of Claude Opus 5, 5.5 and Fable 5.1 were seen on platform.claude.com, most of OpenAI and Gemini in
 * pydantic/genai-prices and in documentation that quotes the pages, the rest is common knowledge. Left out on purpose: models whose
 * window depends on a tier or a header (Claude Sonnet 4 and 4.5, Claude 4.6 to 4.8) and those for which no exact figure was found.
 * A model that is not here is not checked: a wrong figure would refuse what the provider takes.
 */
import { type ModelLike, modelName } from "../session/model.ts";
import { aliased } from "./aliases.ts";
import { undated } from "./prices.ts";

/**
 * How many tokens a model reads at most: what it says of itself, else what the table says of its name. A name is followed through
 * the aliases of a Rath; a substitute counts for what it is, not for what it stands for.
 */
export function windowOf(like: ModelLike, models: Readonly<Record<string, ModelLike>> = {}): number | undefined {
  const found = typeof like === "string" ? unaliased(models, like) : like;
  if (found === undefined) return undefined;
  if (typeof found === "object" && "stream" in found) return positive(found.contextWindow) ?? listed(found.id);
  return listed(modelName(found));
}

/** Names that go in a circle are refused when the model is asked. */
function unaliased(models: Readonly<Record<string, ModelLike>>, name: string): ModelLike | undefined {
  try {
    return aliased(models, name);
  } catch {
    return undefined;
  }
}

function positive(window: number | undefined): number | undefined {
  return window !== undefined && window > 0 ? window : undefined;
}

/** Only where a provider serves its own models: others may serve the same names with less. */
function listed(name: string): number | undefined {
  const slash = name.indexOf("/");
  if (slash === -1) return undefined;
  const provider = name.slice(0, slash);
  const of: Readonly<Record<string, number>> | undefined = Object.hasOwn(table, provider)
    ? table[provider as keyof typeof table]
    : undefined;
  const model = name.slice(slash + 1);
  for (const known of [model, undated(model)]) if (of !== undefined && Object.hasOwn(of, known)) return of[known];
  return undefined;
}

const table = {
  openai: {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8192,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.1-mini": 1_047_576,
    "gpt-4.1-nano": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-4o-mini": 128_000,
    "gpt-5": 400_000,
    "gpt-5-chat": 128_000,
    "gpt-5-codex": 400_000,
    "gpt-5-mini": 400_000,
    "gpt-5-nano": 400_000,
    "gpt-5-pro": 400_000,
    "gpt-5.1": 400_000,
    "gpt-5.1-chat": 128_000,
    "gpt-5.1-codex": 400_000,
    o1: 200_000,
    "o1-pro": 200_000,
    o3: 200_000,
    "o3-mini": 200_000,
    "o3-pro": 200_000,
    "o4-mini": 200_000,
  },
  anthropic: {
    "claude-3-5-haiku": 200_000,
    "claude-3-7-sonnet": 200_000,
    "claude-fable-5-1": 1_000_000,
    "claude-haiku-4-5": 200_000,
    "claude-opus-4-0": 200_000,
    "claude-opus-4": 200_000,
    "claude-opus-4-1": 200_000,
    "claude-opus-4-5": 200_000,
    "claude-opus-5": 1_000_000,
    "claude-opus-5-5": 1_000_000,
  },
  google: {
    "gemini-2.0-flash": 1_048_576,
    "gemini-2.0-flash-lite": 1_048_576,
    "gemini-2.5-flash": 1_048_576,
    "gemini-2.5-flash-lite": 1_048_576,
    "gemini-2.5-pro": 1_048_576,
  },
} as const;

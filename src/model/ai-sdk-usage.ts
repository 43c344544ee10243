/** Tokens as we count them, whatever a provider counts: `input` is uncached + cached + written, `output` includes reasoning. */
import type { ReplyUsage } from "../session/message.ts";
import type { Dialect } from "./ai-sdk-dialect.ts";
import { fieldOf } from "./ai-sdk-field.ts";

/** The usage of a finish part. V2 is flat, later versions are nested. */
export function usageOf(usage: unknown, metadata: unknown, dialect: Dialect): ReplyUsage {
  return dialect.version === "v2" ? flat(usage, metadata, dialect) : nested(usage);
}

function nested(usage: unknown): ReplyUsage {
  const input = fieldOf(usage, "inputTokens");
  const output = fieldOf(usage, "outputTokens");
  const cached = tokens(fieldOf(input, "cacheRead"));
  const cacheWrite = tokens(fieldOf(input, "cacheWrite"));
  const reasoning = tokens(fieldOf(output, "reasoning"));
  return {
    input: Math.max(tokens(fieldOf(input, "total")), tokens(fieldOf(input, "noCache")) + cached + cacheWrite),
    output: Math.max(tokens(fieldOf(output, "total")), tokens(fieldOf(output, "text")) + reasoning),
    cached,
    cacheWrite,
    reasoning,
  };
}

/**
 * V2 providers disagree. Anthropic and Bedrock count in `inputTokens` only what was neither read from the cache nor written to
 * it, and say what was written in their metadata alone; Google leaves thoughts out of `outputTokens`. The others include both.
 */
function flat(usage: unknown, metadata: unknown, dialect: Dialect): ReplyUsage {
  const cached = tokens(fieldOf(usage, "cachedInputTokens"));
  const reasoning = tokens(fieldOf(usage, "reasoningTokens"));
  const input = tokens(fieldOf(usage, "inputTokens"));
  const output = tokens(fieldOf(usage, "outputTokens"));
  const bedrock = fieldOf(fieldOf(metadata, "bedrock"), "usage");
  const anthropic = fieldOf(metadata, "anthropic");
  const cacheWrite = tokens(fieldOf(anthropic, "cacheCreationInputTokens")) + tokens(fieldOf(bedrock, "cacheWriteInputTokens"));
  const apart = dialect.family === "anthropic" || dialect.provider.includes("bedrock");
  return {
    input: apart ? input + cached + cacheWrite : Math.max(input, cached + cacheWrite),
    output: dialect.family === "google" ? output + reasoning : Math.max(output, reasoning),
    cached,
    cacheWrite,
    reasoning,
  };
}

/** A count, 0 where the provider gave none or no sensible one. */
function tokens(value: unknown): number {
  return typeof value === "number" && value > 0 && value < 1e12 ? Math.round(value) : 0;
}

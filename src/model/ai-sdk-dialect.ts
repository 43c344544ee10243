/** What differs between providers behind one interface: the keys they read, how they are told to reason, and what they must be told. */
import type { ModelRequest, ModelSettings } from "../session/message.ts";
import type { LanguageModel } from "../session/model.ts";

/** Providers that share an API. "other" takes `reasoningEffort` under its own name, as OpenAI-compatible servers do. */
export type Family = "openai" | "anthropic" | "google" | "other";

export interface Dialect {
  readonly version: LanguageModel["specificationVersion"];
  /** The provider's short name: "openai" for "openai.responses". */
  readonly provider: string;
  readonly modelId: string;
  readonly family: Family;
  /** The names under which the provider reads options and leaves metadata, the preferred one first. */
  readonly keys: readonly [string, ...string[]];
  /** The API keeps replies on its side unless told not to. */
  readonly stores: boolean;
}

type Options = Readonly<Record<string, unknown>>;

export function dialectOf(model: LanguageModel): Dialect {
  const { specificationVersion: version, provider: full, modelId } = model;
  const provider = shortName(full);
  // Vercel's gateway passes options and metadata through to the provider its model ids begin with.
  const through = provider === "gateway" ? shortName(modelId.split("/")[0] ?? "") : undefined;
  const family = familyOf(through ?? full);
  return {
    version,
    provider,
    modelId: through === undefined ? modelId : modelId.slice(through.length + 1),
    family,
    keys: keysOf(family, full, through ?? provider),
    stores: family === "openai" && full.endsWith(".responses"),
  };
}

/** "openai" of "openai.responses". */
function shortName(provider: string): string {
  return provider.split(".")[0] ?? provider;
}

function familyOf(provider: string): Family {
  if (/anthropic/.test(provider)) return "anthropic";
  if (/^(?:google|vertex)/.test(provider)) return "google";
  return /^(?:openai|azure)(?:\.|$)/.test(provider) ? "openai" : "other";
}

function keysOf(family: Family, full: string, name: string): readonly [string, ...string[]] {
  switch (family) {
    case "openai":
      return [name];
    case "anthropic":
      return ["anthropic", name];
    case "google":
      return full.includes("vertex") ? ["vertex", "google"] : ["google", "vertex"];
    case "other":
      return [name, name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase()), "openaiCompatible"];
  }
}

/** A part's metadata as far as this provider wrote it; another provider's is of no use to it. */
export function ownMetadata(dialect: Dialect, metadata: unknown): Options | undefined {
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const own = Object.entries(metadata).filter(([key, value]) => dialect.keys.includes(key) && typeof value === "object" && value !== null);
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** Options for the provider: ours first, then what the user wrote, which wins field by field. */
export function providerOptions(dialect: Dialect, request: ModelRequest): Options | undefined {
  const { settings, output } = request;
  const [key] = dialect.keys;
  const ours = {
    ...reasoningOptions(dialect, settings.reasoning),
    // The log holds the whole conversation, encrypted reasoning included; a reply kept by the provider expires and cannot be moved.
    ...(dialect.stores ? { store: false } : {}),
    ...(output !== undefined && (dialect.family === "openai" || dialect.family === "other") && !isStrict(output)
      ? { strictJsonSchema: false }
      : {}),
  };
  const given = settings.providerOptions ?? {};
  if (Object.keys(ours).length === 0) return Object.keys(given).length === 0 ? undefined : given;
  return { ...given, [key]: { ...ours, ...given[key] } };
}

/** How hard to think. V4 has a setting of its own for it, which shows no thoughts of Google's; before, each provider has its own words. */
function reasoningOptions(dialect: Dialect, effort: ModelSettings["reasoning"]): Options {
  if (effort === undefined) return {};
  if (dialect.version === "v4")
    return dialect.family === "google" && effort !== "none" ? { thinkingConfig: { includeThoughts: true } } : {};
  switch (dialect.family) {
    case "openai":
      return { reasoningEffort: effort === "none" ? leastOpenAI(dialect.modelId) : effort };
    case "anthropic":
      if (effort === "none") return { thinking: { type: "disabled" } };
      return thinksAdaptively(dialect.modelId)
        ? { thinking: { type: "adaptive", display: "summarized" }, effort }
        : { thinking: { type: "enabled", budgetTokens: budgets[effort] } };
    case "google":
      return { thinkingConfig: geminiThinking(dialect.modelId, effort) };
    case "other":
      return { reasoningEffort: effort };
  }
}

const budgets = { low: 2048, medium: 8192, high: 24_576 } as const;

/** The least effort a model takes: "none" is refused by the first reasoning models. */
function leastOpenAI(modelId: string): string {
  if (/^o\d/.test(modelId)) return "low";
  return /^gpt-5(?:-|$)/.test(modelId) ? "minimal" : "none";
}

/** Claude 4.6 and later choose their own budget; earlier ones are given one. An id that tells no version is taken for a new one. */
function thinksAdaptively(modelId: string): boolean {
  const found = /claude-(?:[a-z]+-)?(\d+)(?:[.-](\d{1,2})(?!\d))?/.exec(modelId);
  if (found === null) return true;
  const [major, minor] = [Number(found[1]), Number(found[2] ?? 0)];
  return major > 4 || (major === 4 && minor >= 6);
}

function geminiThinking(modelId: string, effort: "none" | "low" | "medium" | "high"): Options {
  if (/gemini-[12]/.test(modelId)) {
    const least = /pro/.test(modelId) ? 128 : 0;
    return effort === "none" ? { thinkingBudget: least } : { thinkingBudget: budgets[effort], includeThoughts: true };
  }
  if (effort === "none") return { thinkingLevel: /flash/.test(modelId) ? "minimal" : "low" };
  return { thinkingLevel: effort, includeThoughts: true };
}

/** Whether OpenAI's strict mode takes a schema: closed objects whose properties are all required. */
function isStrict(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  if (Array.isArray(schema)) return schema.every(isStrict);
  const { properties, required, additionalProperties } = schema as Options;
  if (typeof properties === "object" && properties !== null) {
    const names = Object.keys(properties);
    if (additionalProperties !== false || !Array.isArray(required) || names.some((name) => !required.includes(name))) return false;
    if (!Object.values(properties).every(isStrict)) return false;
  }
  return Object.entries(schema).every(([key, value]) => key === "properties" || isStrict(value));
}

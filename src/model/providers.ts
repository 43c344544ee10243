/**
 * Names like "openai/gpt-5.5" as models: the provider's package, loaded when it is first needed, and its key from the
 * environment. Nothing here reaches for the network; a package or a key that is missing is named before a call is made.
 */
import type { EmbeddingModel } from "../session/embedding.ts";
import { RathError } from "../session/errors.ts";
import type { LanguageModel, Model } from "../session/model.ts";
import { textOfThrown } from "../session/thrown.ts";
import { aiSdkModel } from "./ai-sdk.ts";

/** Where a server that speaks OpenAI's chat completions is. */
export interface CompatibleOptions {
  readonly baseURL: string;
  readonly model: string;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The first half of the model's name, and the key of its `providerOptions`. "compatible" unless given. */
  readonly name?: string | undefined;
}

/**
 * A model behind any server that speaks OpenAI's chat completions: vLLM, LM Studio, a gateway. Needs the package
 * `@ai-sdk/openai-compatible`, which is loaded at the first call.
 *
 * @example
 * const local = compatible({ baseURL: "http://127.0.0.1:1234/v1", model: "qwen3-8b", name: "lmstudio" });
 * const agent = new Agent({ name: "writer", model: local, instructions: "Write plainly." });
 */
export function compatible(options: CompatibleOptions): Model {
  const { model, name = "compatible" } = options;
  let loading: Promise<Model> | undefined;
  return {
    id: `${name}/${model}`,
    async *stream(request, context) {
      loading ??= compatibleModel(options, importPackage).catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      yield* (await loading).stream(request, context);
    },
  };
}

/** What a provider is looked up in; given by tests. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly load: Load;
}
/** A package as it comes: factories by their names. */
type Load = (name: string) => Promise<Readonly<Record<string, unknown>>>;

/** The prefixes that stand for a provider. */
export const knownPrefixes: readonly string[] = ["openai", "anthropic", "google", "azure", "ollama", "vllm", "openrouter", "compatible"];

/** The model a "provider/model" string names. */
export async function providerModel(name: string, given: Partial<Surroundings> = {}): Promise<Model> {
  const { provider, model } = await providerOf(name, given);
  return aiSdkModel(provider(model));
}

/** The embedding model a "provider/model" string names. */
export async function providerEmbeddingModel(name: string, given: Partial<Surroundings> = {}): Promise<EmbeddingModel> {
  const { provider, model } = await providerOf(name, given);
  let problem = "";
  try {
    const made = (provider.embeddingModel ?? provider.textEmbeddingModel)?.(model);
    if (made !== undefined) return made;
  } catch (error) {
    problem = ` (${textOfThrown(error)})`; // some packages have the method, and nothing behind it
  }
  const prefix = name.slice(0, name.indexOf("/"));
  throw new RathError(
    "model.unknown",
    `"${prefix}" has no embedding model "${model}"${problem}. Name one of a provider that has, like "openai/text-embedding-3-small".`,
    { details: { model: name } },
  );
}

/** A provider with its key and its address, and the model that is asked of it. */
async function providerOf(name: string, given: Partial<Surroundings>): Promise<{ readonly provider: Provider; readonly model: string }> {
  const { env = globalThis.process?.env ?? {}, load = importPackage } = given;
  const slash = name.indexOf("/");
  const [prefix, model] = [name.slice(0, slash), name.slice(slash + 1)];
  if (slash < 1 || model === "" || !knownPrefixes.includes(prefix)) throw unknownModel(name);
  const around = { env, load };
  switch (prefix) {
    case "openai":
      return await official(around, "@ai-sdk/openai", "createOpenAI", model, {
        apiKey: key(around, name, "OPENAI_API_KEY"),
        baseURL: env["OPENAI_BASE_URL"],
      });
    case "anthropic":
      return await official(around, "@ai-sdk/anthropic", "createAnthropic", model, anthropicOptions(around, name));
    case "google":
      return await official(around, "@ai-sdk/google", "createGoogleGenerativeAI", model, {
        apiKey: key(around, name, "GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        baseURL: env["GOOGLE_GENERATIVE_AI_BASE_URL"] ?? env["GEMINI_BASE_URL"],
      });
    case "azure":
      return await official(around, "@ai-sdk/azure", "createAzure", model, azureOptions(around, name));
    default:
      return { provider: await compatibleProvider({ ...serverOf(around, name, prefix), name: prefix, model }, load), model };
  }
}

/** The error for a name that leads nowhere. */
/** Without a list of aliases these are not looked at, as for embedding models. */
export function unknownModel(name: string, aliases?: readonly string[]): RathError {
  const known = `Known prefixes: ${knownPrefixes.map((prefix) => `${prefix}/`).join(", ")}.`;
  const next =
    aliases === undefined
      ? "Give a name with one of them, or a provider object."
      : `Aliases of this Rath: ${aliases.length === 0 ? "none" : aliases.join(", ")}. Name an alias in openrath({ models }) or give a provider object.`;
  return new RathError("model.unknown", `There is no model "${name}". ${known} ${next}`, { details: { model: name } });
}

async function official(
  around: Surroundings,
  from: string,
  factory: string,
  model: string,
  options: object,
): Promise<{ readonly provider: Provider; readonly model: string }> {
  const create = await factoryOf(around.load, from, factory);
  return { provider: create(withoutUndefined(options)), model };
}

/** AI SDK wants the version in the address, Anthropic's own variable is written without. */
function anthropicOptions(around: Surroundings, name: string): object {
  const { env } = around;
  const base = env["ANTHROPIC_BASE_URL"]?.replace(/\/+$/, "");
  const baseURL = base === undefined || base === "" || /\/v\d+$/.test(base) ? base : `${base}/v1`;
  const authToken = env["ANTHROPIC_AUTH_TOKEN"];
  if (env["ANTHROPIC_API_KEY"] === undefined && authToken !== undefined) return { authToken, baseURL };
  return { apiKey: key(around, name, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), baseURL };
}

function azureOptions(around: Surroundings, name: string): object {
  const { env } = around;
  const [baseURL, resourceName] = [env["AZURE_BASE_URL"], env["AZURE_RESOURCE_NAME"]];
  const apiKey = key(around, name, "AZURE_API_KEY");
  if (!baseURL && !resourceName) throw missing(name, ["AZURE_RESOURCE_NAME", "AZURE_BASE_URL"]);
  return { apiKey, baseURL, resourceName, apiVersion: env["AZURE_API_VERSION"] };
}

/** Servers that speak OpenAI's chat completions, by base URL. */
function serverOf(around: Surroundings, name: string, prefix: string): { readonly baseURL: string; readonly apiKey?: string | undefined } {
  const { env } = around;
  switch (prefix) {
    case "ollama":
      return { baseURL: env["OLLAMA_BASE_URL"] || "http://127.0.0.1:11434/v1", apiKey: env["OLLAMA_API_KEY"] };
    case "vllm":
      return { baseURL: env["VLLM_BASE_URL"] || "http://127.0.0.1:8000/v1", apiKey: env["VLLM_API_KEY"] };
    case "openrouter":
      return { baseURL: env["OPENROUTER_BASE_URL"] || "https://openrouter.ai/api/v1", apiKey: key(around, name, "OPENROUTER_API_KEY") };
    default: {
      const baseURL = env["OPENAI_COMPATIBLE_BASE_URL"];
      if (!baseURL) throw missing(name, ["OPENAI_COMPATIBLE_BASE_URL"]);
      return { baseURL, apiKey: env["OPENAI_COMPATIBLE_API_KEY"] };
    }
  }
}

async function compatibleModel(options: CompatibleOptions, load: Load): Promise<Model> {
  return aiSdkModel((await compatibleProvider(options, load))(options.model));
}

async function compatibleProvider(options: CompatibleOptions, load: Load): Promise<Provider> {
  const { baseURL, apiKey, headers, name = "compatible" } = options;
  const create = await factoryOf(load, "@ai-sdk/openai-compatible", "createOpenAICompatible");
  // Without includeUsage a stream tells no tokens; without the other a schema is dropped.
  return create(withoutUndefined({ baseURL, apiKey, headers, name, includeUsage: true, supportsStructuredOutputs: true }));
}

/** A provider of the AI SDK. Those of V2 call it `textEmbeddingModel`, later ones have both names. */
interface Provider {
  (model: string): LanguageModel;
  readonly embeddingModel?: (model: string) => EmbeddingModel;
  readonly textEmbeddingModel?: (model: string) => EmbeddingModel;
}
type Factory = (options: object) => Provider;

async function factoryOf(load: Load, from: string, factory: string): Promise<Factory> {
  let found: Readonly<Record<string, unknown>>;
  try {
    found = await load(from);
  } catch (cause) {
    throw new RathError("model.unavailable", `The package ${from} is not installed or does not load. Run: npm install ${from}`, {
      cause,
      details: { package: from },
    });
  }
  const create = found[factory];
  if (typeof create !== "function")
    throw new RathError("model.unavailable", `The package ${from} has no ${factory}. Install a newer version: npm install ${from}`, {
      details: { package: from },
    });
  return create as Factory;
}

/** By a variable: a literal import would break the bundles of people who have not installed the package. */
async function importPackage(name: string): Promise<Readonly<Record<string, unknown>>> {
  return (await import(/* @vite-ignore */ name)) as Readonly<Record<string, unknown>>;
}

/** The first of the variables that is set. */
function key({ env }: Surroundings, name: string, ...variables: readonly string[]): string {
  for (const variable of variables) {
    const value = env[variable];
    if (value !== undefined && value !== "") return value;
  }
  throw missing(name, variables);
}

function missing(name: string, variables: readonly string[]): RathError {
  return new RathError(
    "model.unavailable",
    `The model "${name}" needs the environment variable ${variables.join(" or ")}. Set it and start again.`,
    {
      details: { model: name, variables },
    },
  );
}

function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== ""));
}

import { createAnthropic } from "@ai-sdk/anthropic";
import { createAzure } from "@ai-sdk/azure";
import { openai } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, test } from "vitest";
import { fakeModel } from "../../test/support/model-call.ts";
import { RathError } from "../session/errors.ts";
import { type Model, type ModelLike, modelName } from "../session/model.ts";
import { compatible, providerModel } from "./providers.ts";
import { modelResolver } from "./resolve.ts";
import { scripted } from "./scripted.ts";

const provided: string[] = [];
const provide = async (name: string): Promise<Model> => {
  provided.push(name);
  return { ...scripted(), id: name };
};
const resolver = (models?: Readonly<Record<string, ModelLike>>) => {
  provided.length = 0;
  return modelResolver(models, provide);
};
const idOf = async (models: Readonly<Record<string, ModelLike>> | undefined, like: ModelLike) => (await resolver(models)(like)).id;

describe("modelResolver", () => {
  test("takes a model as it is, and makes one of a provider object once", async () => {
    const resolve = resolver();
    const model = scripted("x");
    expect(await resolve(model)).toBe(model);
    const object = fakeModel([], { provider: "openai.responses", modelId: "gpt-5.5" });
    const made = await resolve(object);
    expect(made.id).toBe("openai/gpt-5.5");
    expect(await resolve(object)).toBe(made);
  });

  test("asks a provider for a string once, and again after it failed", async () => {
    const resolve = resolver();
    expect(await resolve("openai/a")).toBe(await resolve("openai/a"));
    expect(provided).toEqual(["openai/a"]);
    let tries = 0;
    const flaky = modelResolver({}, async (name) => {
      if (++tries === 1) throw new Error("no key");
      return await provide(name);
    });
    await expect(flaky("openai/a")).rejects.toThrow("no key");
    expect((await flaky("openai/a")).id).toBe("openai/a");
  });

  test("follows aliases to strings, objects and models", async () => {
    const model = scripted("x");
    expect(await idOf({ fast: "small", small: "openai/gpt-5-mini" }, "fast")).toBe("openai/gpt-5-mini");
    expect(await resolver({ fast: model })("fast")).toBe(model);
    expect(await idOf({ "openai/gpt-5": fakeModel([]) }, "openai/gpt-5")).toBe("test/model");
  });

  test("an exact name beats a wildcard, and the longest wildcard wins", async () => {
    const models = { "openai/*": "ollama/openai", "openai/gpt-5*": "ollama/five", "openai/gpt-5": "ollama/exact" } as const;
    expect(await idOf(models, "openai/gpt-5")).toBe("ollama/exact");
    const only = (key: keyof typeof models) => ({ [key]: models[key] });
    expect(await idOf({ ...only("openai/*"), ...only("openai/gpt-5*") }, "openai/gpt-5.5")).toBe("ollama/five");
    expect(await idOf({ ...only("openai/gpt-5*"), ...only("openai/*") }, "openai/o3")).toBe("ollama/openai");
    expect(await idOf(only("openai/*"), "anthropic/x")).toBe("anthropic/x");
  });

  test("a name is followed until nothing stands for it: a substitute takes aliases too", async () => {
    expect(await idOf({ fast: "openai/gpt-5", "openai/*": scripted() }, "fast")).toBe("scripted");
    expect(await idOf({ fast: "openai/gpt-5", "*": scripted() }, "anything at all")).toBe("scripted");
  });

  test("a wildcard may send names on, and may stand for a name it matches itself", async () => {
    expect(await idOf({ "openai/*": "openrouter/openai/*" }, "openai/gpt-5")).toBe("openrouter/openai/gpt-5");
    expect(await idOf({ "openai/*": "openai/gpt-5-mini" }, "openai/gpt-5.5")).toBe("openai/gpt-5-mini");
  });

  test("aliases that go in a circle are named", async () => {
    await expect(resolver({ a: "b", b: "c", c: "a" })("a")).rejects.toThrow(/"a" → "b" → "c" → "a" go in a circle/);
    await expect(resolver({ a: "a" })("a")).rejects.toMatchObject({ code: "model.unknown" });
  });

  test("a name that leads nowhere tells what there is", async () => {
    const failing = resolver({ fast: "openai/x" })("quick");
    await expect(failing).rejects.toMatchObject({
      code: "model.unknown",
      message: expect.stringMatching(/"quick".*openai\/.*ollama\/.*fast/),
    });
    for (const name of ["mistral/large", "openai/", "/x", "", "toString", "__proto__"])
      await expect(resolver({ fast: "openai/x" })(name), name).rejects.toMatchObject({ code: "model.unknown" });
    expect(provided).toEqual([]);
  });

  test("what is no model is refused, and a provider in place of its model explained", async () => {
    await expect(resolver()(openai as unknown as ModelLike)).rejects.toThrow(/call it with the id of a model/);
    await expect(resolver()(null as unknown as ModelLike)).rejects.toThrow(/got null/);
    // Mutant: what it is called is asked of what is no model, and fails inside.
    for (const none of [5, null, {}, openai] as never[])
      expect(() => modelName(none)).toThrow(expect.objectContaining({ code: "model.unknown" }));
    await expect(resolver()({} as ModelLike)).rejects.toMatchObject({ code: "model.unknown" });
  });
});

test("modelName is what configuration records", () => {
  expect(modelName("fast")).toBe("fast");
  expect(modelName(createAnthropic({ apiKey: "x" })("claude-opus-5"))).toBe("anthropic/claude-opus-5");
  expect(modelName(openai("gpt-5.5"))).toBe("openai/gpt-5.5");
  expect(modelName(openai.chat("gpt-5.5"))).toBe("openai/gpt-5.5");
  expect(modelName(createAzure({ apiKey: "x", resourceName: "r" })("mine"))).toBe("azure/mine");
  expect(modelName(createOpenAICompatible({ name: "acme", baseURL: "http://127.0.0.1:1" })("qwen3"))).toBe("acme/qwen3");
  expect(modelName(scripted())).toBe("scripted");
  expect(modelName(compatible({ baseURL: "http://127.0.0.1:1", model: "qwen3", name: "lmstudio" }))).toBe("lmstudio/qwen3");
});

describe("providerModel", () => {
  const made: { from: string; options: Readonly<Record<string, unknown>> }[] = [];
  const load = async (from: string) => {
    const create = (options: Readonly<Record<string, unknown>>) => {
      made.push({ from, options });
      return (modelId: string) => fakeModel([], { provider: `${options["name"] ?? from.split("/")[1]}.chat`, modelId });
    };
    return {
      createOpenAI: create,
      createAnthropic: create,
      createGoogleGenerativeAI: create,
      createAzure: create,
      createOpenAICompatible: create,
    };
  };
  const given = async (name: string, env: Readonly<Record<string, string>>) => {
    made.length = 0;
    const model = await providerModel(name, { env, load });
    return { id: model.id, ...made[0] };
  };

  test.each([
    ["openai/gpt-5.5", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://h/v1" }, "@ai-sdk/openai", { apiKey: "k", baseURL: "http://h/v1" }],
    ["anthropic/claude-opus-5", { ANTHROPIC_API_KEY: "k" }, "@ai-sdk/anthropic", { apiKey: "k" }],
    [
      "anthropic/claude-opus-5",
      { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://h/" },
      "@ai-sdk/anthropic",
      { apiKey: "k", baseURL: "http://h/v1" },
    ],
    [
      "anthropic/claude-opus-5",
      { ANTHROPIC_AUTH_TOKEN: "t", ANTHROPIC_BASE_URL: "http://h/v1" },
      "@ai-sdk/anthropic",
      { authToken: "t", baseURL: "http://h/v1" },
    ],
    ["google/gemini-3.5-flash", { GEMINI_API_KEY: "k" }, "@ai-sdk/google", { apiKey: "k" }],
    ["azure/my-deployment", { AZURE_API_KEY: "k", AZURE_RESOURCE_NAME: "r" }, "@ai-sdk/azure", { apiKey: "k", resourceName: "r" }],
    ["ollama/llama3.3:70b", {}, "@ai-sdk/openai-compatible", { name: "ollama", baseURL: "http://127.0.0.1:11434/v1" }],
    [
      "vllm/org/model",
      { VLLM_BASE_URL: "http://gpu:8000/v1", VLLM_API_KEY: "k" },
      "@ai-sdk/openai-compatible",
      { name: "vllm", baseURL: "http://gpu:8000/v1", apiKey: "k" },
    ],
    [
      "openrouter/openai/gpt-5",
      { OPENROUTER_API_KEY: "k" },
      "@ai-sdk/openai-compatible",
      { name: "openrouter", baseURL: "https://openrouter.ai/api/v1", apiKey: "k" },
    ],
    [
      "compatible/m",
      { OPENAI_COMPATIBLE_BASE_URL: "http://h/v1", OPENAI_COMPATIBLE_API_KEY: "k" },
      "@ai-sdk/openai-compatible",
      { name: "compatible", baseURL: "http://h/v1", apiKey: "k" },
    ],
  ] as const)("%s comes from its package with what the environment says", async (name, env, from, options) => {
    const found = await given(name, env);
    expect(found).toMatchObject({ id: name, from, options });
    expect(Object.values(found.options ?? {})).not.toContain(undefined);
    if (from !== "@ai-sdk/openai-compatible") expect(found.options).toEqual(options);
  });

  test.each([
    ["openai/x", "OPENAI_API_KEY"],
    ["anthropic/x", "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"],
    ["google/x", "GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY"],
    ["azure/x", "AZURE_API_KEY"],
    ["openrouter/x", "OPENROUTER_API_KEY"],
    ["compatible/x", "OPENAI_COMPATIBLE_BASE_URL"],
  ])("%s without a key names the variable", async (name, variables) => {
    await expect(given(name, { OPENAI_API_KEY: "" })).rejects.toMatchObject({
      code: "model.unavailable",
      message: expect.stringContaining(`${variables}.`),
    });
  });

  test("azure without an address names both variables", async () => {
    await expect(given("azure/x", { AZURE_API_KEY: "k" })).rejects.toThrow(/AZURE_RESOURCE_NAME or AZURE_BASE_URL/);
  });

  test("a package that is missing is named with the line that installs it", async () => {
    const missing = async (from: string) => await import(/* @vite-ignore */ `${from}-that-nobody-has`);
    const failing = providerModel("openai/x", { env: { OPENAI_API_KEY: "k" }, load: missing });
    await expect(failing).rejects.toMatchObject({
      code: "model.unavailable",
      message: expect.stringContaining("npm install @ai-sdk/openai"),
    });
    const old = providerModel("openai/x", { env: { OPENAI_API_KEY: "k" }, load: async () => ({}) });
    await expect(old).rejects.toThrow(/has no createOpenAI/);
  });

  test("the real packages make models without a call", async () => {
    const env = {
      OPENAI_API_KEY: "k",
      ANTHROPIC_API_KEY: "k",
      GEMINI_API_KEY: "k",
      AZURE_API_KEY: "k",
      AZURE_RESOURCE_NAME: "r",
      OPENROUTER_API_KEY: "k",
    };
    for (const name of ["openai/gpt-5.5", "anthropic/claude-opus-5", "google/gemini-3.5-flash", "azure/d", "ollama/m", "openrouter/a/b"])
      expect((await providerModel(name, { env })).id).toBe(name);
  });

  test("an unknown prefix is refused", async () => {
    await expect(providerModel("nobody/x", { env: {}, load })).rejects.toSatisfy((error) => RathError.is(error, "model.unknown"));
  });
});

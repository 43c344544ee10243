/** From what people write as a model to the model: aliases and substitutes first, then providers. Resolving calls no network. */
import { type LanguageModel, type Model, type ModelLike, notAModel } from "../session/model.ts";
import { aiSdkModel } from "./ai-sdk.ts";
import { aliased, type Models } from "./aliases.ts";
import { knownPrefixes, providerModel, unknownModel } from "./providers.ts";

/**
 * Resolves with the names of one Rath. An exact name beats a wildcard, and of wildcards the longest wins; a `*` at the end of
 * what it stands for is filled with what it matched. A model is made once. Awaiting the answer tells whether a model is ready:
 * its package is there and its key is set.
 */
export function modelResolver(
  models: Models | undefined,
  provide: (name: string) => Promise<Model> = providerModel,
): (like: ModelLike) => Promise<Model> {
  const names = models ?? {};
  const made = new WeakMap<LanguageModel, Model>();
  const byName = new Map<string, Promise<Model>>();

  const byProvider = (name: string): Promise<Model> => {
    const known = byName.get(name);
    if (known !== undefined) return known;
    const making = provide(name);
    byName.set(name, making);
    // A key that was missing may be set by the next call.
    making.catch(() => byName.delete(name));
    return making;
  };

  return async (like) => {
    const found = typeof like === "string" ? aliased(names, like) : like;
    if (typeof found === "string") {
      if (!isProviderName(found)) throw unknownModel(found, Object.keys(names));
      return await byProvider(found);
    }
    if (isModel(found)) return found;
    if (!isLanguageModel(found)) throw notAModel(found);
    const known = made.get(found);
    if (known !== undefined) return known;
    const model = aiSdkModel(found);
    made.set(found, model);
    return model;
  };
}

function isProviderName(name: string): boolean {
  const slash = name.indexOf("/");
  return slash > 0 && slash < name.length - 1 && knownPrefixes.includes(name.slice(0, slash));
}

function isModel(like: unknown): like is Model {
  return typeof like === "object" && like !== null && "stream" in like && typeof like.stream === "function" && "id" in like;
}

function isLanguageModel(like: unknown): like is LanguageModel {
  return typeof like === "object" && like !== null && "doStream" in like && typeof like.doStream === "function" && "modelId" in like;
}

/** Names for models: aliases in production, substitutes in tests. */
import { RathError } from "../session/errors.ts";
import type { ModelLike } from "../session/model.ts";

export type Models = Readonly<Record<string, ModelLike>>;

/** What a string stands for after all aliases, which may lead to another string. */
export function aliased(names: Models, start: string): ModelLike {
  const path: string[] = [];
  const used = new Set<string>();
  for (let name = start; ; ) {
    const key = Object.hasOwn(names, name) ? name : wildcard(names, name, used);
    if (key === undefined) return name;
    path.push(name);
    if (used.has(key)) throw circle([...path]);
    used.add(key);
    const target = names[key] as ModelLike;
    if (typeof target !== "string") return target;
    name = key.endsWith("*") && target.endsWith("*") ? target.slice(0, -1) + name.slice(key.length - 1) : target;
  }
}

/** The longest wildcard that matches. One that was used is not used again: "openai/*" may stand for a model of openai. */
function wildcard(names: Models, name: string, used: ReadonlySet<string>): string | undefined {
  let best: string | undefined;
  for (const key of Object.keys(names))
    if (key.endsWith("*") && !used.has(key) && name.startsWith(key.slice(0, -1)) && (best === undefined || key.length > best.length))
      best = key;
  return best;
}

function circle(path: readonly string[]): RathError {
  return new RathError(
    "model.unknown",
    `The model names ${path.map((name) => `"${name}"`).join(" → ")} go in a circle. Let one of them name a model.`,
    {
      details: { path },
    },
  );
}

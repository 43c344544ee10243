/** What the verbs of memory are given, checked before anything is recorded. */

import { durationMs } from "./duration.ts";
import { isEmbedder, isEmbeddingModel } from "./embedding.ts";
import { givenDuration, givenOptions, givenText, kindOf, shown, unsupported } from "./given.ts";
import type { ForgetRequest, RecallRequest } from "./host.ts";
import type { MemoryOrigin, MemoryScope, Publish, RecallOptions, Remembered } from "./memory.ts";

const scopes: Readonly<Record<MemoryScope, true>> = { user: true, agent: true, project: true, workflow: true, session: true };
const origins: Readonly<Record<MemoryOrigin, true>> = {
  tool: true,
  human: true,
  failure: true,
  validation: true,
  model: true,
  import: true,
};
/** How many items come back when nobody says how many, and at most. */
export const defaultHits = 5;
export const mostHits = 1000;
/** A key names a memory in lists and on command lines. */
export const longestKey = 256;

export const memoryScopes = Object.keys(scopes) as readonly MemoryScope[];

export function isScope(scope: unknown): scope is MemoryScope {
  return typeof scope === "string" && Object.hasOwn(scopes, scope);
}

export function givenScope(scope: unknown, field = "scope"): MemoryScope {
  if (!isScope(scope)) throw unsupported(field, `is ${shown(scope)}`, `give one of ${memoryScopes.join(", ")}`);
  return scope;
}

export function givenRecall(query: string | { readonly key?: string | undefined }, options: RecallOptions): RecallRequest {
  const {
    scope,
    limit = defaultHits,
    trust,
    origin,
    memory,
  } = givenOptions(options, ["scope", "limit", "trust", "origin", "memory"], "recall");
  if (memory !== undefined && memory !== "latest")
    throw unsupported("recall.memory", `is ${shown(memory)}`, 'give "latest" or leave it out');
  const scopes = givenScopes(scope, "recall.scope");
  return {
    ...given(query),
    ...(scopes === undefined ? {} : { scopes }),
    limit: givenHits(limit, "recall.limit"),
    ...(givenTrust(trust, "recall.trust") === undefined ? {} : { trust }),
    ...(givenOrigin(origin, "recall.origin") === undefined ? {} : { origin }),
    ...(memory === undefined ? {} : { memory }),
  };
}

/** One scope or several. */
export function givenScopes(scope: unknown, field: string): MemoryScope[] | undefined {
  if (scope === undefined) return undefined;
  return (Array.isArray(scope) ? (scope as readonly unknown[]) : [scope]).map((one) => givenScope(one, field));
}

export function givenHits(limit: number, field: string): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= mostHits) return limit;
  throw unsupported(field, `is ${String(limit)}`, `give a whole number from 1 to ${mostHits}`);
}

export function givenTrust(trust: "trusted" | undefined, field: string): "trusted" | undefined {
  if (trust === undefined || trust === "trusted") return trust;
  throw unsupported(field, `is ${shown(trust)}`, 'give "trusted" or leave it out');
}

export function givenOrigin(origin: MemoryOrigin | undefined, field: string): MemoryOrigin | undefined {
  if (origin === undefined || Object.hasOwn(origins, origin)) return origin;
  throw unsupported(field, `is ${shown(origin)}`, `give one of ${Object.keys(origins).join(", ")}`);
}

function given(query: string | { readonly key?: string | undefined }): Pick<RecallRequest, "query" | "key"> {
  if (typeof query === "string") return { query };
  if (typeof query !== "object" || query === null)
    throw unsupported("recall.query", `is ${kindOf(query)}`, "give words, { key }, or {} for all of a scope");
  const { key } = givenOptions(query, ["key"], "recall");
  return key === undefined ? {} : { key: givenText(key, "recall.key") };
}

export function givenRemembered(item: Remembered): Remembered {
  if (typeof item !== "object" || item === null)
    throw unsupported("what to remember", `is ${kindOf(item)}`, 'give { key, content }, like { key: "test-command", content: "npm test" }');
  const { key, content, scope, because, expires, publish } = givenOptions(
    item,
    ["key", "content", "scope", "because", "expires", "publish"],
    "remember",
  );
  givenKey(key, "remember.key");
  if (content === undefined || content === null || content === "")
    throw unsupported("remember.content", "is empty", "give a text, or a value that is JSON; to end a memory use forget");
  if (scope !== undefined) givenScope(scope, "remember.scope");
  if (because !== undefined && !Array.isArray(because))
    throw unsupported("remember.because", `is ${shown(because)}`, "give a list of event ids");
  for (const [index, id] of (because ?? []).entries()) givenText(id, `remember.because[${index}]`);
  givenJson(content, "remember.content");
  if (expires !== undefined && durationMs(givenDuration(expires)) === 0)
    throw unsupported("remember.expires", "is no time at all", "give a longer one, or leave it out");
  if (publish !== undefined) givenPublish(publish, "remember.publish");
  return item;
}

export function givenPublish(publish: Publish, field: string): Publish {
  if (publish === "return" || publish === "now" || publish === "never") return publish;
  if (typeof publish === "object" && publish !== null) {
    const { check } = givenOptions(publish, ["check"], field);
    if (typeof check === "string" && check !== "") return publish;
  }
  throw unsupported(field, `is ${shown(publish)}`, 'give "return", "now", "never" or { check: name }');
}

export function givenForget(key: string, reason: string, options: { readonly scope?: MemoryScope | undefined }): ForgetRequest {
  const { scope = "project" } = givenOptions(options, ["scope"], "forget");
  return { key: givenKey(key, "forget.key"), scope: givenScope(scope, "forget.scope"), reason: givenText(reason, "forget.reason") };
}

const jsonTypes: ReadonlySet<string> = new Set(["string", "number", "boolean", "object"]);
const deepest = 200;

/** What JSON would change in silence is refused: what is recalled is what was remembered. */
function givenJson(value: unknown, field: string, depth = 0): void {
  if (depth > deepest) throw unsupported("remember.content", "is nested too deeply, or holds itself", "give a flatter value");
  if (typeof value === "number" ? !Number.isFinite(value) : value !== null && !jsonTypes.has(typeof value))
    throw unsupported(field, `is ${String(value)}`, "give a text, or a value that is JSON");
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const [key, inner] of Object.entries(value))
    if (inner !== undefined || Array.isArray(value)) givenJson(inner, `${field}.${key}`, depth + 1);
}

function givenKey(key: unknown, field: string): string {
  const text = givenText(key, field);
  if (text.trim() === "" || text.length > longestKey || !(text as string & { isWellFormed(): boolean }).isWellFormed())
    throw unsupported(field, `is ${shown(text)}`, `give a name of 1 to ${longestKey} characters`);
  return text;
}

/** An embedding model as a memory store takes it; a name is looked up when it is first used. */
export function givenEmbedder(like: unknown, field: string): void {
  if (like === undefined || isEmbedder(like) || isEmbeddingModel(like)) return;
  if (typeof like === "string" && like.indexOf("/") > 0) return;
  throw unsupported(field, `is ${shown(like)}`, 'give "provider/model", an AI SDK embedding model or { id, embed }');
}

/** What the verbs of memory are given, checked before anything is recorded. */
import { givenDuration, givenOptions, givenText, shown, unsupported } from "./given.ts";
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
const defaultLimit = 5;
export const mostHits = 1000;
/** A key names a memory in lists and on command lines. */
const longestKey = 256;

export const memoryScopes: readonly string[] = Object.keys(scopes);

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
    limit = defaultLimit,
    trust,
    origin,
    memory,
  } = givenOptions(options, ["scope", "limit", "trust", "origin", "memory"], "recall");
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= mostHits))
    throw unsupported("recall.limit", `is ${String(limit)}`, `give a whole number from 1 to ${mostHits}`);
  if (trust !== undefined && trust !== "trusted") throw unsupported("recall.trust", `is ${shown(trust)}`, 'give "trusted" or leave it out');
  if (memory !== undefined && memory !== "latest")
    throw unsupported("recall.memory", `is ${shown(memory)}`, 'give "latest" or leave it out');
  if (origin !== undefined && !Object.hasOwn(origins, origin))
    throw unsupported("recall.origin", `is ${shown(origin)}`, `give one of ${Object.keys(origins).join(", ")}`);
  const asked = scope === undefined ? undefined : Array.isArray(scope) ? (scope as readonly unknown[]) : [scope];
  return {
    ...given(query),
    ...(asked === undefined ? {} : { scopes: asked.map((one) => givenScope(one, "recall.scope")) }),
    limit,
    ...(trust === undefined ? {} : { trust }),
    ...(origin === undefined ? {} : { origin }),
    ...(memory === undefined ? {} : { memory }),
  };
}

function given(query: string | { readonly key?: string | undefined }): Pick<RecallRequest, "query" | "key"> {
  if (typeof query === "string") return { query };
  const { key } = givenOptions(query, ["key"], "recall");
  return key === undefined ? {} : { key: givenText(key, "recall.key") };
}

export function givenRemembered(item: Remembered): Remembered {
  const { key, content, scope, because, expires, publish } = givenOptions(
    item,
    ["key", "content", "scope", "because", "expires", "publish"],
    "remember",
  );
  givenKey(key);
  if (content === undefined || content === null || content === "")
    throw unsupported("remember.content", "is empty", "give a text, or a value that is JSON; to end a memory use forget");
  if (scope !== undefined) givenScope(scope, "remember.scope");
  if (because !== undefined && !Array.isArray(because))
    throw unsupported("remember.because", `is ${shown(because)}`, "give a list of event ids");
  for (const [index, id] of (because ?? []).entries()) givenText(id, `remember.because[${index}]`);
  if (expires !== undefined) givenDuration(expires);
  if (publish !== undefined) givenPublish(publish);
  return item;
}

export function givenPublish(publish: Publish): Publish {
  if (publish === "return" || publish === "now" || publish === "never") return publish;
  if (typeof publish === "object" && publish !== null && typeof publish.check === "string") return publish;
  throw unsupported("publish", `is ${shown(publish)}`, 'give "return", "now", "never" or { check: name }');
}

export function givenForget(key: string, reason: string, options: { readonly scope?: MemoryScope | undefined }): ForgetRequest {
  const { scope = "project" } = givenOptions(options, ["scope"], "forget");
  return { key: givenKey(key), scope: givenScope(scope, "forget.scope"), reason: givenText(reason, "reason") };
}

function givenKey(key: unknown): string {
  const text = givenText(key, "key");
  if (text.trim() === "" || text.length > longestKey || !(text as string & { isWellFormed(): boolean }).isWellFormed())
    throw unsupported("key", `is ${shown(text)}`, `give a name of 1 to ${longestKey} characters`);
  return text;
}

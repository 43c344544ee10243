/** Rules about memory: what may be remembered and recalled, and when others see it. */
import { kindOf, unsupported } from "../session/given.ts";
import { givenPublish } from "../session/given-memory.ts";
import type { MemoryHit, MemoryItem, Publish } from "../session/memory.ts";

/** A write before it is made: all of it but its content. */
export type MemoryCandidate = Pick<MemoryItem, "uri" | "key" | "scope" | "origin" | "trust">;

/** What a policy says about memory. What it decides is on record with the effect it decides about. */
export interface MemoryPolicy {
  /** When others see what was remembered; of several, the strictest counts. */
  readonly publish?: Publish | ((item: MemoryCandidate) => Publish) | undefined;
  /**
   * Refuses what is to be remembered, or forgotten (its state is then "retracted"): false, or the reason. `before` is what it takes the
   * place of, so that what is untrusted can be kept from replacing what is trusted.
   */
  readonly remember?: ((item: MemoryItem, before: MemoryItem | undefined) => boolean | string) | undefined;
  /** Leaves out what was found, where it gives false. */
  readonly recall?: ((hit: MemoryHit) => boolean) | undefined;
}

/** What all rules together say. */
export interface MemoryRule {
  publish(item: MemoryCandidate): Publish | undefined;
  refuses(item: MemoryItem, before: MemoryItem | undefined): string | undefined;
  recalls(hit: MemoryHit): boolean;
}

export function memoryRuleOf(policies: readonly MemoryPolicy[]): MemoryRule {
  return {
    publish: (item) =>
      strictest(
        policies.map(({ publish }) => (typeof publish === "function" ? givenPublish(publish(item), "policy.memory.publish") : publish)),
      ),
    refuses: (item, before) => {
      for (const { remember } of policies) {
        const said = remember === undefined ? true : answered(remember(item, before), ["boolean", "string"], "remember");
        if (said === false || typeof said === "string")
          return typeof said === "string" ? said : `the policy does not let ${item.key} be remembered`;
      }
      return undefined;
    },
    recalls: (hit) => policies.every(({ recall }) => recall === undefined || answered(recall(hit), ["boolean"], "recall")),
  };
}

/** A rule that gave nothing, or a promise, would refuse nothing. */
function answered<T>(said: T, kinds: readonly string[], rule: string): T {
  if (kinds.includes(typeof said)) return said;
  const what = said instanceof Promise ? "gave a promise" : `gave ${kindOf(said)}`;
  throw unsupported(
    `policy.memory.${rule}`,
    what,
    `return ${rule === "remember" ? "true, false or the reason" : "true or false"}, at once`,
  );
}

/** Never, after a check, when the run returns, at once: in this order. */
export function strictest(wanted: readonly (Publish | undefined)[]): Publish | undefined {
  const given = wanted.filter((publish) => publish !== undefined);
  return (
    given.find((publish) => publish === "never") ??
    given.find((publish) => typeof publish === "object") ??
    given.find((publish) => publish === "return") ??
    given[0]
  );
}

const known: ReadonlySet<string> = new Set(["publish", "remember", "recall"]);

/** A rule that is not understood would not be enforced. */
export function checkMemoryPolicy(policy: MemoryPolicy | undefined): void {
  if (policy === undefined) return;
  if (typeof policy !== "object" || policy === null || Array.isArray(policy))
    throw unsupported("policy.memory", `is ${kindOf(policy)}`, "give { remember, recall, publish }");
  for (const key of Object.keys(policy))
    if (!known.has(key))
      throw unsupported(`policy.memory.${key}`, "is not known, so it would not be enforced", `use ${[...known].join(", ")}`);
  for (const key of ["remember", "recall"] as const)
    if (policy[key] !== undefined && typeof policy[key] !== "function")
      throw unsupported(`policy.memory.${key}`, `is ${kindOf(policy[key])}`, "give a function");
  if (policy.publish !== undefined && typeof policy.publish !== "function") givenPublish(policy.publish, "policy.memory.publish");
}

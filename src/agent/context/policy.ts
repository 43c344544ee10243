/** Context policies, checked before anything is spent: a misspelt one would shorten nothing, in silence. */
import { isModelLike, type ModelLike, modelName } from "../../session/model.ts";

/**
 * What a model reads of a long conversation, in tokens of a whole request: instructions and tools included. Nothing is lost by it:
 * the record keeps all, and `session.at(n).request()` says what was read. Rounds stay whole: a call is never parted from its result;
 * the newest message of a person and the newest round are always read. Tokens are the provider's count of the newest reply and an
 * estimate of what came since.
 *
 * @example
 * const short = new Agent({ model: "openai/gpt-5.5", context: { window: 50_000 } });
 * const summed = new Agent({ model: "openai/gpt-5.5", context: { summariseAt: 100_000, model: "openai/gpt-5-mini" } });
 * const lean = new Agent({ model: "openai/gpt-5.5", context: { trimResults: 2000 } });
 * const own = new Agent({ model: "openai/gpt-5.5", context: (entries) => ({ keep: entries.slice(-10).map(({ event }) => event) }) });
 */
export type ContextPolicy =
  /** Everything that was said, also what was compressed before. */
  | "full"
  /** At most so many tokens: when there are more, the oldest go until three quarters of it are left. */
  | { readonly window: number }
  /**
   * From so many tokens on, what is older than the newest `keep` tokens (default: a quarter) is replaced by a summary. It is made by
   * `model`, else by the agent's own, which is asked as "agent/summary"; `instructions` are added to what it is told.
   */
  | {
      readonly summariseAt: number;
      readonly keep?: number | undefined;
      readonly model?: ModelLike | undefined;
      readonly instructions?: string | undefined;
    }
  /**
   * Results of tools older than the newest `keep` rounds (default 3) are shortened to so many characters, once that saves an eighth of
   * what is read; newer ones only where all would not fit into the model.
   */
  | { readonly trimResults: number; readonly keep?: number | undefined }
  /** Anything else: says before each round which events are read and what stands for the rest; undefined changes nothing. */
  | ContextFunction;

/** One thing a model reads, as a policy sees it. */
export interface ContextEntry {
  readonly event: string;
  readonly role: "user" | "assistant" | "tool" | "system";
  readonly text: string;
  /** An estimate. */
  readonly tokens: number;
  /** Entries with the same number stay together: a reply and the results of its calls. */
  readonly round: number;
}
/** Chooses among what is read now. A round of which one entry is kept stays whole; without a replacement the model is told how much is missing. */
export type ContextFunction = (entries: readonly ContextEntry[]) => ContextChoice | undefined | Promise<ContextChoice | undefined>;
/** What is still read, by the ids of entries, and what stands for the rest. */
export interface ContextChoice {
  readonly keep: readonly string[];
  readonly replacement?: string | undefined;
}

/** The fields of each policy, under the one that names it. */
const policies: Readonly<Record<string, readonly string[]>> = {
  window: ["window"],
  summariseAt: ["summariseAt", "keep", "model", "instructions"],
  trimResults: ["trimResults", "keep"],
};

/** Throws what `wrong` makes of the problem. */
export function checkPolicy(policy: unknown, wrong: (problem: string) => Error): void {
  if (policy === "full" || typeof policy === "function") return;
  if (typeof policy !== "object" || policy === null || Array.isArray(policy))
    throw wrong(`has the context policy ${shown(policy)}: give "full", { window }, { summariseAt }, { trimResults } or a function`);
  const fields = policy as Readonly<Record<string, unknown>>;
  const names = Object.keys(policies).filter((name) => Object.hasOwn(fields, name));
  const [name = ""] = names;
  const [other] = Object.keys(fields);
  if (names.length !== 1)
    throw wrong(
      names.length === 0
        ? `has ${other === undefined ? "a context policy" : `context.${other}`} without window, summariseAt or trimResults: give one of them`
        : `has a context policy with ${names.join(" and ")}: give one of them`,
    );
  const known = policies[name] ?? [];
  const extra = Object.keys(fields).find((field) => !known.includes(field));
  if (extra !== undefined) throw wrong(`has context.${extra}, which is not known; there are: ${known.join(", ")}`);
  if (!isCount(fields[name], 1)) throw wrong(`has context.${name} ${shown(fields[name])}: give a whole number from 1`);
  const { keep, instructions, model } = fields;
  if (keep !== undefined && !isCount(keep, 0)) throw wrong(`has context.keep ${shown(keep)}: give a whole number from 0`);
  if (name === "summariseAt" && typeof keep === "number" && keep >= Number(fields[name]))
    throw wrong(`has context.keep ${keep}, which is not less than summariseAt ${Number(fields[name])}: a summary would save nothing`);
  if (instructions !== undefined && typeof instructions !== "string") throw wrong(`has context.instructions that are no text`);
  if (model !== undefined && !isModelLike(model))
    throw wrong(`has a context.model that is none (${shown(model)}): give "provider/model", an AI SDK model or a Model`);
}

/** Models that a policy asks beside the agent's own. */
export function policyModels(policy: ContextPolicy | undefined): readonly ModelLike[] {
  return typeof policy === "object" && "summariseAt" in policy && policy.model !== undefined ? [policy.model] : [];
}

/** A policy as data, for descriptions. */
export function policyText(policy: ContextPolicy | undefined): unknown {
  if (policy === undefined) return null;
  if (typeof policy !== "object") return String(policy);
  const [model] = policyModels(policy);
  return JSON.parse(JSON.stringify({ ...policy, ...(model === undefined ? {} : { model: modelName(model) }) })) as object;
}

function isCount(value: unknown, from: number): boolean {
  return Number.isInteger(value) && (value as number) >= from;
}

function shown(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : String(value);
}

/** What verbs are given, checked once where it enters: what is stored has the shape that verify and import expect. */
import { durationMs } from "./duration.ts";
import { RathError } from "./errors.ts";
import type { ApplyOptions, CheckResult, Content, Duration, Limits, MergeOptions, PlacementSpec, Repeat } from "./session.ts";
import { sizeBytes } from "./size.ts";

/** A string, named by its field when it is none. */
export function givenText(value: unknown, field: string): string {
  if (typeof value !== "string") throw unsupported(field, `is ${kindOf(value)}`, "give a string");
  return value;
}

/** A name that is hashed in clear or looked for, and so must be a text that every store can hold. */
export function givenName(value: unknown, field: string): string {
  const text = givenText(value, field);
  if (!(text as string & { isWellFormed(): boolean }).isWellFormed())
    throw unsupported(field, "has a lone surrogate", "give a well-formed string");
  if (text.includes("\0")) throw unsupported(field, "has a NUL character", "give a string without");
  return text;
}

const longestKey = 600;
/** Runs that make cancelled ones good are found by these: whoever used one first would keep a run from being made good. */
const compensationKey = /^cancelled [0-9a-f-]{36}$/;

/** The key of a run: short enough for every store to find it by. */
export function givenKey(value: unknown): string {
  const key = givenName(value, "key");
  // Of runs with an empty one every one would be the same.
  if (key === "") throw unsupported("key", "is empty", "give a name, or leave it out");
  if (key.length > longestKey) throw unsupported("key", `has ${key.length} characters`, `give one of at most ${longestKey}, a hash of it`);
  if (compensationKey.test(key))
    throw unsupported("key", `is "${key}", which is kept for the run that makes a cancelled one good`, "give another one");
  return key;
}

const longestSignal = 200;

/** The name of a signal, or its key: short, since mailboxes are named by it and searched for it. */
export function givenSignal(value: unknown, field = "signal"): string {
  const name = givenName(value, field);
  if (name === "" || name.length > longestSignal)
    throw unsupported(field, `has ${name.length} characters`, `give a name of 1 to ${longestSignal}`);
  return name;
}

export function givenContent(content: Content): Content {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw unsupported("content", `is ${kindOf(content)}`, "give a string or a list of parts");
  for (const [index, part] of content.entries()) {
    const field = `content[${index}]`;
    switch ((part as { readonly type?: unknown } | null | undefined)?.type) {
      case "text":
      case "reasoning":
        givenText(part.text, `${field}.text`);
        break;
      case "file":
        givenText(part.mediaType, `${field}.mediaType`);
        break;
      default:
        throw unsupported(field, "is no part of a message", 'give { type: "text" | "reasoning" | "file", … }');
    }
  }
  return content;
}

/** What is stored of a verdict. */
export function givenVerdict(value: CheckResult): Readonly<Record<string, unknown>> {
  if (typeof value === "boolean") return { passed: value };
  const { passed, score, reason }: Partial<Exclude<CheckResult, boolean>> = value ?? {};
  if (typeof passed !== "boolean") {
    const what = kindOf(value) === "an object" ? `is an object whose passed is ${shown(passed)}` : `is ${shown(value)}`;
    throw unsupported("the verdict", what, "give a boolean or { passed, score?, reason? }");
  }
  if (score !== undefined && !Number.isFinite(score)) throw unsupported("score", `is ${kindOf(score)}`, "give a finite number");
  return {
    passed,
    ...(score === undefined ? {} : { score }),
    ...(reason === undefined ? {} : { reason: givenText(reason, "reason") }),
  };
}

/** What is stored of a time to wait for: a date as it is, a duration to be counted from the call. */
export function givenTime(time: Duration | Date): { readonly until: string } | { readonly for: Duration } {
  if (!(time instanceof Date)) return { for: givenDuration(time) };
  if (Number.isNaN(time.getTime())) throw unsupported("time", "is an invalid Date", "give a valid one, or a duration");
  const year = time.getUTCFullYear();
  if (!(year >= 0 && year <= 9999))
    throw unsupported("time", `("${String(time)}") is no time before the year 10000`, "give an earlier one");
  return { until: time.toISOString() };
}

const longestDays = 1000 * 365;

export function givenDuration(duration: Duration): Duration {
  if (durationMs(duration) > longestDays * 86_400_000)
    throw unsupported("time", `("${duration}") is longer than ${longestDays} days`, "give a shorter one");
  return duration;
}

/** One of a few words, named by its field when it is none of them. */
export function givenWord<T extends string>(value: T, words: readonly T[], field: string): T {
  if (!words.includes(value)) throw unsupported(field, `is ${shown(value)}`, `give one of ${words.join(", ")}`);
  return value;
}

/** What can be aborted from outside. */
export function givenAbort(signal: AbortSignal | undefined): AbortSignal | undefined {
  // Its shape, not its class: another realm has a class of its own.
  if (signal === undefined || typeof (signal as Partial<AbortSignal> | null)?.addEventListener === "function") return signal;
  throw unsupported("signal", `is ${kindOf(signal)}`, "give the signal of an AbortController");
}

/** A function, before anything is recorded. */
export function givenFunction(value: unknown, field: string): void {
  if (typeof value !== "function") throw unsupported(field, `is ${kindOf(value)}`, "give a function");
}

const repeats: ReadonlySet<unknown> = new Set(["safe", "keyed", "once", "nested"]);

export function givenRepeat(repeat: Repeat): Repeat {
  if (!repeats.has(repeat)) throw unsupported("repeat", `is ${JSON.stringify(repeat)}`, 'give "safe", "keyed", "once" or "nested"');
  return repeat;
}

const limitNames: Readonly<Record<keyof Limits, true>> = { rounds: true, tokens: true, usd: true, time: true };

/** Limits that can be held. One with a misspelt name would not be, in silence. */
export function givenLimits(limits: Limits): Limits {
  for (const name of Object.keys(limits))
    if (!Object.hasOwn(limitNames, name)) throw unsupported(`limits.${name}`, "is not known", `give ${Object.keys(limitNames).join(", ")}`);
  for (const name of ["rounds", "tokens", "usd"] as const) {
    const value = limits[name];
    if (value === undefined || (typeof value === "number" && value >= 0)) continue;
    throw unsupported(`limits.${name}`, `is ${String(value)}`, "give a number that is not negative");
  }
  if (limits.time !== undefined) durationMs(limits.time);
  return limits;
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number") return String(value);
  return Array.isArray(value) ? "an array" : `${typeof value === "object" ? "an" : "a"} ${typeof value}`;
}

/** A word where one of a few was wanted is shown: it is mostly a misspelt one. */
export function shown(value: unknown): string {
  return typeof value === "string" && value.length < 40 ? JSON.stringify(value) : kindOf(value);
}

export function unsupported(field: string, problem: string, next: string): RathError {
  return new RathError("value.unsupported", `${field} ${problem}: ${next}.`, { details: { field } });
}

const placementFields: ReadonlySet<string> = new Set(["workspace", "image", "env", "network", "limits"]);
const sizeLimits = ["memory", "disk", "file", "output"] as const;
const limitFields: ReadonlySet<string> = new Set([...sizeLimits, "time", "processes"]);

/** A placement without what is undefined; a field that is not understood would not be enforced. */
export function givenPlacement(spec: PlacementSpec): PlacementSpec {
  if (typeof spec !== "object" || spec === null) throw unsupported("placement", `is ${kindOf(spec)}`, "give an object");
  const given = defined(spec, placementFields, "placement");
  const { workspace, image, env, network, limits } = given as PlacementSpec;
  if (workspace !== undefined && givenText(workspace, "placement.workspace") === "")
    throw unsupported("placement.workspace", "is empty", 'give a directory, "." for the current one');
  if (image !== undefined) givenText(image, "placement.image");
  for (const [name, value] of Object.entries(env ?? {}))
    if (value !== true && typeof value !== "string")
      throw unsupported(`placement.env.${name}`, `is ${kindOf(value)}`, "give a string, or true to pass the variable of this process on");
  if (network !== undefined && network !== "none" && network !== "all" && !Array.isArray((network as { allow?: unknown }).allow))
    throw unsupported("placement.network", `is ${shown(network)}`, 'give "none", "all" or { allow: [hosts] }');
  if (limits === undefined) return given;
  const limited = defined(limits, limitFields, "placement.limits");
  if (limits.time !== undefined) givenDuration(limits.time);
  for (const name of sizeLimits) if (limits[name] !== undefined) sizeBytes(limits[name]);
  return { ...given, limits: limited };
}

/** A word among a few; one that is misspelt would be taken for the default. */
export function givenOneOf<T extends string>(value: T | undefined, allowed: readonly T[], field: string): T | undefined {
  if (value === undefined || allowed.includes(value)) return value;
  throw unsupported(field, `is ${shown(value)}`, `give ${allowed.map((one) => JSON.stringify(one)).join(" or ")}`);
}

/** Options whose names are all known: one that is misspelt would be ignored in silence. */
export function givenOptions<T extends object>(options: T, known: readonly (keyof T & string)[], field: string): T {
  if (typeof options !== "object" || options === null)
    throw unsupported(`the options of ${field}`, `are ${kindOf(options)}`, "give an object");
  defined(options, new Set(known), field);
  return options;
}

const applyFields: ReadonlySet<string> = new Set(["dryRun", "paths"]);

/** How files are to be written back. A misspelt `dryRun` would write. */
export function givenApply(options: ApplyOptions): ApplyOptions {
  const { paths, dryRun } = defined(options, applyFields, "apply") as ApplyOptions;
  if (dryRun !== undefined && typeof dryRun !== "boolean") throw unsupported("apply.dryRun", `is ${kindOf(dryRun)}`, "give true or false");
  if (paths !== undefined && !Array.isArray(paths)) throw unsupported("apply.paths", `is ${kindOf(paths)}`, "give a list of paths");
  for (const [index, path] of (paths ?? []).entries()) givenText(path, `apply.paths[${index}]`);
  return options;
}

const mergeFields: ReadonlySet<string> = new Set(["conflicts", "context", "reason"]);

/** How a merge is to be made: said before the branch is taken for it. */
export function givenMerge(options: MergeOptions): MergeOptions {
  const { conflicts, context, reason } = defined(options, mergeFields, "merge") as MergeOptions;
  if (conflicts !== undefined && !isChooser(conflicts))
    throw unsupported("merge.conflicts", `is ${shown(conflicts)}`, 'give "ours", "theirs", "ask", a function or a workflow');
  if (context !== undefined && context !== "answers" && context !== "all" && typeof context !== "function")
    throw unsupported("merge.context", `is ${shown(context)}`, 'give "answers", "all" or a function');
  if (reason !== undefined) givenText(reason, "merge.reason");
  return options;
}

function isChooser(conflicts: unknown): boolean {
  if (typeof conflicts === "string") return ["ours", "theirs", "ask"].includes(conflicts);
  return typeof conflicts === "function" || typeof (conflicts as { readonly forward?: unknown } | null)?.forward === "function";
}

function defined(value: object, known: ReadonlySet<string>, field: string): Record<string, unknown> {
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  for (const [key] of entries)
    if (!known.has(key)) throw unsupported(`${field}.${key}`, "is not known", `use one of ${[...known].join(", ")}`);
  return Object.fromEntries(entries);
}

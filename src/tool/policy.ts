/**
 * Rules about tools, apart from the tools: who may call what, how often, and when a person must say yes. A rule applies to agents
 * whose path and principals whose name match; everything that applies counts, and the strictest wins. Decisions are recorded with
 * the call.
 */
import { RathError } from "../session/errors.ts";

/** A rule. Names are patterns in which "*" stands for anything. */
export interface Policy {
  /** Only these tools may be called. */
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
  /** How many calls a run may make. */
  readonly calls?: number | undefined;
  readonly needsApproval?: ((call: { readonly tool: string; readonly input: unknown }) => boolean) | undefined;
  /** The agents it is about, by path or the end of one: "coder" is also "team/coder", "fix/*" all inside a fix. Default: all. */
  readonly agents?: readonly string[] | undefined;
  /** The people it is about. Default: all. */
  readonly principals?: readonly string[] | undefined;
}

/** A call as rules see it. */
export interface Judged {
  readonly tool: string;
  readonly input: unknown;
  readonly by: string;
  readonly principal: string | undefined;
}

export class Rules {
  readonly #policies: readonly Policy[];

  constructor(policy: Policy | readonly Policy[] | undefined) {
    this.#policies = policy === undefined ? [] : Array.isArray(policy) ? policy : [policy as Policy];
    for (const one of this.#policies) check(one);
  }

  get none(): boolean {
    return this.#policies.length === 0;
  }

  /** Why a call is refused, or undefined. `count` says how many calls a rule has seen in this run, this one included. */
  refuses(call: Judged, count: (policy: object) => number): { readonly reason: string; readonly limit: boolean } | undefined {
    for (const policy of this.#policies) {
      if (!applies(policy, call)) continue;
      if (policy.deny?.some((pattern) => matches(pattern, call.tool)))
        return { reason: `the policy denies "${call.tool}" to ${call.by}`, limit: false };
      if (policy.allow !== undefined && !policy.allow.some((pattern) => matches(pattern, call.tool)))
        return { reason: `the policy does not allow "${call.tool}" to ${call.by}`, limit: false };
      if (policy.calls !== undefined && count(policy) > policy.calls)
        return { reason: `the policy allows ${policy.calls} calls in a run`, limit: true };
    }
    return undefined;
  }

  asks(call: Judged): boolean {
    return this.#policies.some((policy) => applies(policy, call) && policy.needsApproval?.(call));
  }
}

function applies(policy: Policy, call: Judged): boolean {
  return (
    (policy.agents === undefined || policy.agents.some((pattern) => pathsTo(call.by).some((path) => matches(pattern, path)))) &&
    (policy.principals === undefined || policy.principals.some((pattern) => matches(pattern, call.principal ?? "")))
  );
}

/** Each part as early as it can be: models choose the names, and no name may take long to judge. */
/** A path, and what is left of it without those it is inside of. */
function pathsTo(path: string): readonly string[] {
  const names = path.split("/");
  return names.map((_, from) => names.slice(from).join("/"));
}

function matches(pattern: string, name: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return pattern === name;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}

const lists = ["allow", "deny", "agents", "principals"] as const;
const known: ReadonlySet<string> = new Set([...lists, "calls", "needsApproval"]);

/** A rule that is not understood would not be enforced. */
function check(policy: Policy): void {
  for (const key of Object.keys(policy))
    if (!known.has(key)) throw unsupported(key, "is not enforced by this version of openrath: leave it out");
  for (const key of lists) {
    const list: unknown = policy[key];
    if (list !== undefined && !(Array.isArray(list) && list.every((name) => typeof name === "string")))
      throw unsupported(key, `is ${JSON.stringify(list)}: give a list of names`);
  }
  const { calls, needsApproval } = policy;
  if (calls !== undefined && !(Number.isInteger(calls) && calls >= 0))
    throw unsupported("calls", `is ${String(calls)}: give a whole number`);
  if (needsApproval !== undefined && typeof needsApproval !== "function")
    throw unsupported("needsApproval", `is ${String(needsApproval)}: give a function`);
}

function unsupported(key: string, problem: string): RathError {
  const field = `policy.${key}`;
  return new RathError("value.unsupported", `${field} ${problem}.`, { details: { field } });
}

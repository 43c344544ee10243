/**
 * Rules about tools, apart from the tools: who may call what, how often, and when a person must say yes. A rule applies to agents
 * whose path and principals whose name match; everything that applies counts, and the strictest wins. Decisions are recorded with
 * the call.
 */
import { counted } from "../session/counted.ts";
import { shortest } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { givenDuration } from "../session/given.ts";
import type { Duration } from "../session/session.ts";
import { asksPerson } from "./asks-person.ts";
import { type CommandRules, isUnder, readCommand, refusedByRules, refusedRedirection } from "./command-rules.ts";
import { checkMemoryPolicy, type MemoryPolicy, type MemoryRule, memoryRuleOf } from "./memory-policy.ts";
import { matches } from "./pattern.ts";
import { workspacePath } from "./workspace-path.ts";

/** A rule. Names are patterns in which "*" stands for anything. */
export interface Policy {
  /** Only these tools may be called. */
  readonly allow?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
  /**
   * The directories and files of the workspace that tools may read and write, and all that is under them. Links are followed before
   * it is looked where a path leads. What a command changes elsewhere is undone and the call denied; what a command reads is not
   * limited by this, only by `commands`.
   */
  readonly paths?: readonly string[] | undefined;
  /**
   * The commands that sandboxes may be given, by pattern: "npm test", "git *". Each simple command is matched by itself, its words
   * joined by one space, variables set before it included. A loop sets a variable too, unless its name is of small letters and digits
   * alone. A command line that cannot be read, or that hides a command (`$(…)`, `eval`, `sudo`, `sh -c`, …), is refused. Programs that
   * start others by themselves, and commands that set variables (`export *`), are as safe as the pattern that allows them.
   */
  readonly commands?: { readonly allow?: readonly string[] | undefined; readonly deny?: readonly string[] | undefined } | undefined;
  /** How many calls a run may make. */
  readonly calls?: number | undefined;
  /** Calls for which a person must say yes. It says so at once: where it throws or gives no boolean, the call is denied. */
  readonly needsApproval?: ((call: { readonly tool: string; readonly input: unknown }) => boolean) | undefined;
  /** How long a person has to say yes; then the call is not made. Of several, the shortest counts. */
  readonly approvalExpires?: Duration | undefined;
  /** What may be remembered and recalled, and when others see it. */
  readonly memory?: MemoryPolicy | undefined;
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

/** What a call may do in its sandbox; the reason why not, or undefined. */
export interface Guard {
  /** Before a command runs. `cwd` is from the root of the workspace. */
  refusesCommand(command: string | readonly string[], cwd?: string): string | undefined;
  /** Before a file is opened: its path with all links followed, from the root of the workspace or absolute in the sandbox. */
  refusesPath(resolvedPath: string): string | undefined;
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
        return { reason: `the policy allows ${counted(policy.calls, "call")} in a run`, limit: true };
    }
    return undefined;
  }

  /** What holds for the commands and files of a call; undefined when nothing does. */
  guard(call: Judged): Guard | undefined {
    const applying = this.#policies.filter((policy) => applies(policy, call));
    const commands = applying.flatMap((policy) => policy.commands ?? []);
    const paths = applying.flatMap((policy) => (policy.paths === undefined ? [] : [policy.paths]));
    return commands.length + paths.length === 0 ? undefined : guardOf(commands, paths);
  }

  /** What holds for the memory of whoever acts; undefined when nothing does. */
  memory(who: Pick<Judged, "by" | "principal">): MemoryRule | undefined {
    const applying = this.#policies.filter((policy) => policy.memory !== undefined && applies(policy, who));
    return applying.length === 0 ? undefined : memoryRuleOf(applying.map((policy) => policy.memory as MemoryPolicy));
  }

  asks(call: Judged): boolean {
    return this.#policies.some(
      (policy) => policy.needsApproval !== undefined && applies(policy, call) && asksPerson(policy.needsApproval(call)),
    );
  }

  /** How long a person has who must say yes, whoever wants that. */
  expires(who: Pick<Judged, "by" | "principal">): Duration | undefined {
    return shortest(this.#policies.map((policy) => (applies(policy, who) ? policy.approvalExpires : undefined)));
  }
}

function applies(policy: Policy, call: Pick<Judged, "by" | "principal">): boolean {
  return (
    (policy.agents === undefined || policy.agents.some((pattern) => pathsTo(call.by).some((path) => matches(pattern, path)))) &&
    (policy.principals === undefined || policy.principals.some((pattern) => matches(pattern, call.principal ?? "")))
  );
}

function guardOf(commands: readonly CommandRules[], paths: readonly (readonly string[])[]): Guard {
  return {
    refusesCommand: (command, cwd = ".") => {
      const read = readCommand(command);
      if ("problem" in read) return `the policy cannot read the command, because ${read.problem}: give a simpler one`;
      return first([
        ...commands.map((rules) => () => refusedByRules(rules, read.commands)),
        ...paths.map((roots) => () => refusedRedirection(roots, read.commands, cwd)),
      ]);
    },
    refusesPath: (path) => {
      const roots = paths.find((one) => !isUnder(one, path));
      return roots === undefined
        ? undefined
        : `the policy limits files to ${roots.join(", ") || "none"}: ${JSON.stringify(path)} is not among them`;
    },
  };
}

function first(reasons: readonly (() => string | undefined)[]): string | undefined {
  for (const reason of reasons) {
    const found = reason();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A path, and what is left of it without those it is inside of. */
function pathsTo(path: string): readonly string[] {
  const names = path.split("/");
  return names.map((_, from) => names.slice(from).join("/"));
}

const lists = ["allow", "deny", "agents", "principals", "paths"] as const;
const known: ReadonlySet<string> = new Set([...lists, "calls", "commands", "needsApproval", "approvalExpires", "memory"]);

/** A rule that is not understood would not be enforced. */
function check(policy: Policy): void {
  for (const key of Object.keys(policy))
    if (!known.has(key)) throw unsupported(key, `is not known, so it would not be enforced: use ${[...known].join(", ")}`);
  for (const key of lists) checkList(key, policy[key]);
  for (const root of policy.paths ?? [])
    if (workspacePath(root) === undefined) throw unsupported("paths", `has ${JSON.stringify(root)}: give paths inside the workspace`);
  checkCommands(policy.commands);
  checkMemoryPolicy(policy.memory);
  const { calls, needsApproval, approvalExpires } = policy;
  if (approvalExpires !== undefined) givenDuration(approvalExpires);
  if (calls !== undefined && !(Number.isInteger(calls) && calls >= 0))
    throw unsupported("calls", `is ${String(calls)}: give a whole number`);
  if (needsApproval !== undefined && typeof needsApproval !== "function")
    throw unsupported("needsApproval", `is ${String(needsApproval)}: give a function`);
}

function checkList(key: string, list: unknown): void {
  if (list !== undefined && !(Array.isArray(list) && list.every((name) => typeof name === "string")))
    throw unsupported(key, `is ${JSON.stringify(list)}: give a list of names`);
}

function checkCommands(commands: unknown): void {
  if (commands === undefined) return;
  if (typeof commands !== "object" || commands === null || Array.isArray(commands))
    throw unsupported("commands", `is ${JSON.stringify(commands)}: give { allow, deny }`);
  for (const [key, list] of Object.entries(commands)) {
    if (key !== "allow" && key !== "deny") throw unsupported(`commands.${key}`, "is not known: give allow or deny");
    checkList(`commands.${key}`, list);
  }
}

function unsupported(key: string, problem: string): RathError {
  const field = `policy.${key}`;
  return new RathError("value.unsupported", `${field} ${problem}.`, { details: { field } });
}

/**
 * A call of a tool as an effect: what is asked is recorded, then validated, judged and perhaps shown to a person, and whatever
 * comes of it - a value, an error, a refusal - is a result that the model reads.
 */
import { shortest } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { type Effect, type EffectCode, EffectResult, type Verdict } from "../session/host.ts";
import type { Outcome } from "../session/message.ts";
import type { Duration, Repeat, Tool, ToolCall, Validated } from "../session/session.ts";
import { isUnknown, textOfThrown } from "../session/thrown.ts";
import { textOfOutcome } from "../session/views.ts";
import { asksPerson, isUnsaid } from "./asks-person.ts";
import type { ReadInput } from "./input.ts";
import { isLateByChance } from "./schema.ts";

/** What somebody wants to call, and what must be asked around it. */
export interface ToolRequest {
  readonly name: string;
  /** Undefined when nobody offers a tool of this name. */
  readonly tool: Tool | undefined;
  readonly read: ReadInput;
  /** What a crash may do to it here; default: what the tool says. */
  readonly repeat?: Repeat | undefined;
  /** What the model wrote, and which of its calls this is. */
  readonly raw?: string | undefined;
  readonly index?: number | undefined;
  /** Refused before anything else: by a hook or a rule. */
  readonly refused?: { readonly reason: string; readonly problem: "policy" | "hook" | "limit" } | undefined;
  /** Who else wants a person to say yes. */
  readonly asks?: ((input: unknown) => "agent" | "policy" | undefined) | undefined;
  /** How long that person has; the tool may say less. */
  readonly expires?: Duration | undefined;
  /** Sees the result before it is stored, and may put another value in its place. */
  readonly after?:
    | ((call: Omit<ToolCall, "event">) => { readonly value: unknown } | undefined | Promise<{ readonly value: unknown } | undefined>)
    | undefined;
  /** The names that are offered, for a model that asks for another one. */
  readonly offered?: readonly string[] | undefined;
  readonly by: string;
}

/** How many characters of a result a model reads; the whole is kept. */
const shownCharacters = 50_000;

export function toolEffect(request: ToolRequest): Effect {
  const { tool } = request;
  const refusal = refusalOf(request);
  if (tool === undefined || refusal !== undefined) return ended(request, refusal ?? new EffectResult("error", {}));
  const declared = tool["~tool"];
  const checked = validated(tool, inputOf(request));
  const base = {
    op: "tool" as const,
    repeat: request.repeat ?? tool.repeat,
    filesAlone: declared.writes !== "world",
    timeoutMs: declared.timeoutMs,
    attempts: declared.attempts,
    probe: declared.probe,
    edited: (input: unknown) => edited(request, tool, input),
    store: dataOf,
    failureIsValue: true,
    trustsInner: declared.trustsInner,
  };
  if (checked instanceof Promise) {
    // What it needs is known only later: until then it has not started.
    const later = checked;
    // A JSON Schema takes what it was given; another one may make something else of it, which may share any resource.
    const told = declared.resource === undefined || isLateByChance(declared.validate) ? resourceOf(tool, inputOf(request)) : "*";
    return {
      ...base,
      called: { ...untilOf(request, tool), ...asked(request, tool) },
      before: async () => verdictOn(request, tool, await later)?.verdict,
      resource: told instanceof EffectResult ? "*" : told,
      run: async (context) => running(request, tool, parsedOf(await later))(context),
    };
  }
  const found = verdictOn(request, tool, checked);
  if (found?.verdict instanceof EffectResult) return ended(request, found.verdict);
  const value = parsedOf(checked);
  const resource = resourceOf(tool, value);
  if (resource instanceof EffectResult) return ended(request, resource);
  return {
    ...base,
    called: isLateByChance(declared.validate)
      ? { ...untilOf(request, tool), ...asked(request, tool) }
      : found === undefined
        ? asked(request, tool)
        : { approval: found.who, ...untilOf(request, tool), ...asked(request, tool), ...schemaOf(request, tool) },
    before: found === undefined ? undefined : () => "ask",
    resource,
    run: running(request, tool, value),
  };
}

/** How long a person has. Where nobody knows yet whether one is asked, it is said anyway: what is recorded must not depend on chance. */
function untilOf({ expires }: ToolRequest, tool: Tool): { readonly expires?: Duration } {
  const until = shortest([tool["~tool"].approvalExpires, expires]);
  return until === undefined ? {} : { expires: until };
}

/** A person may change the input in another process: what fits is then read here, or in the model call that asked for it. */
function schemaOf({ index }: ToolRequest, tool: Tool): { readonly schema?: string } {
  return index === undefined ? { schema: JSON.stringify(tool["~tool"].schema) } : {};
}

/** Which calls it must not run beside; one that cannot say is not called. Who changes files and does not say which runs alone. */
function resourceOf(tool: Tool, input: unknown): string | undefined | EffectResult {
  const { resource, writes } = tool["~tool"];
  try {
    return resource === undefined ? (writes === "files" ? "*" : undefined) : resource(input as never);
  } catch (error) {
    return new EffectResult("error", { message: `resource of "${tool.name}" threw: ${textOfThrown(error)}`, problem: "threw" });
  }
}

/** What is recorded of the question, keys in order. */
function asked({ name, raw, index, read, repeat }: ToolRequest, tool: Tool | undefined): Readonly<Record<string, unknown>> {
  const wrote = "problem" in read || read.repaired ? raw : undefined;
  return {
    ...(index === undefined ? {} : { index }),
    ...("input" in read ? { input: read.input } : {}),
    name,
    ...(wrote === undefined ? {} : { raw: wrote }),
    repeat: repeat ?? tool?.repeat ?? "safe",
    ...(tool === undefined ? {} : { revision: tool["~tool"].revision }),
  };
}

/**
 * A call that comes to nothing: it is recorded like any other, so that what was decided then is taken from the record. Nothing ran,
 * so nothing came from outside. One that may have happened is not asked about itself: the rules do not let its tool act, so it has no probe.
 */
function ended(request: ToolRequest, refused: EffectResult): Effect {
  const repeat = request.repeat ?? request.tool?.repeat ?? "safe";
  const called = asked(request, request.tool);
  return { op: "tool", called, repeat, refused, run: () => refused, failureIsValue: true, trustsInner: true };
}

function refusalOf({ tool, name, read, refused, offered }: ToolRequest): EffectResult | undefined {
  if (refused !== undefined) return new EffectResult("denied", refused);
  if (tool === undefined) {
    const instead = offered === undefined || offered.length === 0 ? "there are no tools" : `use one of ${offered.join(", ")}`;
    const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
    return new EffectResult("error", { message: `There is no tool "${shown}": ${instead}.`, problem: "unknown-tool" });
  }
  return "problem" in read ? invalid(tool, [read.problem]) : undefined;
}

function invalid(tool: Tool, problems: readonly string[]): EffectResult {
  const message = `The input of "${tool.name}" does not fit: ${inWords(problems)}. Call it again with an input that fits its schema.`;
  return new EffectResult("error", { message, problem: "invalid-input" });
}

/** The first of them: whoever corrects those will be told of the rest. */
function inWords(problems: readonly string[]): string {
  const first = problems.slice(0, 20).map((problem) => (problem.length > 500 ? `${problem.slice(0, 500)}…` : problem));
  return problems.length > first.length ? `${first.join("; ")}; and ${problems.length - first.length} more` : first.join("; ");
}

/** A schema that throws takes nothing. */
function validated(tool: Tool, input: unknown): Validated | Promise<Validated> {
  const failed = (error: unknown): Validated => ({ problems: [textOfThrown(error)] });
  try {
    const checked = tool["~tool"].validate(input);
    return checked instanceof Promise ? checked.catch(failed) : checked;
  } catch (error) {
    return failed(error);
  }
}

function inputOf({ read }: ToolRequest): unknown {
  return "input" in read ? read.input : undefined;
}

function parsedOf(checked: Validated): unknown {
  return "value" in checked ? checked.value : undefined;
}

/** Whether an input may go on: it fits, and nobody wants a person to look at it first. */
function verdictOn(
  request: ToolRequest,
  tool: Tool,
  checked: Validated,
): { readonly verdict: Verdict; readonly who?: "tool" | "agent" | "policy" | undefined } | undefined {
  if ("problems" in checked) return { verdict: invalid(tool, checked.problems) };
  try {
    const { needsApproval } = tool["~tool"];
    const own = needsApproval !== undefined && asksPerson(needsApproval(checked.value as never));
    const who = own ? "tool" : request.asks?.(checked.value);
    return who === undefined ? undefined : { verdict: "ask", who };
  } catch (error) {
    // Whoever cannot say whether it is allowed does not allow it.
    const reason = isUnsaid(error) ? error.message : `needsApproval of "${tool.name}" threw: ${textOfThrown(error)}`;
    return { verdict: new EffectResult("denied", { reason, problem: "policy" }) };
  }
}

/** The code for an input that a person changed. */
async function edited(request: ToolRequest, tool: Tool, input: unknown): Promise<EffectCode> {
  const checked = await validated(tool, input);
  if ("problems" in checked) throw new Error(`the changed input does not fit: ${inWords(checked.problems)}`);
  return running(request, tool, checked.value);
}

function running(request: ToolRequest, tool: Tool, input: unknown): EffectCode {
  const { after } = request;
  const once = (request.repeat ?? tool.repeat) === "once";
  let attempts = once ? 1 : (tool["~tool"].attempts ?? 1);
  return async (context) => {
    let outcome: Outcome;
    try {
      const value = await tool["~run"](input, context);
      // What comes after its time is nobody's result.
      if (after === undefined || context.aborted !== undefined) return resultOf(value);
      outcome = { type: "ok", value };
    } catch (error) {
      if (after === undefined) throw error;
      // A hook sees what a call came to; one that is tried again, was stopped, or may have happened has not come to anything yet.
      if (--attempts > 0 || context.aborted !== undefined || (once && isUnknown(error))) throw error;
      // A rule refused it: that is not for a hook to change.
      if (RathError.is(error, "sandbox.denied")) throw error;
      outcome = { type: "error", message: textOfThrown(error) };
    }
    return afterwards(outcome, { ...shape(request, context.key), input, outcome }, after);
  };
}

function shape({ name, by }: ToolRequest, id: string): Omit<ToolCall, "event" | "input" | "outcome"> {
  return { id, tool: name, changes: [], sandbox: undefined, session: undefined, by, step: 0 };
}

/** What a hook makes of a result; if it throws, the result stands and the agent says so. */
async function afterwards(
  outcome: Outcome,
  call: Omit<ToolCall, "event">,
  after: NonNullable<ToolRequest["after"]>,
): Promise<EffectResult> {
  const plain = (): EffectResult =>
    outcome.type === "ok"
      ? new EffectResult("ok", dataOf(outcome.value))
      : new EffectResult("error", { message: outcome.type === "error" ? outcome.message : outcome.type, problem: "threw" });
  try {
    const changed = await after(call);
    if (changed === undefined) return plain();
    if (typeof changed !== "object" || changed === null || !("value" in changed))
      throw new Error("it gave neither { value } nor undefined");
    return new EffectResult("ok", { ...dataOf(changed.value), original: outcome.type === "ok" ? outcome.value : outcome });
  } catch (error) {
    const { outcome: type, data } = plain();
    return new EffectResult(type, { ...data, problem: "hook", reason: textOfThrown(error) });
  }
}

function resultOf(value: unknown): unknown {
  return value instanceof EffectResult ? value : new EffectResult("ok", dataOf(value));
}

function dataOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  const cut = tooLong(value) ? { cut: shownCharacters } : {};
  return { ...cut, value };
}

function tooLong(value: unknown): boolean {
  if (typeof value === "string") return value.length > shownCharacters;
  if (typeof value !== "object" || value === null) return false;
  try {
    return textOfOutcome({ type: "ok", value }).length > shownCharacters;
  } catch {
    return false; // what cannot be stored is refused by name when it is
  }
}

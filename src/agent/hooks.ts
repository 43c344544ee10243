/** Hooks of an agent. Each runs as an effect: what it gave is recorded, and taken from the record when the agent is entered again. */
import { RathError } from "../session/errors.ts";
import { stateOf } from "../session/fold.ts";
import { kindOf, shown } from "../session/given.ts";
import { SharedText } from "../session/json.ts";
import type { ModelRequest, ModelSettings, RequestMessage, RequestTool } from "../session/message.ts";
import { modelName } from "../session/model.ts";
import { messagesOf } from "../session/request.ts";
import type { Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { placeOf } from "../session/value.ts";
import { type AgentOptions, problemOfSettings } from "./options.ts";

/** A request about to be made. */
export interface Ready {
  readonly session: Session;
  readonly instructions: string;
  readonly offered: readonly RequestTool[];
  readonly output: object | undefined;
  readonly configuration: SharedText;
  readonly settings: ModelSettings;
  /** Messages that a hook put in place of the log's. */
  readonly messages?: readonly RequestMessage[] | undefined;
  /** The result of the hook that changed it. */
  readonly changed?: string | undefined;
}

interface Before {
  readonly instructions: string;
  readonly offered: readonly RequestTool[];
  readonly output: object | undefined;
  readonly configuration: SharedText;
  readonly round: number;
}

type Changed = { readonly refuse: string } | (Partial<ModelRequest> & { readonly refuse?: undefined });

/** The request as the hook leaves it, or its refusal. */
export async function beforeModel<Output>(
  options: AgentOptions<Output>,
  session: Session,
  before: Before,
  agent: string,
): Promise<Ready | { readonly session: Session; readonly refuse: string }> {
  const settings = settingsFor(options.settings, before.round);
  const { round: _, ...rest } = before;
  const ready = { ...rest, session, settings };
  const hook = options.hooks?.beforeModel?.bind(options.hooks);
  if (hook === undefined) return ready;
  const { node, context } = placeOf(session);
  const { platform } = context.host;
  const request: ModelRequest = {
    model: modelName(firstModel(options)),
    instructions: before.instructions,
    messages: messagesOf(stateOf(node).context, platform),
    tools: before.offered,
    settings,
    output: before.output,
  };
  const { session: hooked, given } = await hookEffect(session, "beforeModel", agent, async () =>
    differences(request, await hook(request), agent),
  );
  const changed = given as Changed | null;
  if (changed === null) return { ...ready, session: hooked };
  if (changed.refuse !== undefined) return { session: hooked, refuse: changed.refuse };
  const instructions = changed.instructions ?? before.instructions;
  const offered = changed.tools ?? before.offered;
  const same = changed.instructions === undefined && changed.tools === undefined;
  const text = JSON.stringify({ instructions, tools: offered, ...(before.output === undefined ? {} : { output: before.output }) });
  return {
    ...ready,
    session: hooked,
    instructions,
    offered,
    settings: changed.settings ?? settings,
    configuration: same ? before.configuration : SharedText.of(text, platform),
    ...(changed.messages === undefined ? {} : { messages: changed.messages, changed: hooked.head }),
  };
}

/** A tool that must be called is called once: forced again, the loop would never end. */
function settingsFor(settings: ModelSettings = {}, round: number): ModelSettings {
  const { toolChoice, ...rest } = settings;
  return toolChoice === undefined || (round > 1 && toolChoice !== "auto" && toolChoice !== "none") ? rest : settings;
}

function firstModel<Output>({ model }: AgentOptions<Output>) {
  return Array.isArray(model) ? model[0] : model;
}

const fields = ["instructions", "messages", "tools", "settings"] as const;

/** Only what a hook changed is stored. */
function differences(request: ModelRequest, given: ModelRequest | { readonly refuse: string } | undefined, agent: string): unknown {
  if (given === undefined) return null;
  refuseMisspelt("beforeModel", agent, given, fields);
  if ("refuse" in given) return { refuse: given.refuse };
  const problem = problemOfSettings(given.settings);
  if (problem !== undefined)
    throw new RathError("agent.hook-failed", `The beforeModel hook of agent "${agent}" gave a request that ${problem}.`);
  const changed = fields.filter(
    (field) => given[field] !== request[field] && JSON.stringify(given[field]) !== JSON.stringify(request[field]),
  );
  return changed.length === 0 ? null : Object.fromEntries(changed.map((field) => [field, given[field]]));
}

/** A refusal that is misspelt would refuse nothing. */
export function refuseMisspelt(hook: "beforeModel" | "beforeTool", agent: string, given: unknown, wanted: readonly string[]): void {
  const answer = typeof given === "object" && given !== null ? given : {};
  const refusal: unknown = "refuse" in answer ? answer.refuse : undefined;
  if ("refuse" in answer ? typeof refusal === "string" : wanted.some((field) => field in answer)) return;
  const gave =
    "refuse" in answer
      ? `a refusal that is ${shown(refusal)}`
      : answer === given
        ? `an object without ${wanted.join(", ")} or refuse`
        : kindOf(given);
  const next = hook === "beforeModel" ? "a request" : "{ input }";
  throw new RathError(
    "agent.hook-failed",
    `The ${hook} hook of agent "${agent}" gave ${gave}: give ${next}, { refuse } with the reason, or nothing.`,
  );
}

/** Runs a hook as an effect; one that throws is an error of the program. When the work was stopped, what follows is cancelled too. */
export async function hookEffect(
  session: Session,
  name: keyof typeof advice,
  agent: string,
  run: () => unknown,
): Promise<{ readonly session: Session; readonly given: unknown }> {
  try {
    const hooked = await session.do(`hook ${name}`, run, { repeat: "safe" });
    return { session: hooked, given: hooked.output };
  } catch (error) {
    if (RathError.is(error, "effect.cancelled") && error.session !== undefined) return { session: error.session, given: null };
    if (!RathError.is(error, "effect.failed")) throw error;
    const { cause } = error;
    if (RathError.is(cause, "agent.hook-failed")) throw new RathError(cause.code, cause.message, { session: error.session, cause });
    throw hookFailed(name, agent, textOfThrown(cause ?? error), error.session, cause);
  }
}

const advice = { beforeModel: "{ refuse }", beforeTool: "{ refuse }", afterTool: "undefined" } as const;

export function hookFailed(
  name: keyof typeof advice,
  agent: string,
  problem: string,
  session: Session | undefined,
  cause?: unknown,
): RathError {
  return new RathError(
    "agent.hook-failed",
    `The ${name} hook of agent "${agent}" threw: ${problem}. Return ${advice[name]} from it instead of throwing.`,
    { session, cause },
  );
}

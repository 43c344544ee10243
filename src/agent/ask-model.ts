/** One question to a model as an effect: it stores no prompt, reserves what it may cost, and records each attempt. */
import type { ErrorCode } from "../session/errors.ts";
import type { OutcomeType } from "../session/event.ts";
import { type State, stateOf, turnsOf } from "../session/fold.ts";
import type { Budget, Effect, EffectResult } from "../session/host.ts";
import type { Node } from "../session/log.ts";
import type { Finish, ModelRequest, ReplyPart } from "../session/message.ts";
import { type ModelLike, modelName } from "../session/model.ts";
import type { Platform } from "../session/platform.ts";
import { digestOf, messagesOf, messagesSince } from "../session/request.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { tryModels } from "./attempts.ts";
import { tooLong } from "./context/fitting.ts";
import type { Ready } from "./hooks.ts";
import type { AgentOptions } from "./options.ts";
import { Reservation } from "./reservation.ts";

/** What became of the question. */
export interface Asked {
  readonly session: Session;
  readonly outcome: OutcomeType;
  readonly parts: readonly ReplyPart[];
  readonly finish: Finish | undefined;
  /** Why there is no answer. */
  readonly problem: string;
  /** There is more to read than any of its models reads: none was asked. */
  readonly tooLong: boolean;
  /** Set when the model could not even be asked: its name, its package or its key is missing. */
  readonly code: ErrorCode | undefined;
}

export async function askModel<Output>(
  options: AgentOptions<Output>,
  session: Session,
  ready: Ready,
  budgets: readonly Budget[],
  refusal?: EffectResult,
): Promise<Asked> {
  const { node, context } = placeOf(session);
  const { host } = context;
  const state = stateOf(node);
  const likes = Array.isArray(options.model) ? (options.model as readonly ModelLike[]) : [options.model as ModelLike];
  const [model = "", ...fallbacks] = likes.map(modelName);
  const request = requestOf(model, ready, state, host.platform);
  const limiting = budgets.filter(({ limits }) => (limits.tokens ?? limits.usd ?? limits.time) !== undefined);
  // A hook may send something else than the log holds, another agent has other instructions and tools, and less may be read since.
  const known = state.said?.by === context.by && options.hooks?.beforeModel === undefined && !isCompressedSince(state);
  const usage = known ? state.said?.facts.usage : undefined;
  const counted = usage === undefined ? undefined : { usage, since: () => messagesSince(state.context, host.platform) };
  const reservation = limiting.length === 0 ? undefined : new Reservation(host, likes, request, limiting, counted);
  const turn = turnsOf(state, context.by);
  const effect: Effect = {
    op: "model",
    repeat: "safe",
    called: calledOf(model, fallbacks, ready, digestOf(state.context, host.platform)),
    before: refusal !== undefined ? () => refusal : reservation === undefined ? undefined : () => reservation.reserve(),
    run: (inner) =>
      tryModels(likes, request, {
        ...{ host, context: inner, session, turn, by: context.by },
        attempts: options.retry?.attempts ?? 4,
        silence: options.retry?.timeout ?? "2m",
        maxOutputTokens: reservation?.maxOutputTokens,
        deadline: reservation?.deadline,
        settle: (spent) => reservation?.settle(spent),
        timeOver: () => reservation?.timeOver(),
      }),
    failureIsValue: true,
  };
  const returned = await host.perform(session, effect);
  return askedOf(returned, placeOf(returned).node);
}

function requestOf(model: string, ready: Ready, state: State, platform: Platform): ModelRequest {
  let { messages } = ready;
  return {
    model,
    instructions: ready.instructions,
    tools: ready.offered,
    settings: ready.settings,
    ...(ready.output === undefined ? {} : { output: ready.output }),
    // Built when somebody looks: a request costs what is new, not what was said before.
    get messages() {
      messages ??= messagesOf(state.context, platform);
      return messages;
    },
  };
}

/** What is recorded of the question. */
function calledOf(model: string, fallbacks: readonly string[], ready: Ready, request: string): Effect["called"] {
  return {
    ...(ready.changed === undefined ? {} : { changed: ready.changed }),
    configuration: ready.configuration,
    ...(fallbacks.length === 0 ? {} : { fallbacks }),
    model,
    request,
    ...(isEmpty(ready.settings) ? {} : { settings: ready.settings }),
  };
}

/** What was compressed after the newest reply is not what the provider counted. */
function isCompressedSince({ compressed, said }: State): boolean {
  return compressed !== undefined && said !== undefined && compressed.node.step > said.step;
}

function askedOf(session: Session, node: Node): Asked {
  const { platform } = placeOf(session).context.host;
  const data = node.data<"model.returned">(platform);
  const outcome = node.facts.outcome ?? "unknown";
  return {
    session,
    outcome,
    parts: (data.parts ?? []) as readonly ReplyPart[],
    finish: data.finish,
    tooLong: data.name === tooLong,
    problem: data.message ?? data.reason ?? outcome,
    code: data.name !== undefined && cannotAsk.has(data.name) ? (data.name as ErrorCode) : undefined,
  };
}

const cannotAsk: ReadonlySet<string> = new Set<ErrorCode>(["model.unknown", "model.unavailable"]);

function isEmpty(settings: object): boolean {
  for (const _ in settings) return false;
  return true;
}

/** Asks a model, and again after failures that may pass, and then the next model. What failed is part of the result. */
import { cost } from "../model/prices.ts";
import { durationMs, timerMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { EffectResult, type Host, type InnerEffectContext, type Price } from "../session/host.ts";
import type { ModelReply, ModelRequest } from "../session/message.ts";
import { type Model, type ModelLike, type ModelPart, modelName } from "../session/model.ts";
import type { Duration, Session, Totals } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { priceOfFree } from "./reservation.ts";
import { Shown } from "./shown.ts";

interface Trying {
  readonly host: Host;
  readonly context: InnerEffectContext;
  readonly session: Session;
  readonly turn: number;
  readonly by: string;
  readonly attempts: number;
  /** How long a model may say nothing. */
  readonly silence: Duration;
  readonly maxOutputTokens: number | undefined;
  /** When the time that is left is over. */
  readonly deadline: number | undefined;
  readonly settle: (spent: Totals | undefined) => void;
  /** Says that the time was over before there was an answer. */
  readonly timeOver: () => void;
}

/** An attempt that came to nothing, as it is recorded. */
interface Failure {
  readonly message: string;
  readonly model?: string;
  readonly status?: number;
  readonly text?: string;
  waitedMs?: number;
}

const longestWaitMs = 60_000;
const free: Totals = Object.freeze({ input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 });

export async function tryModels(likes: readonly ModelLike[], request: ModelRequest, trying: Trying): Promise<EffectResult> {
  const failures: Failure[] = [];
  const shown = new Shown(trying.context, trying.host);
  let last: unknown;
  let attempts = 0;
  for (const like of likes) {
    let model: Model;
    try {
      model = await trying.host.model(like);
    } catch (error) {
      last = error;
      if (RathError.is(error)) failures.push({ message: error.message });
      continue;
    }
    for (let attempt = 1; attempt <= trying.attempts; attempt++) {
      if (trying.context.aborted !== undefined) return gone(trying, failures, Math.max(1, attempts));
      attempts++;
      try {
        return answered(await once(model, request, shown, trying), model, modelName(like), failures, attempts, trying);
      } catch (error) {
        last = error;
        if (trying.context.aborted !== undefined || error instanceof TimeOver) {
          const arrived = shown.cut();
          if (arrived.text !== undefined) failures.push({ message: "stopped", ...aboutFailure(error, model, likes.length), ...arrived });
          return error instanceof TimeOver ? over(trying, failures, attempts) : gone(trying, failures, attempts);
        }
        const failure: Failure = { message: textOfThrown(error), ...aboutFailure(error, model, likes.length), ...shown.cut() };
        failures.push(failure);
        if (!isRetryable(error) || attempt === trying.attempts) break;
        const wait = waitFor(error, attempt, trying.context.key);
        if (wait > longestWaitMs) break;
        if (trying.deadline !== undefined && Date.now() + wait > trying.deadline) return over(trying, failures, attempts);
        failure.waitedMs = wait;
        await pause(wait, trying.context);
        if (trying.context.aborted !== undefined) return gone(trying, failures, attempts);
      }
    }
  }
  trying.settle(free);
  const name = RathError.is(last) && failures.length === likes.length && attempts === 0 ? { name: last.code } : {};
  return new EffectResult(
    "error",
    { message: textOfThrown(last), ...name, ...(attempts === 0 ? {} : { failures }) },
    { attempts: Math.max(1, attempts) },
  );
}

/** Somebody stopped it, or its time is over. */
function gone(trying: Trying, failures: readonly Failure[], attempts: number): EffectResult {
  trying.settle(free);
  return new EffectResult(
    "cancelled",
    { reason: trying.context.aborted ?? "", ...(failures.length === 0 ? {} : { failures }) },
    { attempts },
  );
}

class TimeOver extends Error {}

function over(trying: Trying, failures: readonly Failure[], attempts: number): EffectResult {
  trying.settle(free);
  trying.timeOver();
  return new EffectResult("denied", { reason: "budget: the time is over", ...(failures.length === 0 ? {} : { failures }) }, { attempts });
}

/** One attempt: the whole reply, or an error. */
async function once(model: Model, request: ModelRequest, shown: Shown, trying: Trying): Promise<ModelReply> {
  const { session, turn, by, deadline, context } = trying;
  const controller = new AbortController();
  let fail: (reason: unknown) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    fail = reject;
  });
  stopped.catch(() => {});
  const stop = (reason: unknown): void => {
    controller.abort(reason);
    fail(reason);
  };
  const unlisten = context.onAbort(stop);
  const silence = setTimeout(
    () => stop(new RathError("model.failed", `${model.id} said nothing for ${trying.silence}`, { retryable: true })),
    timerMs(durationMs(trying.silence)),
  );
  const end = deadline === undefined ? undefined : setTimeout(() => stop(new TimeOver()), timerMs(deadline - Date.now()));
  shown.begin();
  const asked = trying.maxOutputTokens === undefined ? request : limitedTo(request, trying.maxOutputTokens);
  let parts: AsyncIterator<ModelPart> | undefined;
  try {
    parts = model.stream(asked, { signal: controller.signal, session, turn, by })[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([parts.next(), stopped]);
      if (next.done === true) break;
      silence.refresh();
      if (next.value.type !== "reply") shown.show(next.value);
      else {
        shown.end();
        return next.value.reply;
      }
    }
    throw new RathError("model.failed", `The stream of ${model.id} was cut before its end`, { retryable: true });
  } finally {
    clearTimeout(silence);
    clearTimeout(end);
    unlisten();
    void Promise.resolve(parts?.return?.()).catch(() => {});
  }
}

/** The same request with a shorter answer; its messages are still built when somebody looks. */
function limitedTo(request: ModelRequest, maxOutputTokens: number): ModelRequest {
  return Object.create(request, { settings: { value: { ...request.settings, maxOutputTokens }, enumerable: true } }) as ModelRequest;
}

function answered(
  reply: ModelReply,
  model: Model,
  name: string,
  failures: readonly Failure[],
  attempts: number,
  trying: Trying,
): EffectResult {
  const price = model.free === true ? priceOfFree(model, trying.host, reply.usage.input) : priceFor(reply, model, name, trying.host);
  // Whoever is asked something has read something.
  const said = model.free === true || reply.usage.input > 0;
  const usage = said ? { ...reply.usage, usd: price === undefined ? 0 : cost(price, reply.usage) } : undefined;
  trying.settle(usage);
  const data = {
    ...(failures.length === 0 ? {} : { failures }),
    finish: reply.finish,
    ...(reply.id === undefined ? {} : { id: reply.id }),
    ...(trying.maxOutputTokens === undefined ? {} : { maxOutputTokens: trying.maxOutputTokens }),
    ...(reply.metadata === undefined ? {} : { metadata: reply.metadata }),
    model: reply.model ?? model.id,
    parts: reply.parts,
    ...(price === undefined ? {} : { price }),
    ...(price === undefined && model.free !== true ? { unpriced: true } : {}),
    ...(reply.warnings === undefined || reply.warnings.length === 0 ? {} : { warnings: reply.warnings }),
  };
  const outside = reply.outside === true || reply.parts.some(({ type }) => type === "source");
  return new EffectResult("ok", data, { usage, attempts, ...(outside ? { facts: { outside } } : {}) });
}

/** By the name of the model that answered, else of the one that was asked. */
function priceFor(reply: ModelReply, model: Model, asked: string, host: Host): Price | undefined {
  const provider = model.id.includes("/") ? model.id.slice(0, model.id.indexOf("/") + 1) : "";
  const names = [...(reply.model === undefined ? [] : [`${provider}${reply.model}`, reply.model]), model.id, asked];
  for (const name of names) {
    const price = host.price(name, reply.usage.input);
    if (price !== undefined) return price;
  }
  return undefined;
}

function isRetryable(error: unknown): boolean {
  return RathError.is(error) && error.retryable;
}

function aboutFailure(error: unknown, model: Model, models: number): { readonly status?: number; readonly model?: string } {
  const status = RathError.is(error) ? error.details["status"] : undefined;
  return { ...(models > 1 ? { model: model.id } : {}), ...(typeof status === "number" ? { status } : {}) };
}

/** As long as the provider asks, else twice as long each time, spread so that many callers do not come back together. */
function waitFor(error: unknown, attempt: number, key: string): number {
  const asked = RathError.is(error) ? error.details["retryAfterMs"] : undefined;
  if (typeof asked === "number") return asked;
  const spread = Number.parseInt(key.slice(attempt, attempt + 4), 16) / 0xffff;
  return Math.round(Math.min(500 * 2 ** (attempt - 1), 30_000) * (0.75 + spread / 2));
}

function pause(ms: number, context: InnerEffectContext): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      unlisten();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const unlisten = context.onAbort(done);
  });
}

/**
 * The one door for effects. Live: record what is asked, make it durable when it may not be repeated, do it, record the result.
 * Under a driver: take the recorded result while the program asks for the same thing. After a crash a `once` effect that was
 * started without a result is unknown: a person says what happened.
 */
import { RathError } from "../session/errors.ts";
import type { CalledKind } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Context, Effect } from "../session/host.ts";
import { encode } from "../session/json.ts";
import { current, type Node } from "../session/log.ts";
import type { Session, Totals } from "../session/session.ts";
import { SessionValue } from "../session/value.ts";
import { never } from "./closed.ts";
import type { Execution } from "./execution.ts";
import { link } from "./link.ts";
import { noMailbox } from "./mailbox.ts";
import { type Batch, OpenEffect } from "./open-effect.ts";
import { spentOn } from "./recorded.ts";
import { causeOf } from "./thrown-effect.ts";

/** Performs one effect. The head is claimed before this returns. */
export function perform(execution: Execution, head: Node, context: Context, effect: Effect): Promise<Session> {
  if (effect.op === "receive" && !canReceive(execution)) throw noMailbox();
  const called = call(execution, head, context, effect, undefined);
  return follow(execution, called, effect, context, undefined, (returned) => {
    const session = conclude(returned, effect, context);
    const handed = execution.reuse?.handedFor(returned) ?? returned;
    return handed === returned ? session : new SessionValue(handed, context);
  });
}

/** Only runs that were started durably are sent to; a rerun takes what one of them was sent. */
function canReceive({ mode, reuse }: Execution): boolean {
  return mode === "run" || mode === "replay" || reuse !== undefined;
}

/** Performs several effects at once: calls in order in one commit, results as they come; resolves when the last one is there. */
export async function performAll(execution: Execution, head: Node, context: Context, effects: readonly Effect[]): Promise<Session> {
  if (effects.length < 2) return effects[0] === undefined ? new SessionValue(head, context) : perform(execution, head, context, effects[0]);
  const turns = turnsOf(effects);
  let at = head;
  const calls = effects.map((effect, index) => {
    const batch = { index, size: effects.length };
    at = call(execution, at, context, effect, batch, turns[index]?.length !== 0);
    return { called: at, effect, batch };
  });
  const results: Promise<Node>[] = [];
  const over: Promise<unknown>[] = [];
  for (const [index, { called, effect, batch }] of calls.entries()) {
    const before = (turns[index] ?? []).map((other) => over[other]);
    const after = before.length === 0 ? undefined : Promise.all(before);
    const result = follow(execution, called, effect, context, batch, (returned) => returned, after);
    results.push(result);
    // One that is refused ends before its turn; whoever comes after it waits for those it stood behind.
    over.push(Promise.allSettled([result, ...before]));
  }
  // A branch may have moved since the first of them came.
  const returns = (await Promise.all(results)).map(current);
  const last = returns.reduce((a, b) => (b.seq > a.seq ? b : a));
  return new SessionValue(last, context);
}

/**
 * For each effect of a batch, those before it that it must not run beside: what shares its resource; "*" runs alone. Those that
 * these stand behind themselves are left out.
 */
function turnsOf(effects: readonly Effect[]): readonly (readonly number[])[] {
  if (effects.every(({ resource }) => resource === undefined)) return effects.map(() => []);
  const newest = new Map<string, number>();
  let alone: readonly number[] = [];
  let since: number[] = [];
  return effects.map(({ resource }, index) => {
    if (resource === "*") {
      const before = since.length === 0 ? alone : since;
      [alone, since] = [[index], []];
      newest.clear();
      return before;
    }
    since.push(index);
    if (resource === undefined) return alone;
    const same = newest.get(resource);
    newest.set(resource, index);
    return same === undefined ? alone : [same];
  });
}

const started = Object.freeze({ started: true } as const);

/** Claims the head for a call: the recorded one if the program asks for the same thing, else a new one. */
function call(execution: Execution, head: Node, context: Context, effect: Effect, batch: Batch | undefined, waits = false): Node {
  const { runtime } = execution;
  const kind: CalledKind = `${effect.op}.called`;
  const encoded = encode(batch === undefined ? effect.called : { ...effect.called, batch }, runtime.platform, runtime.redact, kind);
  const recorded = execution.find(head, context.scope, kind, encoded, context.by);
  if (recorded !== undefined) return recorded;
  const parent = batch !== undefined && batch.index > 0 ? head : execution.claim(head, context.scope, { kind, text: encoded.text });
  const { reuse } = execution;
  // A reused call happened when its source did; one that is reused, asks first or stands before the gate has not started.
  const source = reuse?.callFor(parent, kind, encoded.text, effect);
  const held = source !== undefined || reuse?.asks(effect) === true || execution.recorded?.complete === false || execution.draining;
  const begins = effect.run !== undefined && effect.before === undefined && effect.refused === undefined;
  const facts = begins && !held && !waits ? started : undefined;
  const called = link(runtime, {
    log: parent.log,
    parents: [parent],
    kind,
    data: undefined,
    by: context.by,
    encoded,
    facts,
    at: source?.at,
  });
  execution.asked?.add(head, called);
  execution.record(called);
  return called;
}

/** What is made of the result of a call once it is its turn: recorded, or made now. */
async function follow<T>(
  execution: Execution,
  called: Node,
  effect: Effect,
  context: Context,
  batch: Batch | undefined,
  make: (returned: Node) => T,
  after?: Promise<unknown>,
): Promise<T> {
  const { recorded } = execution;
  const result = recorded?.has(called) === true ? recorded.returnOf(called) : undefined;
  if (result !== undefined) {
    recorded?.skipInside(called);
    if (result.facts.closed === true) {
      // The run ended before it had a result: the program never received one.
      recorded?.claim(result);
      return never();
    }
    count(context, () => [...spentOn(result), ...(recorded?.spentInside(called) ?? [])]);
    await execution.delivery.handOver(result);
    return make(result);
  }
  const open = new OpenEffect(execution, called, effect, context, batch, after);
  execution.open.add(open);
  try {
    const returned = await open.result();
    execution.open.delete(open);
    // What a model takes is reserved and settled.
    if (effect.op !== "model") count(context, () => spentOn(returned));
    // Outside a workflow the value leaves at once: it is on disk before anybody holds it.
    if (execution.mode === "effects" && "run" in context.scope) await execution.writer.flush(execution.runtime.relaxed);
    await execution.delivery.handOver(current(returned));
    return make(current(returned));
  } finally {
    execution.open.delete(open);
    open.release();
  }
}

/** Counts for the limits above, as it was counted when it happened. Where there are none, nobody looks through what was done inside. */
function count({ budgets }: Context, spent: () => readonly (Totals | undefined)[]): void {
  if (budgets === undefined || budgets.length === 0) return;
  const all = spent();
  for (const budget of budgets) for (const one of all) budget.count(one);
}

/** The value after an effect, or the error that carries it. */
function conclude(returned: Node, effect: Effect, context: Context): Session {
  const session = new SessionValue(returned, context);
  const outcome = returned.facts.outcome ?? "unknown";
  if (outcome === "ok" || effect.failureIsValue === true) return session;
  const data = returned.data<"do.returned">(context.host.platform);
  const asked = callOf(returned).data(context.host.platform) as
    | { readonly name?: string; readonly question?: string; readonly signal?: string }
    | undefined;
  const name = asked?.name ?? asked?.question ?? asked?.signal ?? effect.op;
  const said = data?.message ?? data?.reason;
  const code = outcome === "error" ? "effect.failed" : (`effect.${outcome}` as const);
  const ended = outcome === "error" ? "failed" : outcome === "unknown" ? "has an unknown outcome" : `was ${outcome}`;
  throw new RathError(code, `"${String(name)}" ${ended}${said === undefined ? "" : `: ${said}`}`, {
    session,
    cause: causeOf(returned),
    details: { event: returned.id, outcome, ...(data?.name === undefined ? {} : { name: data.name }) },
  });
}

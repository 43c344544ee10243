/**
 * The one door for effects. Live: record what is asked, make it durable when it may not be repeated, do it, record the result.
 * Under a driver: take the recorded result while the program asks for the same thing. After a crash a `once` effect that was
 * started without a result is unknown: a person says what happened.
 */
import { RathError } from "../session/errors.ts";
import type { CalledKind, OutcomeType, ReturnedKind } from "../session/event.ts";
import type { Context, Effect } from "../session/host.ts";
import type { Scope } from "../session/id.ts";
import { encode } from "../session/json.ts";
import type { Node } from "../session/log.ts";
import type { EffectContext, Sandbox, Session } from "../session/session.ts";
import { SessionValue } from "../session/value.ts";
import type { Execution, Open } from "./execution.ts";
import { link } from "./link.ts";
import { type Given, inside } from "./services.ts";

type ReturnFacts = { readonly ms?: number; readonly source?: string; readonly at?: string; readonly closed?: true };
type Batch = { readonly index: number; readonly size: number };

/** Performs one effect. The head is claimed before this returns. */
export function perform(execution: Execution, head: Node, context: Context, effect: Effect): Promise<Session> {
  const called = call(execution, head, context, effect, undefined);
  return follow(execution, called, effect, context).then((returned) => {
    const session = conclude(returned, effect, context);
    const handed = execution.reuse?.handedFor(returned) ?? returned;
    return handed === returned ? session : new SessionValue(handed, context);
  });
}

/** Performs several effects at once: calls in order in one commit, results as they come; resolves when the last one is there. */
export async function performAll(execution: Execution, head: Node, context: Context, effects: readonly Effect[]): Promise<Session> {
  if (effects.length < 2) return effects[0] === undefined ? new SessionValue(head, context) : perform(execution, head, context, effects[0]);
  let at = head;
  const calls = effects.map((effect, index) => {
    at = call(execution, at, context, effect, { index, size: effects.length });
    return { called: at, effect };
  });
  const returns = await Promise.all(calls.map(({ called, effect }) => follow(execution, called, effect, context)));
  const last = returns.reduce((a, b) => (b.seq > a.seq ? b : a));
  return new SessionValue(last, context);
}

/** Claims the head for a call: the recorded one if the program asks for the same thing, else a new one. */
function call(execution: Execution, head: Node, context: Context, effect: Effect, batch: Batch | undefined): Node {
  const { runtime } = execution;
  const kind: CalledKind = `${effect.op}.called`;
  const encoded = encode(batch === undefined ? effect.called : { ...effect.called, batch }, runtime.platform, runtime.redact, kind);
  const recorded = execution.find(head, context.scope, kind, encoded);
  if (recorded !== undefined) return recorded;
  const parent = batch !== undefined && batch.index > 0 ? head : execution.claim(head, context.scope);
  const starts = effect.run !== undefined && !execution.reuse?.holdsBack(parent, kind, encoded.text, effect);
  const called = link(runtime, { log: parent.log, parents: [parent], kind, data: effect.called, by: context.by, encoded, facts: starts ? { started: true } : {} });
  execution.record(called);
  return called;
}

async function follow(execution: Execution, called: Node, effect: Effect, context: Context): Promise<Node> {
  const { recorded } = execution;
  const result = recorded?.has(called) === true ? recorded.returnOf(called) : undefined;
  if (result !== undefined) {
    recorded?.skipInside(called);
    if (result.facts.closed === true) {
      // The run ended before it had a result: the program never received one.
      recorded?.claim(result);
      return never();
    }
    await execution.delivery.handOver(result);
    return result;
  }
  const open = new OpenEffect(execution, called, effect, context);
  execution.open.add(open);
  const returned = await open.result();
  execution.open.delete(open);
  await execution.delivery.handOver(returned);
  return returned;
}

class OpenEffect implements Open {
  waiting = false;
  readonly effect: Effect;
  readonly #execution: Execution;
  readonly #called: Node;
  readonly #context: Context;
  readonly #controller = new LazyAbort();
  readonly #attempt = 1;
  #child: Node | undefined;
  #closed = false;

  constructor(execution: Execution, called: Node, effect: Effect, context: Context) {
    this.#execution = execution;
    this.#called = called;
    this.effect = effect;
    this.#context = context;
  }

  /** Where its call is now. */
  get called(): Node {
    return this.#called.moved ?? this.#called;
  }

  get scope(): Scope {
    return this.#context.scope;
  }

  abort(reason: string): void {
    this.#controller.abort(reason);
  }

  async result(): Promise<Node> {
    const { recorded, reuse } = this.#execution;
    const again = recorded?.has(this.#called) === true;
    const unknown = again && this.effect.run !== undefined && this.effect.repeat === "once" && this.#called.facts.started === true;
    if (unknown) recorded?.skipInside(this.#called);
    if (unknown || !(again && recorded?.hasInside(this.#called))) await this.#execution.gate();
    if (unknown) return this.#decided("unknown");
    const source = reuse?.take(this.#called, this.effect);
    if (source !== undefined) return this.#return(source.outcome, source.data, { source: source.id, at: source.at });
    if (this.effect.run === undefined) return this.#waited();
    if (reuse?.asks(this.effect) && this.#called.facts.started !== true) return this.#decided("approval");
    return this.#live(this.effect.run);
  }

  async #live(run: (context: EffectContext) => unknown): Promise<Node> {
    const { writer } = this.#execution;
    if (this.effect.repeat === "once" || this.effect.repeat === "keyed") await writer.flush();
    if (this.#execution.closed) return never();
    const here = { execution: this.#execution, scope: { call: this.called.id, attempt: this.#attempt } };
    const start = performance.now();
    const ms = (): number => Math.round((performance.now() - start) * 1000) / 1000;
    try {
      const value = await inside.run(here, run, this.#effectContext());
      return this.#return("ok", this.effect.store?.(value) ?? (value === undefined ? {} : { value }), { ms: ms() });
    } catch (error) {
      return this.#return("error", failure(error), { ms: ms() });
    }
  }

  /** Waits for an answer or until its time. */
  async #waited(): Promise<Node> {
    const until = this.effect.op === "wait" ? (this.effect.called["until"] as string) : (this.effect.called["expires"] as string | undefined);
    const given = await this.#wait(until);
    if (given === "expired") return this.#return(this.effect.op === "wait" ? "ok" : "expired", {});
    const answer = given.id;
    if (given.data.outcome !== undefined) return this.#return("cancelled", { reason: given.data.reason ?? "closed by decision", answer });
    try {
      return this.#return("ok", { value: await this.effect.accept?.(given.data.answer), answer });
    } catch (error) {
      return this.#return("error", { ...failure(error), answer });
    }
  }

  /** A person says what became of it, or whether it may run. */
  async #decided(what: "unknown" | "approval"): Promise<Node> {
    const given = await this.#wait(undefined);
    if (given === "expired") return this.#return("expired", {});
    const { approve, outcome, reason } = given.data;
    const answer = given.id;
    if (what === "approval" && approve === false) return this.#return("denied", { reason: reason ?? "denied", answer });
    if (approve === true || outcome === "run-again") {
      const { log } = this.called;
      const started = link(this.#execution.runtime, { log, parents: [log.tip as Node], kind: "do.started", data: {}, by: "runtime", facts: this.#naming() });
      this.#execution.record(started);
      return this.#live(this.effect.run as (context: EffectContext) => unknown);
    }
    const { type, ...data } = outcome as { readonly type: OutcomeType };
    return this.#return(type, { ...data, answer });
  }

  async #wait(until: string | undefined): Promise<Given | "expired"> {
    const { runtime } = this.#execution;
    await this.#execution.writer.flush();
    this.waiting = true;
    this.#execution.delivery.schedule();
    const given = await runtime.answers.wait(this.called.id, until, this.#execution);
    this.waiting = false;
    return given;
  }

  close(outcome: OutcomeType, reason: string): void {
    this.abort(reason);
    if (this.#closed) return;
    this.#link(outcome, outcome === "unknown" ? {} : { reason }, { closed: true });
    this.#closed = true;
  }

  #return(outcome: OutcomeType, data: Readonly<Record<string, unknown>>, facts: ReturnFacts = {}): Node | Promise<never> {
    return this.#execution.closed || this.#closed ? never() : this.#link(outcome, data, facts);
  }

  #link(outcome: OutcomeType, data: Readonly<Record<string, unknown>>, facts: ReturnFacts): Node {
    const { called } = this;
    const { log } = called;
    const kind: ReturnedKind = `${this.effect.op}.returned`;
    const inner = this.#child === undefined || this.#child.log.tip === this.#child.log.first ? [] : [this.#child.log.tip as Node];
    const node = link(this.#execution.runtime, {
      log,
      parents: [log.tip as Node, ...inner],
      kind,
      data,
      by: this.#context.by,
      facts: { outcome, attempts: this.#attempt, ...this.#naming(), ms: facts.ms, source: facts.source, closed: facts.closed },
      at: facts.at,
    });
    this.#execution.record(node);
    return node;
  }

  /** Inside a batch a result names its call; elsewhere the call is the one before it. */
  #naming(): { readonly call?: string } {
    const inBatch = (this.called.data(this.#execution.runtime.platform) as { readonly batch?: Batch } | undefined)?.batch !== undefined;
    return inBatch ? { call: this.called.id } : {};
  }

  /** Made on demand: most effects use neither the child session nor the signal. */
  #effectContext(): EffectContext {
    const open = this;
    const { runtime } = this.#execution;
    let session: Session | undefined;
    return {
      get session() {
        if (session === undefined) {
          const scope = { call: open.called.id, attempt: open.#attempt };
          open.#child = open.#execution.child(open.called, open.#attempt, open.#context.by);
          if (open.#execution.mode !== "effects") open.#execution.own(open.#child.log);
          session = new SessionValue(open.#child, { ...open.#context, scope });
        }
        return session;
      },
      get sandbox(): Sandbox {
        throw new RathError("session.not-here", "Effects have no sandbox yet: this version of openrath places sessions but opens no sandbox.");
      },
      get signal() {
        return open.#controller.signal;
      },
      key: this.called.id,
      deps: runtime.deps,
    };
  }
}

/** The value after an effect, or the error that carries it. */
function conclude(returned: Node, effect: Effect, context: Context): Session {
  const session = new SessionValue(returned, context);
  const outcome = returned.facts.outcome ?? "unknown";
  if (outcome === "ok" || effect.failureIsValue === true) return session;
  const data = returned.data<"do.returned">(context.host.platform);
  const name = effect.called["name"] ?? effect.called["question"] ?? effect.op;
  const said = data?.message ?? data?.reason;
  const code = outcome === "error" ? "effect.failed" : (`effect.${outcome}` as const);
  const ended = outcome === "error" ? "failed" : outcome === "unknown" ? "has an unknown outcome" : `was ${outcome}`;
  throw new RathError(code, `"${String(name)}" ${ended}${said === undefined ? "" : `: ${said}`}`, { session, details: { event: returned.id, outcome } });
}

function failure(error: unknown): { readonly message: string; readonly name?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  return error.name === "Error" ? { message: error.message } : { message: error.message, name: error.name };
}

/** A frame of a run that ended here goes no further. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** An AbortController costs more than most effects: made when somebody looks. */
class LazyAbort {
  #controller: AbortController | undefined;
  #reason: string | undefined;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(new Error(this.#reason));
    return this.#controller.signal;
  }
  abort(reason: string): void {
    this.#reason = reason;
    this.#controller?.abort(new Error(reason));
  }
}

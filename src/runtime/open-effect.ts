/** A call that has no result yet: it runs, waits for a person or a timer, or is unknown after a crash. */
import { facts as toFacts } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { type Facts, isStarted, type OutcomeType, type ReturnedKind } from "../session/event.ts";
import { type Context, type Effect, type EffectCode, EffectResult } from "../session/host.ts";
import type { Scope } from "../session/id.ts";
import { current, type Node } from "../session/log.ts";
import { deadlineOf, pendingOf } from "../session/views.ts";
import { InnerContext, reasonOf } from "./effect-context.ts";
import type { Execution, Open } from "./execution.ts";
import { link } from "./link.ts";
import { type Given, inside } from "./services.ts";

export type Batch = { readonly index: number; readonly size: number };
type Data = Readonly<Record<string, unknown>>;

export class OpenEffect implements Open {
  waiting = false;
  queued = false;
  readonly effect: Effect;
  readonly #execution: Execution;
  readonly #called: Node;
  readonly #context: Context;
  readonly #batch: Batch | undefined;
  /** Those it must not run beside. */
  readonly #after: Promise<unknown> | undefined;
  readonly #failures: { readonly message: string }[] = [];
  #attempt = 1;
  /** The event under which it is pending: its call, or the newest mark that it was started after waiting. */
  #mark: Node;
  #inner: InnerContext | undefined;
  #closed = false;

  constructor(execution: Execution, called: Node, effect: Effect, context: Context, batch?: Batch, after?: Promise<unknown>) {
    this.#execution = execution;
    this.#called = called;
    this.#mark = execution.recorded?.startOf(called) ?? called;
    this.effect = effect;
    this.#context = context;
    this.#batch = batch;
    this.#after = after;
  }

  /** Where its call is now. */
  get called(): Node {
    return current(this.#called);
  }
  get mark(): Node {
    return current(this.#mark);
  }
  get scope(): Scope {
    return this.#context.scope;
  }

  abort(reason: string): void {
    this.#inner?.abort(reason);
  }

  /** Ends it because the run ends; the program never receives this. */
  close(outcome: OutcomeType, reason: string): void {
    this.abort(reason);
    if (this.#closed) return;
    this.#link(outcome === "unknown" ? {} : { reason }, toFacts({ outcome, closed: true, call: this.#named }));
    this.#closed = true;
  }

  result(): Promise<Node> {
    const { recorded, reuse } = this.#execution;
    const { run, before } = this.effect;
    if (recorded === undefined && reuse === undefined && run !== undefined && before === undefined && this.#after === undefined)
      return this.#live(run);
    return this.#again();
  }

  /** Under a driver, or waiting. */
  async #again(): Promise<Node> {
    const { recorded } = this.#execution;
    const { run, repeat } = this.effect;
    const known = recorded?.has(this.#called) === true;
    const unknown = known && run !== undefined && repeat === "once" && this.#started;
    if (unknown) recorded?.skipInside(this.#called);
    // What has recorded work inside is entered again before the gate opens: its inner effects protect themselves.
    const inside = known && recorded?.hasInside(this.#called) === true;
    if (inside) this.#attempt = recorded?.lastAttempt(this.#called) ?? 1;
    if (unknown || !inside) await this.#execution.gate();
    if (unknown) return this.#unresolved();
    const { reuse } = this.#execution;
    const source = reuse?.take(this.#called);
    if (source !== undefined) {
      const facts = toFacts({ outcome: source.outcome, attempts: 1, source: source.id, call: this.#named });
      const returned = await this.#return(source.data, facts, source.at);
      reuse?.reused(this.#called, returned, source.node);
      return returned;
    }
    if (run === undefined) return this.#waited();
    if (this.#started) return this.#live(run);
    const verdict = reuse?.asks(this.effect) === true ? "ask" : await this.effect.before?.();
    if (verdict === "ask") return this.#approval();
    if (verdict !== undefined) return this.#ended(verdict, undefined, {});
    return this.#inTurn(run);
  }

  async #inTurn(run: EffectCode, more: Data = {}): Promise<Node> {
    if (this.#after !== undefined) {
      this.queued = true;
      await this.#after;
      this.queued = false;
    }
    return this.#live(run, more);
  }

  /** Does it: `more` is stored beside what it came to. */
  async #live(run: EffectCode, more: Data = {}): Promise<Node> {
    const execution = this.#execution;
    if (!this.#started) this.#start();
    if (this.effect.repeat === "once" || this.effect.repeat === "keyed") {
      try {
        await execution.writer.flush();
      } catch (error) {
        // It has not begun, and will not: that is its result.
        return this.#settled("error", { message: `it did not begin, because its call could not be stored: ${failure(error).message}` });
      }
    }
    if (execution.closed) return this.#gone();
    const start = execution.runtime.platform.elapsed();
    for (;;) {
      this.#inner = new InnerContext(execution, this.called, this.#attempt, this.#context);
      try {
        const value = await this.#guarded(run, this.#inner);
        return await this.#ended(this.#resultOf(value), start, more);
      } catch (error) {
        if (error instanceof Interrupted) {
          if (this.effect.repeat === "once" && error.why === "timeout") return this.#unresolved();
          const outcome = this.effect.repeat === "once" ? "unknown" : error.why === "timeout" ? "error" : "cancelled";
          return this.#ended(new EffectResult(outcome, error.data), start, more);
        }
        if (await this.#tryAgain(error)) continue;
        const returned = await this.#ended(new EffectResult("error", this.#failed(error)), start, more);
        causes.set(returned, error);
        return returned;
      } finally {
        this.#inner?.done();
      }
    }
  }

  #failed(error: unknown): Data {
    if (this.effect.op !== "tool") return failure(error);
    return this.#failures.length === 0
      ? { ...failure(error), problem: "threw" }
      : { ...failure(error), problem: "threw", failures: this.#failures };
  }

  #resultOf(value: unknown): EffectResult {
    if (value instanceof EffectResult) return value;
    const { store } = this.effect;
    const data = store === undefined ? (value === undefined ? {} : { value }) : store(value);
    return new EffectResult("ok", this.#failures.length === 0 ? data : { ...data, failures: this.#failures });
  }

  #ended(result: EffectResult, start: number | undefined, more: Data): Node | Promise<never> {
    return this.#return({ ...result.data, ...more }, this.#spent(result, start));
  }

  /** Whether a failed effect that may be repeated gets another attempt, under a scope of its own. */
  async #tryAgain(error: unknown): Promise<boolean> {
    const { attempts = 1, repeat } = this.effect;
    if (this.#attempt >= attempts || repeat === "once" || this.#execution.closed || this.#context.signal?.aborted === true) return false;
    this.#failures.push({ message: failure(error).message });
    await new Promise((resolve) => setTimeout(resolve, Math.min(100 * 2 ** (this.#attempt - 1), 10_000)));
    this.#attempt++;
    return !this.#execution.closed;
  }

  /** Its code, until it takes too long or somebody stops it. */
  #guarded(run: EffectCode, inner: InnerContext): Promise<unknown> {
    const execution = this.#execution;
    const value = inside.run({ execution, scope: inner.scope }, async () => run(inner));
    const { timeoutMs, repeat, op } = this.effect;
    const { signal } = this.#context;
    // Nested work stops by itself: its own effects are under the same signal.
    const stoppable = signal !== undefined && repeat !== "nested";
    if (timeoutMs === undefined && !stoppable) return value;
    return new Promise((resolve, reject) => {
      const timers: NodeJS.Timeout[] = [];
      const interrupt = (why: Interrupted["why"], message: string): void => {
        inner.abort(message);
        reject(
          new Interrupted(why, why === "timeout" ? { message, ...(op === "tool" ? { problem: "timeout" } : {}) } : { reason: message }),
        );
      };
      const stop = (): void => {
        const reason = reasonOf(signal as AbortSignal);
        if (repeat === "safe") interrupt("cancelled", reason);
        else {
          inner.abort(reason);
          timers.push(setTimeout(() => interrupt("cancelled", reason), execution.runtime.times.closeMs));
        }
      };
      if (timeoutMs !== undefined) timers.push(setTimeout(() => interrupt("timeout", `timed out after ${timeoutMs} ms`), timeoutMs));
      if (stoppable) signal.addEventListener("abort", stop, { once: true });
      if (stoppable && signal.aborted) stop();
      value.then(resolve, reject).finally(() => {
        for (const timer of timers) clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
      });
    });
  }

  get #started(): boolean {
    return isStarted(this.#mark.kind) || this.#called.facts.started === true;
  }

  /** Marks that it begins now, after having waited; it is written before an effect that may not be repeated begins. */
  #start(): void {
    const { op } = this.effect;
    if (op !== "do" && op !== "tool") return;
    const { log } = this.called;
    this.#mark = link(this.#execution.runtime, {
      log,
      parents: [log.tip as Node],
      kind: `${op}.started`,
      data: {},
      by: "runtime",
      facts: toFacts({ call: this.#named }),
    });
    this.#execution.record(this.#mark);
  }

  #spent({ outcome, spent }: EffectResult, start: number | undefined): Facts {
    const ms = start === undefined ? undefined : Math.round((this.#execution.runtime.platform.elapsed() - start) * 1000) / 1000;
    const call = this.#named;
    const attempts = spent.attempts ?? this.#attempt;
    if (ms === undefined || spent.usage !== undefined) return toFacts({ attempts, call, ms, outcome, usage: spent.usage });
    return call === undefined ? { attempts, ms, outcome } : { attempts, call, ms, outcome };
  }

  /** Whoever waits outside a workflow is told that its Rath was closed; a frame of a run that ended goes no further. */
  #gone(): Promise<never> {
    const { runtime, mode } = this.#execution;
    return runtime.closed && mode !== "run" ? Promise.reject(closedRath()) : never();
  }

  /** When it stops waiting by itself. */
  get deadline(): string | undefined {
    return this.effect.run === undefined ? deadlineOf(this.called, this.#execution.runtime.platform) : undefined;
  }

  /** Waits for an answer or until its time. */
  async #waited(): Promise<Node> {
    const { op } = this.effect;
    const given = await this.#wait(this.deadline);
    if (given === "expired") return this.#settled(op === "wait" ? "ok" : "expired", {});
    const answer = given.id;
    try {
      return this.#settled("ok", { value: await this.effect.accept?.(given.data.answer), answer });
    } catch (error) {
      return this.#settled("error", { ...failure(error), answer });
    }
  }

  /** Nobody knows what became of it: the tool is asked, then a person. */
  async #unresolved(): Promise<Node> {
    const { probe } = this.effect;
    if (probe !== undefined) {
      this.#inner = new InnerContext(this.#execution, this.called, this.#attempt, this.#context);
      const found = await probe(this.called.id, this.#inner).catch(() => undefined);
      if (found?.happened === true) return this.#settled("ok", { value: found.output });
      if (found?.happened === false) return this.#startAgain({});
    }
    const given = await this.#decision();
    if (given === "expired") return this.#settled("expired", {});
    const { outcome } = given.data;
    if (outcome === "run-again") return this.#startAgain({ answer: given.id });
    const { type, ...data } = outcome as { readonly type: OutcomeType };
    return this.#settled(type, { ...data, answer: given.id });
  }

  /** A person says whether it may run, perhaps with another input. */
  async #approval(): Promise<Node> {
    if (this.#execution.reuse !== undefined)
      this.#execution.runtime.warn(
        `"${String(this.effect.called["name"])}" may not be repeated and found no equal result: decide on ${this.mark.id}, or rerun with effects: "live".`,
      );
    const given = await this.#decision();
    if (given === "expired") return this.#settled("expired", {});
    const answer = given.id;
    if (given.data.approve !== true) return this.#settled("denied", { reason: given.data.reason ?? "denied", answer });
    let run = this.effect.run as EffectCode;
    if ("input" in given.data) {
      try {
        if (this.effect.edited === undefined) throw new Error("it takes no other input");
        run = await this.effect.edited(given.data.input);
      } catch (error) {
        return this.#settled("error", { ...failure(error), answer, input: given.data.input });
      }
      return this.#inTurn(run, { answer, input: given.data.input });
    }
    return this.#inTurn(run, { answer });
  }

  #startAgain(more: Data): Promise<Node> {
    this.#start();
    return this.#live(this.effect.run as EffectCode, more);
  }

  #decision(): Promise<Given | "expired"> {
    return this.#wait(undefined);
  }

  async #wait(until: string | undefined): Promise<Given | "expired"> {
    await this.#execution.writer.flush();
    this.waiting = true;
    const { by } = this.#context;
    this.#execution.watched?.({
      type: "pending",
      pending: pendingOf(this.mark, this.#execution.runtime.platform),
      by,
      session: this.called.log.id,
    });
    this.#execution.delivery.schedule();
    const given = await this.#execution.runtime.answers.wait(this.mark.id, until, this.#execution);
    this.waiting = false;
    return given === "closed" ? this.#gone() : given;
  }

  #settled(outcome: OutcomeType, data: Data): Node | Promise<never> {
    return this.#return(data, toFacts({ outcome, attempts: this.#attempt, call: this.#named }));
  }

  #return(data: Data, facts: Facts, at?: string): Node | Promise<never> {
    return this.#execution.closed || this.#closed ? this.#gone() : this.#link(data, facts, at);
  }

  #link(data: Data, facts: Facts, at?: string): Node {
    const { log } = this.called;
    const kind: ReturnedKind = `${this.effect.op}.returned`;
    const inner = this.#inner?.head;
    const parents = inner === undefined ? [log.tip as Node] : [log.tip as Node, inner];
    const node = link(this.#execution.runtime, { log, parents, kind, data, by: this.#context.by, facts, at });
    this.#execution.record(node);
    return node;
  }

  /** Inside a batch a result names its call; elsewhere the call is the one before it. */
  get #named(): string | undefined {
    return this.#batch === undefined ? undefined : this.called.id;
  }
}

/** It took too long, or somebody stopped it. */
class Interrupted extends Error {
  readonly why: "timeout" | "cancelled";
  readonly data: Data;

  constructor(why: "timeout" | "cancelled", data: Data) {
    super(why);
    this.why = why;
    this.data = data;
  }
}

function failure(error: unknown): { readonly message: string; readonly name?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  return error.name === "Error" ? { message: error.message } : { message: error.message, name: error.name };
}

const causes = new WeakMap<Node, unknown>();

/** What was thrown, where it was thrown in this process: for people, not for programs, since a resumed one does not have it. */
export function causeOf(returned: Node): unknown {
  return causes.get(returned);
}

export function closedRath(): RathError {
  return new RathError("rath.closed", "This Rath was closed: open another one to continue the session.");
}

/** A frame of a run that ended here goes no further. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

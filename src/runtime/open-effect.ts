/** A call that has no result yet: it runs, waits for a person or a timer, or is unknown after a crash. */
import { withTrees } from "../session/acted.ts";
import { facts as toFacts } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { type Facts, isStarted, type OutcomeType, type ReturnedKind } from "../session/event.ts";
import { stateOf } from "../session/fold.ts";
import { type Context, type Effect, type EffectCode, EffectResult } from "../session/host.ts";
import type { Scope } from "../session/id.ts";
import { current, type Node } from "../session/log.ts";
import type { Probed } from "../session/session.ts";
import { isUnknown, textOfThrown } from "../session/thrown.ts";
import { isTrustedWork } from "../session/trust.ts";
import { deadlineOf, pendingOf } from "../session/views.ts";
import { bindFiles } from "./bind-files.ts";
import { gone, never } from "./closed.ts";
import { InnerContext, reasonOf } from "./effect-context.ts";
import type { Execution, Open } from "./execution.ts";
import { Interrupted, interruptible, timeLimitOf, unless } from "./interrupt.ts";
import { announced } from "./lease.ts";
import { link } from "./link.ts";
import { noMailbox } from "./mailbox.ts";
import { patiently } from "./patience.ts";
import { remind } from "./remind.ts";
import { reusedFacts } from "./reuse.ts";
import { type Given, inside } from "./services.ts";
import { spentFacts } from "./spent-facts.ts";
import { denied, failure, setCause } from "./thrown-effect.ts";
import { isAsked, saidOf, sayAsked, wasAsked } from "./waits.ts";

export type Batch = { readonly index: number; readonly size: number };
type Data = Readonly<Record<string, unknown>>;

export class OpenEffect implements Open {
  waiting = false;
  asking = false;
  queued = false;
  readonly effect: Effect;
  readonly #execution: Execution;
  readonly #called: Node;
  readonly #context: Context;
  readonly #batch: Batch | undefined;
  /** Those it must not run beside. */
  readonly #after: Promise<unknown> | undefined;
  readonly #failures: { readonly message: string }[] = [];
  /** What is done, and what is stored beside the result: a person may have changed it. */
  #code: EffectCode | undefined;
  #more: Data | undefined;
  #attempt = 1;
  /** How many scopes were entered for it: one for each attempt and each probe. */
  #entered = 0;
  /** Where earlier ones left their inner work, newest first: what they spent counts. */
  readonly #left: Node[] = [];
  /** The event under which it is pending: its call, or the newest mark that it was started after waiting. */
  #mark: Node;
  #inner: InnerContext | undefined;
  #closed = false; // it has its result, the only one

  constructor(execution: Execution, called: Node, effect: Effect, context: Context, batch?: Batch, after?: Promise<unknown>) {
    this.#execution = execution;
    this.#called = called;
    this.#mark = execution.recorded?.startOf(called) ?? called;
    this.effect = effect;
    this.#code = effect.run;
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

  get busy(): boolean {
    return this.#inner !== undefined && !this.waiting && this.effect.repeat !== "nested";
  }

  abort(reason: string): void {
    this.#inner?.abort(reason);
  }

  /** Ends it because the run ends; the program never receives this. */
  close(outcome: OutcomeType, reason: string): void {
    this.abort(reason);
    if (this.#closed) return;
    this.#link(outcome === "unknown" ? {} : { reason }, toFacts({ outcome, closed: true, call: this.#named }));
  }

  result(): Promise<Node> {
    const { recorded, reuse, draining } = this.#execution;
    if (draining) return never();
    const { run, before } = this.effect;
    if (recorded === undefined && reuse === undefined && run !== undefined && before === undefined && this.#after === undefined)
      return this.#live();
    return this.#again();
  }

  /** Under a driver, or waiting. */
  async #again(): Promise<Node> {
    const { recorded } = this.#execution;
    const { run, refused, edited } = this.effect;
    const known = recorded?.has(this.#called) === true;
    const unknown = known && run !== undefined && this.#started && this.#mayBeLost;
    if (unknown) {
      this.#countBefore();
      recorded?.skipInside(this.#called);
      this.#entered = recorded?.lastAttempt(this.#called) ?? 0;
    }
    // What has recorded work inside is entered again before the gate opens: its inner effects protect themselves.
    const inside = known && recorded?.hasInside(this.#called) === true;
    if (inside && !unknown) {
      this.#attempt = recorded?.lastAttempt(this.#called) ?? 1;
      this.#entered = this.#attempt - 1;
      this.#countBefore(this.#attempt);
    }
    if (unknown || !inside) await this.#execution.gate();
    const unfit = known ? await this.#approvedBefore() : undefined;
    if (unfit !== undefined) return unfit;
    if (unknown) return this.#unresolved();
    const { reuse } = this.#execution;
    // Those before it may leave other files than they did.
    if (reuse?.differs === true) await this.#turn();
    const source = reuse?.take(this.#called, this.effect);
    if (source !== undefined) {
      const returned = await this.#return(withTrees(source.node.kind, source.data) as Data, reusedFacts(source, this.#named), source.at);
      if (!source.changed) reuse?.reused(this.#called, returned, source.node);
      return returned;
    }
    if (run === undefined) return this.effect.op === "receive" ? this.#received() : this.#waited();
    if (this.#started) return this.#live();
    if (this.#doubted !== undefined) {
      this.#start(); // as it was, as far as anybody knows
      return this.#unresolved();
    }
    const verdict = refused ?? (await this.effect.before?.());
    if (verdict instanceof EffectResult) return this.#ended(verdict, undefined);
    if (verdict === "ask" || reuse?.asks(this.effect) === true) return this.#approval();
    // Whoever was asked is heard, also where the rules of today ask nobody. What comes to nothing by them is nobody's to approve.
    const asked = known && edited !== undefined && (await wasAsked(this.#execution, this));
    return asked ? this.#approval() : this.#inTurn();
  }

  /** One that may be repeated is lost, too, where it is refused by now, or where somebody was asked what became of it. */
  get #mayBeLost(): boolean {
    const { repeat, refused } = this.effect;
    return repeat === "once" || (repeat !== "safe" && (refused !== undefined || isAsked(this.#execution, this)));
  }

  /** What attempts that are not made again did and spent stays a part of it, and counts for the limits above. */
  #countBefore(attempt?: number): void {
    this.#left.push(...(this.#execution.recorded?.headsInside(this.#called, attempt) ?? []));
    for (const spent of this.#execution.recorded?.spentInside(this.#called, attempt) ?? [])
      for (const budget of this.#context.budgets ?? []) budget.count(spent);
  }

  async #inTurn(): Promise<Node> {
    await this.#turn();
    return this.#live();
  }

  async #turn(): Promise<void> {
    if (this.#after === undefined) return;
    this.queued = true;
    await this.#after;
    this.queued = false;
  }

  #live(): Promise<Node> {
    return this.#execution.runtime.telemetry?.effect(this.called, () => this.#now()) ?? this.#now();
  }

  async #now(): Promise<Node> {
    const execution = this.#execution;
    const { op, repeat, refused } = this.effect;
    const { signal } = this.#context;
    if (signal?.aborted === true && (op === "tool" || op === "do")) return this.#settled("cancelled", { reason: reasonOf(signal) });
    if (execution.draining) return never();
    if (refused !== undefined) return this.#ended(refused, undefined);
    if (!this.#started) this.#start();
    if (repeat === "once" || repeat === "keyed") {
      try {
        await announced(execution);
      } catch (error) {
        // It has not begun, and will not: that is its result.
        return this.#settled("error", { message: `it did not begin, because its call could not be stored: ${failure(error).message}` });
      }
    }
    // A run that is given back may be somebody else's by now.
    if (execution.closed || execution.writer.last) return gone(execution, this.effect);
    const start = execution.runtime.platform.elapsed();
    for (let inner = this.#enter(); ; ) {
      try {
        const value = await this.#guarded(this.#code as EffectCode, inner);
        if (repeat === "nested" && op === "tool") await inner.adoptFiles();
        inner.done();
        return await this.#finished(inner, this.#resultOf(value), start);
      } catch (error) {
        inner.done();
        if (inner.cutOff) return gone(execution, this.effect);
        const why = error instanceof Interrupted ? error.why : inner.causedBy(error) ? "cancelled" : "threw";
        if (repeat === "once" && (why === "timeout" || isUnknown(error))) {
          await inner.acting?.undo(); // it does not count and leaves nothing behind
          return this.#unresolved();
        }
        if (why === "cancelled")
          return this.#finished(inner, new EffectResult(repeat === "once" ? "unknown" : "cancelled", { reason: inner.aborted }), start);
        const next = await this.#tryAgain(error);
        if (next !== undefined) {
          await inner.acting?.undo(); // the next one begins with the files as they are on record
          inner = next;
          continue;
        }
        const returned = await this.#finished(inner, this.#failedWith(error, why), start);
        setCause(returned, error);
        return returned;
      }
    }
  }

  #enter(): InnerContext {
    const head = this.#inner?.head;
    if (head !== undefined) this.#left.unshift(head);
    const timed = timeLimitOf(this.effect, this.#context) !== undefined;
    this.#inner = new InnerContext(this.#execution, this.called, ++this.#entered, this.#context, timed);
    return this.#inner;
  }

  /** What it left behind where the session is placed is part of its result. */
  async #finished(inner: InnerContext, given: EffectResult, start: number | undefined): Promise<Node> {
    const { acting } = inner;
    if (acting === undefined) return this.#ended(given, start);
    const settled = await acting.settle().catch((error: unknown) => this.#unread(error));
    if (inner.cutOff) return gone(this.#execution, this.effect);
    if (settled === undefined || settled instanceof EffectResult) return this.#ended(settled ?? given, start);
    const result = settled.denied === undefined ? given : denied(settled.denied);
    const first = settled.files === "first" && stateOf(this.called.log.tip as Node).files === undefined;
    const files = settled.files === true || first || undefined;
    const facts = toFacts({ ...this.#spent(result, start), acted: true, files, processes: settled.processes || undefined });
    const returned = await this.#return({ ...result.data, acted: settled.acted }, facts);
    this.#execution.runtime.goWith(returned, settled.objects);
    acting.release();
    return returned;
  }

  #unread(error: unknown): EffectResult {
    const message = `what it left in the workspace could not be read: ${textOfThrown(error)}`;
    return new EffectResult("error", { ...this.#failed(error, "threw"), message });
  }

  /** Nobody else is kept from the files of the branch any more. */
  release(): void {
    this.#inner?.acting?.release();
  }

  #failedWith(error: unknown, why: "timeout" | "threw"): EffectResult {
    if (RathError.is(error, "sandbox.denied")) return denied(error.message);
    return new EffectResult("error", this.#failed(error, why));
  }

  #failed(error: unknown, problem: "timeout" | "threw"): Data {
    return this.effect.op === "tool" ? this.#withFailures({ ...failure(error), problem }) : failure(error);
  }

  #resultOf(value: unknown): EffectResult {
    if (value instanceof EffectResult) return new EffectResult(value.outcome, this.#withFailures(value.data), value.spent);
    const { store } = this.effect;
    return new EffectResult("ok", this.#withFailures(store === undefined ? (value === undefined ? {} : { value }) : store(value)));
  }

  #withFailures(data: Data): Data {
    return this.#failures.length === 0 ? data : { ...data, failures: this.#failures };
  }

  #ended(result: EffectResult, start: number | undefined): Node | Promise<never> {
    return this.#return(result.data, this.#spent(result, start));
  }

  /** The next attempt of a failed effect that may be repeated, when it gets one. */
  async #tryAgain(error: unknown): Promise<InnerContext | undefined> {
    const { attempts = 1, repeat } = this.effect;
    if (this.#attempt >= attempts || repeat === "once") return undefined;
    const next = this.#enter();
    if (!(await next.pause(Math.min(100 * 2 ** (this.#attempt - 1), 10_000))) || this.#execution.closed) return undefined;
    this.#failures.push({ message: failure(error).message });
    this.#attempt++;
    return next;
  }

  /** Its code, until it takes too long or somebody stops it. */
  #guarded(run: EffectCode, inner: InnerContext): Promise<unknown> {
    const execution = this.#execution;
    const value = inside.run({ execution, scope: inner.scope }, () => execution.beside.during(inner.scope, async () => run(inner)));
    const { repeat, op } = this.effect;
    const timeoutMs = timeLimitOf(this.effect, this.#context);
    // Nested work stops by itself, since its own effects are under the same signal; so does a model, which records how far it came.
    const stop = repeat !== "nested" && op !== "model" ? this.#context.signal : undefined;
    if (timeoutMs === undefined && stop === undefined) return value;
    const graceMs = repeat === "safe" ? 0 : execution.runtime.times.closeMs;
    return interruptible(value, inner, { timeoutMs, signal: stop, graceMs, ending: () => execution.ending });
  }

  get #started(): boolean {
    return isStarted(this.#mark.kind) || this.#called.facts.started === true;
  }

  /** Marks that it begins now, after having waited; it is written before an effect that may not be repeated begins. */
  #start(): void {
    const { op } = this.effect;
    // Whoever watches an agent sees what is done by it; in golden sessions a `do` is marked by the runtime.
    const by = op === "tool" ? this.#context.by : "runtime";
    if (op === "do" || op === "tool") this.#mark = this.#execution.markStarted(this.called, `${op}.started`, by, this.#named);
  }

  #spent(result: EffectResult, start: number | undefined): Facts {
    const ms = start === undefined ? undefined : Math.round((this.#execution.runtime.platform.elapsed() - start) * 1000) / 1000;
    return spentFacts(result, { ms, call: this.#named, attempts: this.#attempt, trusted: this.#trusted });
  }

  /** It brings no text from outside: what it did inside read none. */
  get #trusted(): true | undefined {
    if (this.effect.trustsInner !== true) return undefined;
    const inner = this.#inner?.head;
    return inner === undefined || isTrustedWork(inner, this.#execution.runtime.platform) ? true : undefined;
  }

  /** When it stops waiting by itself: a timer, a question, an approval; never what is unknown. */
  get deadline(): string | undefined {
    return this.#started ? undefined : deadlineOf(this.called, this.#execution.runtime.platform);
  }

  /** Waits for an answer or until its time. */
  async #waited(): Promise<Node> {
    const given = await this.#answer(this.deadline);
    if (given === "expired" && this.effect.op === "wait") return this.#settled("ok", {});
    if (typeof given === "string") return this.#unanswered(given);
    return this.#accepted(given.data.answer, { answer: given.id });
  }

  /** Waits for a signal or until its time. */
  async #received(): Promise<Node> {
    const execution = this.#execution;
    // A rerun that finds no equal result is no run that anybody can send to.
    if (execution.mode !== "run") return this.#settled("error", failure(noMailbox()));
    const { mailbox } = execution.runtime;
    const given = await this.#wait((looked) => mailbox.receive(execution, this.called, this.deadline, this.#context.signal, looked));
    return typeof given === "string" ? this.#unanswered(given) : this.#accepted(given.data, { signal: given.id });
  }

  /** What came from outside is the result if it fits. */
  async #accepted(given: unknown, from: Data): Promise<Node> {
    try {
      const value = await this.effect.accept?.(given);
      return this.#settled("ok", value === undefined ? from : { value, ...from });
    } catch (error) {
      return this.#settled("error", { ...failure(error), ...from });
    }
  }

  /** Nobody knows what became of it: the tool is asked, then a person. */
  async #unresolved(): Promise<Node> {
    const { probe } = this.effect;
    // What a person said stands, whatever the tool has found out since.
    if (probe !== undefined && (await this.#execution.runtime.answers.find(this.mark.id)) === undefined) {
      const inner = this.#enter();
      // Once it was begun itself, what became of the one it stands for says nothing of it.
      const begun = this.#attempt > 1 || (this.#execution.recorded?.startsOf(this.#called) ?? 0) > 1;
      const ask = async (): Promise<Probed | undefined> => probe(((begun ? undefined : this.#doubted) ?? this.called).id, inner);
      const found = await inside.run({ execution: this.#execution, scope: inner.scope }, ask).catch(() => undefined);
      inner.done();
      if (found?.happened === true) return this.#settled("ok", this.#told(found.output));
      if (found?.happened === false) return this.#startAgain();
    }
    const given = await this.#answer(undefined);
    if (typeof given === "string") return this.#unanswered(given, "unknown");
    const { outcome } = given.data;
    this.#more = { ...this.#more, answer: given.id };
    if (outcome === "run-again") return this.#startAgain();
    const { type, ...data } = outcome as { readonly type: OutcomeType; readonly value?: unknown };
    return this.#settled(type, type === "ok" ? this.#told(data.value) : data);
  }

  /** An equal call that the run made with other code, and of which nobody knows what became. */
  get #doubted(): Node | undefined {
    return this.#execution.reuse?.doubtOf(this.#called, this.effect);
  }

  /** What somebody else says that it gave is stored as if it had said so itself. */
  #told(value: unknown): Data {
    return this.effect.store?.(value) ?? { value };
  }

  /** A person says whether it may run, perhaps with another input. */
  async #approval(): Promise<Node> {
    if (this.#execution.reuse !== undefined)
      this.#execution.runtime.warn(
        `"${String(this.effect.called["name"])}" may not be repeated and found no equal result: to let it happen, rerun with effects: "live" (openrath rerun --live), or decide here, in the program, on ${this.mark.id}.`,
      );
    if (this.effect.op === "tool") await bindFiles(this.#execution, this.called);
    const given = await this.#answer(this.deadline);
    if (typeof given === "string") return this.#unanswered(given);
    this.#more = { answer: given.id };
    if (given.data.approve !== true) return this.#settled("denied", { reason: given.data.reason ?? "denied" });
    return (await this.#approved(given)) ?? this.#inTurn();
  }

  /** What was started after a person approved it goes on with what was approved, not with what was asked. */
  async #approvedBefore(): Promise<Node | undefined> {
    if (!isStarted(this.#mark.kind) || this.#doubted !== undefined || this.effect.edited === undefined) return undefined;
    const given = await saidOf(this.#execution, this.called);
    // Where nobody had to approve it, this may be what somebody said of an earlier attempt.
    return given?.data.approve === true ? this.#approved(given) : undefined;
  }

  /** Takes over what a person approved; the result is that it does not fit, if it does not. */
  async #approved(given: Given): Promise<Node | undefined> {
    const { input } = given.data;
    this.#more = "input" in given.data ? { answer: given.id, input } : { answer: given.id };
    if (!("input" in given.data)) return undefined;
    try {
      if (this.effect.edited === undefined) throw new Error("it takes no other input");
      this.#code = await this.effect.edited(input);
      return undefined;
    } catch (error) {
      return this.#settled("error", failure(error));
    }
  }

  #startAgain(): Promise<Node> {
    if (this.effect.refused !== undefined) return this.#live();
    this.#attempt++;
    this.#start();
    return this.#live();
  }

  /** The answer, or that its time is over: exactly one of them wins. */
  async #answer(until: string | undefined): Promise<Given | "expired" | "stopped"> {
    const execution = this.#execution;
    const { answers } = execution.runtime;
    this.asking = true;
    if (this.effect.run !== undefined) await sayAsked(execution, this);
    const given = await this.#wait((looked) => unless(this.#context.signal, answers.wait(this.mark.id, until, execution, looked)));
    if (given === "expired" && this.effect.op !== "wait") return patiently(execution, () => answers.expire(this.mark.id));
    return typeof given === "object" && given.data.expired === true ? "expired" : given;
  }

  /** It waits once it is known that nothing has come before: a run that was parked sooner would never be woken for that. */
  async #wait<T>(coming: (looked: () => void) => Promise<T | "closed">): Promise<T> {
    await patiently(this.#execution, () => this.#execution.writer.flush());
    const { runtime, watched, mode } = this.#execution;
    const pending = pendingOf(this.mark, runtime.platform);
    watched?.({ type: "pending", pending, by: this.#context.by, session: this.called.log.id });
    const answered =
      watched === undefined && mode !== "run" ? remind(pending, runtime.times.remindMs, (message) => runtime.warn(message)) : undefined;
    const given = await coming(() => {
      this.waiting = true;
      this.#execution.delivery.schedule();
    });
    answered?.();
    this.waiting = false;
    return given === "closed" ? gone(this.#execution, this.effect) : given;
  }

  /** Its time came, or somebody stopped the work that waits for it. */
  #unanswered(why: "expired" | "stopped", stopped: OutcomeType = "cancelled"): Node | Promise<never> {
    return why === "expired"
      ? this.#settled("expired", {})
      : this.#settled(stopped, { reason: reasonOf(this.#context.signal as AbortSignal) });
  }

  #settled(outcome: OutcomeType, data: Data): Node | Promise<never> {
    return this.#return(data, toFacts({ outcome, attempts: this.#attempt, call: this.#named }));
  }

  #return(data: Data, facts: Facts, at?: string): Node | Promise<never> {
    if (this.#execution.closed || this.#closed) return gone(this.#execution, this.effect);
    return this.#link(this.#more === undefined ? data : { ...data, ...this.#more }, facts, at);
  }

  #link(data: Data, facts: Facts, at?: string): Node {
    const { log } = this.called;
    const kind: ReturnedKind = `${this.effect.op}.returned`;
    const inner = this.#inner?.head;
    const parents = [log.tip as Node, ...(inner === undefined ? [] : [inner]), ...this.#left.map(current)];
    const node = link(this.#execution.runtime, { log, parents, kind, data, by: this.#context.by, facts, at });
    this.#closed = true;
    this.#execution.record(node);
    return node;
  }

  /** Inside a batch a result names its call; elsewhere the call is the one before it. */
  get #named(): string | undefined {
    return this.#batch === undefined ? undefined : this.called.id;
  }
}

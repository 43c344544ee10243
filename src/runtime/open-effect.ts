/** A call that has no result yet: it runs, waits for a person or a timer, or is unknown after a crash. */
import { facts as toFacts } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { Facts, OutcomeType, ReturnedKind } from "../session/event.ts";
import type { Context, Effect } from "../session/host.ts";
import type { Scope } from "../session/id.ts";
import { current, type Node } from "../session/log.ts";
import type { EffectContext } from "../session/session.ts";
import { deadlineOf } from "../session/views.ts";
import { InnerContext } from "./effect-context.ts";
import type { Execution, Open } from "./execution.ts";
import { link } from "./link.ts";
import { type Given, inside } from "./services.ts";

export type Batch = { readonly index: number; readonly size: number };
type Run = (context: EffectContext) => unknown;
type Data = Readonly<Record<string, unknown>>;

export class OpenEffect implements Open {
  waiting = false;
  readonly effect: Effect;
  readonly #execution: Execution;
  readonly #called: Node;
  readonly #context: Context;
  readonly #batch: Batch | undefined;
  readonly #attempt = 1;
  /** The event under which it is pending: its call, or the newest mark that it was started after waiting. */
  #mark: Node;
  #inner: InnerContext | undefined;
  #closed = false;

  constructor(execution: Execution, called: Node, effect: Effect, context: Context, batch: Batch | undefined) {
    this.#execution = execution;
    this.#called = called;
    this.#mark = execution.recorded?.startOf(called) ?? called;
    this.effect = effect;
    this.#context = context;
    this.#batch = batch;
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
    const { run } = this.effect;
    if (recorded === undefined && reuse === undefined && run !== undefined) return this.#live(run);
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
    if (unknown || !(known && recorded?.hasInside(this.#called))) await this.#execution.gate();
    if (unknown) return this.#decided("unknown");
    const { reuse } = this.#execution;
    const source = reuse?.take(this.#called);
    if (source !== undefined) {
      const facts = toFacts({ outcome: source.outcome, attempts: 1, source: source.id, call: this.#named });
      const returned = await this.#return(source.data, facts, source.at);
      reuse?.reused(this.#called, returned, source.node);
      return returned;
    }
    if (run === undefined) return this.#waited();
    if (reuse?.asks(this.effect) && !this.#started) return this.#decided("approval");
    return this.#live(run);
  }

  async #live(run: Run, answer?: string): Promise<Node> {
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
    this.#inner = new InnerContext(execution, this.called, this.#attempt, this.#context);
    const start = execution.runtime.platform.elapsed();
    try {
      const value = await inside.run({ execution, scope: this.#inner.scope }, run, this.#inner);
      const data = this.effect.store === undefined ? (value === undefined ? {} : { value }) : this.effect.store(value);
      return this.#return(answer === undefined ? data : { ...data, answer }, this.#spent("ok", start));
    } catch (error) {
      const returned = await this.#return(
        answer === undefined ? failure(error) : { ...failure(error), answer },
        this.#spent("error", start),
      );
      causes.set(returned, error);
      return returned;
    }
  }

  get #started(): boolean {
    return this.#mark.kind === "do.started" || this.#called.facts.started === true;
  }

  /** Marks that it begins now, after having waited; it is written before an effect that may not be repeated begins. */
  #start(): void {
    if (this.effect.op !== "do") return;
    const { log } = this.called;
    this.#mark = link(this.#execution.runtime, {
      log,
      parents: [log.tip as Node],
      kind: "do.started",
      data: {},
      by: "runtime",
      facts: toFacts({ call: this.#named }),
    });
    this.#execution.record(this.#mark);
  }

  #spent(outcome: OutcomeType, start: number): Facts {
    const ms = Math.round((this.#execution.runtime.platform.elapsed() - start) * 1000) / 1000;
    const call = this.#named;
    return call === undefined ? { attempts: this.#attempt, ms, outcome } : { attempts: this.#attempt, call, ms, outcome };
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

  /** A person says what became of it, or whether it may run. */
  async #decided(what: "unknown" | "approval"): Promise<Node> {
    if (what === "approval")
      this.#execution.runtime.warn(
        `"${String(this.effect.called["name"])}" may not be repeated and found no equal result: decide on ${this.mark.id}, or rerun with effects: "live".`,
      );
    const given = await this.#wait(undefined);
    if (given === "expired") return this.#settled("expired", {});
    const { approve, outcome, reason } = given.data;
    const answer = given.id;
    if (what === "approval" && approve === false) return this.#settled("denied", { reason: reason ?? "denied", answer });
    if (approve === true || outcome === "run-again") {
      this.#start();
      return this.#live(this.effect.run as Run, answer);
    }
    const { type, ...data } = outcome as { readonly type: OutcomeType };
    return this.#settled(type, { ...data, answer });
  }

  async #wait(until: string | undefined): Promise<Given | "expired"> {
    await this.#execution.writer.flush();
    this.waiting = true;
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

/** What the code of an effect is given. The child session and the signal are made when somebody looks: most effects use neither. */
import { setMaxListeners } from "node:events";
import { recordedTree } from "../session/acted.ts";
import { stateOf } from "../session/fold.ts";
import type { Context, InnerEffectContext, WatchedPart } from "../session/host.ts";
import { current, type Node } from "../session/log.ts";
import type { Sandbox, Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import { Acting } from "./acting.ts";
import type { Execution } from "./execution.ts";

export class InnerContext implements InnerEffectContext {
  readonly scope: { readonly call: string; readonly attempt: number };
  readonly #execution: Execution;
  readonly #called: Node;
  readonly #context: Context;
  readonly #timed: boolean;
  /** Bound, since tools take it out of the context. */
  readonly progress = (update: string | { readonly done: number; readonly of: number }): void =>
    this.emit({
      type: "tool-progress",
      call: this.#called.id,
      update: typeof update === "string" ? this.#context.host.clean(update) : update,
    });
  /** What it does where the session is placed. */
  acting: Acting | undefined;
  #session: Session | undefined;
  #child: Node | undefined;
  #end: Node | undefined;
  #controller: AbortController | undefined;
  /** Why it is to stop: the one error that everybody who listens gets. */
  #aborted: Error | undefined;
  #unlisten: (() => void) | undefined;
  #stops: Set<(reason: Error) => void> | undefined;

  /** With `timed`, it may be stopped while the work around it goes on: then its own work stops with it. */
  constructor(execution: Execution, called: Node, attempt: number, context: Context, timed = false) {
    this.#execution = execution;
    this.#called = called;
    this.#context = context;
    this.#timed = timed;
    this.scope = { call: called.id, attempt };
  }

  get session(): Session {
    if (this.#session === undefined) {
      this.#child = this.#execution.child(this.#called, this.scope.attempt, this.#context.by);
      if (this.#execution.mode !== "effects") this.#execution.own(this.#child.log);
      const signal = this.#timed ? this.signal : this.#context.signal;
      this.#session = new SessionValue(this.#child, { ...this.#context, scope: this.scope, signal });
    }
    return this.#session;
  }
  get sandbox(): Sandbox {
    this.acting ??= this.#act();
    return this.acting;
  }
  #act(): Acting {
    return new Acting(this.#execution.runtime.stage(this.#execution, this.#called, this.signal, this.progress));
  }
  /** Its sandbox is closed under it: what it comes to there is no result. Who takes it up finds it as after a crash. */
  get cutOff(): boolean {
    return this.acting !== undefined && this.#execution.leaving !== undefined;
  }
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      this.onAbort((reason) => controller.abort(reason));
    }
    return this.#controller.signal;
  }
  get aborted(): string | undefined {
    const outer = this.#context.signal;
    return this.#aborted?.message ?? (outer?.aborted === true ? reasonOf(outer) : undefined);
  }
  onAbort(stop: (reason: Error) => void): () => void {
    const { aborted } = this;
    if (aborted !== undefined) stop(this.#stopWith(aborted));
    else {
      this.#stops ??= new Set();
      this.#stops.add(stop);
      this.#follow(this.#context.signal);
    }
    return () => this.#stops?.delete(stop);
  }
  /** Who stops the work around it stops it too. */
  #follow(outer: AbortSignal | undefined): void {
    if (outer === undefined || this.#unlisten !== undefined) return;
    this.#unlisten = whenStopped(outer, () => this.abort(reasonOf(outer)));
  }
  get key(): string {
    return current(this.#called).id;
  }
  get branch(): string {
    return current(this.#called).log.id;
  }
  get deps(): object {
    return this.#execution.runtime.deps;
  }

  /** The head of the inner work, when there is any. */
  get head(): Node | undefined {
    if (this.#end !== undefined) return this.#end;
    const log = this.#child?.log;
    return log === undefined || log.tip === log.first ? undefined : log.tip;
  }

  /** An agent or workflow that is used as a tool gives back its files with its result. */
  async adoptFiles(): Promise<void> {
    const { head } = this;
    const { platform } = this.#execution.runtime;
    const theirs = head === undefined ? undefined : recordedTree(stateOf(head), platform);
    const before = stateOf(this.#called);
    if (theirs === undefined || theirs === recordedTree(before, platform)) return;
    const base = this.#execution.runtime.treeAt(before, head as Node);
    this.acting ??= this.#act();
    await this.acting.adopt(base, theirs);
  }

  /** The result stands on this session, where nested work ended elsewhere than on its own branch. */
  standsOn(session: Session): void {
    this.#end = placeOf(session).node;
  }
  emit(part: WatchedPart): void {
    this.#execution.watched?.({ ...part, by: this.#context.by, session: this.#called.log.id }, this.#called.id);
  }

  abort(reason: string): void {
    if (this.#aborted !== undefined) return;
    const error = this.#stopWith(reason);
    for (const stop of [...(this.#stops ?? [])]) stop(error);
    this.#stops = undefined;
  }
  #stopWith(reason: string): Error {
    this.#aborted ??= new Error(reason);
    return this.#aborted;
  }

  /** Whether code that was told to stop threw this for no other reason. */
  causedBy(thrown: unknown): boolean {
    if (this.#aborted === undefined) return false;
    return thrown === this.#aborted || (thrown instanceof Error && thrown.name === "AbortError");
  }

  /** Waits, and says whether it was left in peace. */
  pause(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        unlisten();
        resolve(true);
      }, ms);
      const unlisten = this.onAbort(() => {
        clearTimeout(timer);
        resolve(false);
      });
    });
  }

  /** It has ended: nobody is listened to any more. */
  done(): void {
    this.#unlisten?.();
  }
}

/** Calls when a signal is aborted; gives back what ends that. Any number of effects may be under one signal: no leak to warn of. */
export function whenStopped(signal: AbortSignal, stop: () => void): () => void {
  setMaxListeners(0, signal);
  signal.addEventListener("abort", stop, { once: true });
  return () => signal.removeEventListener("abort", stop);
}

/** Why a signal was aborted, in words. */
export function reasonOf(signal: AbortSignal): string {
  const { reason } = signal;
  return textOfThrown(reason ?? "aborted");
}

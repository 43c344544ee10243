/** What the code of an effect is given. The child session and the signal are made when somebody looks: most effects use neither. */
import { RathError } from "../session/errors.ts";
import type { Context } from "../session/host.ts";
import type { Node } from "../session/log.ts";
import type { EffectContext, Sandbox, Session } from "../session/session.ts";
import { SessionValue } from "../session/value.ts";
import type { Execution } from "./execution.ts";

export class InnerContext implements EffectContext {
  readonly scope: { readonly call: string; readonly attempt: number };
  readonly #execution: Execution;
  readonly #called: Node;
  readonly #context: Context;
  #session: Session | undefined;
  #child: Node | undefined;
  #controller: AbortController | undefined;
  #aborted: string | undefined;

  constructor(execution: Execution, called: Node, attempt: number, context: Context) {
    this.#execution = execution;
    this.#called = called;
    this.#context = context;
    this.scope = { call: called.id, attempt };
  }

  get session(): Session {
    if (this.#session === undefined) {
      this.#child = this.#execution.child(this.#called, this.scope.attempt, this.#context.by);
      if (this.#execution.mode !== "effects") this.#execution.own(this.#child.log);
      this.#session = new SessionValue(this.#child, { ...this.#context, scope: this.scope });
    }
    return this.#session;
  }
  get sandbox(): Sandbox {
    throw new RathError("session.not-here", "Effects have no sandbox yet: this version of openrath places sessions but opens no sandbox.");
  }
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted !== undefined) this.#controller.abort(new Error(this.#aborted));
    return this.#controller.signal;
  }
  get key(): string {
    return this.#called.id;
  }
  get deps(): object {
    return this.#execution.runtime.deps;
  }

  /** The head of the inner work, when there is any. */
  get head(): Node | undefined {
    const log = this.#child?.log;
    return log === undefined || log.tip === log.first ? undefined : log.tip;
  }

  abort(reason: string): void {
    this.#aborted = reason;
    this.#controller?.abort(new Error(reason));
  }
}

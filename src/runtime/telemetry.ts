/** Where work is watched while it is done: spans around runs, workflows, effects and calls. Nothing depends on it, nothing is stored by it. */
/** A run as it is taken up here. */
export interface RunSpan {
  readonly run: string;
  readonly workflow: string;
  readonly session: string;
  /** The trace it was started in (a W3C traceparent), perhaps by another process. */
  readonly trace: string | undefined;
}

/** A call to the server. */
export interface CallSpan {
  readonly method: string;
  /** As declared, so that there are few. */
  readonly route: string;
  readonly headers: Headers;
}

/** Whatever is done inside `work` is under its span, which is the active one meanwhile. */
export interface Telemetry {
  run<T>(about: RunSpan, work: () => Promise<T>): Promise<T>;
  /** `entered` is the event of its beginning. */
  workflow<T>(entered: object, work: () => Promise<T>): Promise<T>;
  /** `called` is the event of the call; `work` gives that of the result. */
  effect<E extends object>(called: E, work: () => Promise<E>): Promise<E>;
  call<A extends { readonly status: number }>(about: CallSpan, work: () => Promise<A>): Promise<A>;
  /** The trace that is active now, as a W3C traceparent. */
  trace(): string | undefined;
}

/** The base error of the package and the codes it can carry. Every error says what happened, to which id, and what to do. */

import type { Session } from "./session.ts";

const brand = Symbol.for("openrath.error");

/** `module.reason`. A closed list: people switch on these. */
export type ErrorCode =
  | "session.no-output"
  | "session.not-found"
  | "session.ambiguous-id"
  | "session.outer-scope"
  | "session.in-run"
  | "session.implicit-fork"
  | "session.not-here"
  | "value.unsupported"
  | "value.too-large"
  | "event.unknown-kind"
  | "event.newer-version"
  | "event.invalid"
  | "event.erased"
  | "erase.refused"
  | "erase.unsupported"
  | "effect.failed"
  | "effect.denied"
  | "effect.cancelled"
  | "effect.expired"
  | "effect.unknown"
  | "merge.conflict"
  | "merge.refused"
  | "run.not-found"
  | "run.key-reused"
  | "run.busy"
  | "run.fenced"
  | "run.failed"
  | "run.cancelled"
  | "run.ended"
  | "run.deadline"
  | "run.poisoned"
  | "run.invalid-input"
  | "run.diverged"
  | "run.unknown-workflow"
  | "run.not-recorded"
  | "workflow.invalid"
  | "agent.invalid"
  | "agent.hook-failed"
  | "tool.invalid"
  | "route.invalid"
  | "model.failed"
  | "model.unknown"
  | "model.unavailable"
  | "pending.not-found"
  | "pending.answered"
  | "pending.invalid-answer"
  | "bundle.invalid"
  | "export.failed"
  | "store.corrupt"
  | "store.newer-format"
  | "store.older-format"
  | "store.closed"
  | "store.unavailable"
  | "store.conflict"
  | "sandbox.unknown"
  | "sandbox.unavailable"
  | "sandbox.failed"
  | "sandbox.outside"
  | "sandbox.denied"
  | "workspace.not-found"
  | "workspace.missing"
  | "workspace.invalid"
  | "workspace.unreadable"
  | "workspace.too-large"
  | "workspace.changed"
  | "memory.not-found"
  | "memory.ambiguous"
  | "memory.changed"
  | "mcp.unavailable"
  | "mcp.failed"
  | "request.invalid"
  | "request.not-found"
  | "request.not-allowed"
  | "request.timeout"
  | "request.too-large"
  | "request.limited"
  | "access.unauthenticated"
  | "access.forbidden"
  | "access.not-found"
  | "access.conflict"
  | "stream.slow"
  | "stream.gone"
  | "server.busy"
  | "server.failed"
  | "server.unreachable"
  | "rath.closed";

/** What an error holds beside its message. */
export interface ErrorDetails {
  readonly cause?: unknown;
  readonly retryable?: boolean | undefined;
  /** The value after the failure, so that a `catch` can go on without losing what was spent. */
  readonly session?: Session | undefined;
  /** What the reason is about: ids, fields, both sides of a difference. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Every error this package throws on purpose.
 *
 * @example
 * try { session = await session.do("pay", pay) }
 * catch (error) {
 *   if (!RathError.is(error, "effect.failed") || error.session === undefined) throw error;
 *   session = await error.session.do("tell", tell); // goes on after the failure, its cost included
 * }
 */
export class RathError extends Error {
  /** The reason, `module.reason`: switch on it, not on the message. */
  readonly code: ErrorCode;
  /** Whether the same call may go well later. */
  readonly retryable: boolean;
  /** What the reason is about: ids, fields, both sides of a difference. */
  readonly details: Readonly<Record<string, unknown>>;
  /** The value after the failure, where there is one: a `catch` can go on with it. */
  declare readonly session: Session | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "RathError";
    this.code = code;
    this.retryable = details.retryable ?? false;
    this.details = details.details ?? {};
    Object.defineProperty(this, "session", { value: details.session, enumerable: false });
    Object.defineProperty(this, brand, { value: true, enumerable: false });
  }

  /** True for errors of any copy of this package; with a code, for that reason alone. */
  static is(error: unknown, code?: ErrorCode): error is RathError {
    return (
      typeof error === "object" && error !== null && brand in error && (code === undefined || (error as unknown as RathError).code === code)
    );
  }
}

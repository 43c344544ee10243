/** Exit codes, as scripts see them. One table for every error of the package: a new code does not compile until it has its place here. */
import { type ErrorCode, RathError } from "../session/errors.ts";
import { type Exit, exits, Fault } from "./fault.ts";

const exitOf = {
  "session.no-output": exits.error,
  "session.not-found": exits.notFound,
  "session.ambiguous-id": exits.usage,
  "session.outer-scope": exits.error,
  "session.in-run": exits.error,
  "session.implicit-fork": exits.error,
  "session.not-here": exits.error,
  "value.unsupported": exits.invalid,
  "value.too-large": exits.invalid,
  "event.unknown-kind": exits.invalid,
  "event.newer-version": exits.invalid,
  "event.invalid": exits.invalid,
  "event.erased": exits.error,
  "effect.failed": exits.error,
  "effect.denied": exits.notAllowed,
  "effect.cancelled": exits.interrupted,
  "effect.expired": exits.timeout,
  "effect.unknown": exits.waiting,
  "merge.conflict": exits.differs,
  "merge.refused": exits.differs,
  "run.not-found": exits.notFound,
  "run.key-reused": exits.differs,
  "run.busy": exits.error,
  "run.fenced": exits.error,
  "run.failed": exits.error,
  "run.cancelled": exits.interrupted,
  "run.diverged": exits.differs,
  "run.unknown-workflow": exits.notFound,
  "run.not-recorded": exits.notFound,
  "workflow.invalid": exits.invalid,
  "agent.invalid": exits.invalid,
  "agent.hook-failed": exits.error,
  "tool.invalid": exits.invalid,
  "route.invalid": exits.invalid,
  "model.failed": exits.error,
  "model.unknown": exits.notFound,
  "model.unavailable": exits.error,
  "mcp.unavailable": exits.error,
  "mcp.failed": exits.error,
  "pending.not-found": exits.notFound,
  "pending.answered": exits.differs,
  "pending.invalid-answer": exits.invalid,
  "bundle.invalid": exits.invalid,
  "store.corrupt": exits.differs,
  "store.newer-format": exits.invalid,
  "store.closed": exits.error,
  "store.unavailable": exits.error,
  "store.conflict": exits.differs,
  "rath.closed": exits.error,
} satisfies Record<ErrorCode, Exit>;

export function exitCodeOf(error: unknown): Exit {
  if (error instanceof Fault) return error.exit;
  // The error may come from another copy of the package, with codes of its own.
  return RathError.is(error) ? (exitOf[error.code] ?? exits.error) : exits.error;
}

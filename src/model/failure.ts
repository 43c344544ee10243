/** How a model fails: one code, and what whoever tries again must know. */
import { RathError } from "../session/errors.ts";

/** What is known of a failure beside its message. */
export interface ModelFailure {
  /** Whether another attempt makes sense. */
  readonly retryable: boolean;
  /** The HTTP status, where there was an answer. */
  readonly status?: number | undefined;
  /** How long the provider wants to be left alone. */
  readonly retryAfterMs?: number | undefined;
  /** The request is longer than the model can read. */
  readonly overflow?: boolean | undefined;
  readonly cause?: unknown;
}

/** The error a model's stream throws: code `model.failed`; `details` has `status`, `retryAfterMs` and `overflow` where they are known. */
export function modelFailed(message: string, failure: ModelFailure): RathError {
  const { retryable, status, retryAfterMs, overflow, cause } = failure;
  return new RathError("model.failed", message, {
    retryable,
    cause,
    details: {
      ...(status === undefined ? {} : { status }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(overflow === true ? { overflow } : {}),
    },
  });
}

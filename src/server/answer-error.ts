/** Errors as calls are answered with them: always `{ error: { code, message, details, retryable } }`, and nothing of the inside. */
import { type ErrorCode, RathError } from "../session/errors.ts";
import type { ErrorBody } from "../wire/api/error-body.ts";
import { statusOf } from "./status.ts";

export interface Answered {
  readonly status: number;
  readonly code: ErrorCode;
  readonly body: ErrorBody;
  /** What the error says to whoever only reads headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `clean` takes secrets out of texts. What is not an error of ours says nothing but that it happened: the log has the rest. */
export function answerTo(error: unknown, clean: (text: string) => string): Answered {
  if (!RathError.is(error)) {
    const message = "Something went wrong here. The log of the server has it under this request's id.";
    const body = { error: { code: "server.failed", message, details: {}, retryable: false } };
    return { status: 500, code: "server.failed", body, headers: {} };
  }
  const { code, message, details, retryable } = error;
  return {
    status: statusOf[code] ?? 500,
    code,
    body: { error: { code, message: clean(message), details: cleaned(details, clean), retryable } },
    headers: headersOf(error),
  };
}

function cleaned(details: Readonly<Record<string, unknown>>, clean: (text: string) => string): Record<string, unknown> {
  try {
    return JSON.parse(clean(JSON.stringify(details))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function headersOf({ code, details: { retryAfter, allow } }: RathError): Readonly<Record<string, string>> {
  return {
    ...(code === "access.unauthenticated" ? { "www-authenticate": "Bearer" } : {}),
    ...(typeof retryAfter === "number" ? { "retry-after": `${retryAfter}` } : {}),
    ...(Array.isArray(allow) ? { allow: allow.join(", ") } : {}),
  };
}

/** Why a call failed, by code: what the server said, or what is known when it could not say anything. */
import { type ErrorCode, RathError } from "../session/errors.ts";
import type { ErrorBody } from "../wire/api/error-body.ts";
import { retryAfter } from "./backoff.ts";
import { readText } from "./read-body.ts";

/** Of an error nobody reads more. */
const mostBytes = 64 << 10;

/** Answers of proxies and of servers that are none of ours have a status and nothing else that is known. */
const codes: Readonly<Record<number, ErrorCode>> = {
  400: "request.invalid",
  401: "access.unauthenticated",
  403: "access.forbidden",
  404: "request.not-found",
  413: "request.too-large",
  429: "request.limited",
  502: "server.unreachable",
  503: "server.busy",
  504: "server.unreachable",
};
const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** The error that an answer stands for. */
export async function failureOf(response: Response, what: string, signal: AbortSignal): Promise<RathError> {
  const { status, headers } = response;
  const asked = retryAfter(headers, Date.now());
  const about = { status, request: headers.get("x-request-id") ?? undefined, ...(asked === undefined ? {} : { retryAfterMs: asked }) };
  const said = readError(await readText(response, mostBytes, signal));
  if (said === undefined) {
    const message = `${what} was answered with status ${status} and no reason: is there a proxy in between, or another server at this address?`;
    return new RathError(codes[status] ?? "server.failed", message, { retryable: passing.has(status), details: about });
  }
  const { code, message, details, retryable } = said;
  return new RathError(code as ErrorCode, message, { retryable, details: { ...details, ...about } });
}

function readError(text: string): ErrorBody["error"] | undefined {
  try {
    const { code, message, details, retryable } = (JSON.parse(text) as ErrorBody).error;
    if (typeof code !== "string" || typeof message !== "string") return undefined;
    return { code, message, details: typeof details === "object" && details !== null ? details : {}, retryable: retryable === true };
  } catch {
    return undefined;
  }
}

/** It did not answer, or broke off. */
export function unreachable(origin: string, what: string, why: string, cause?: unknown): RathError {
  const next = "look whether the server is running and the address is right";
  return new RathError("server.unreachable", `${what}: ${origin} ${why}. If that goes on, ${next}.`, { retryable: true, cause });
}

/** It answered with something that cannot be understood. */
export function unreadable(what: string, problem: string, response: Response, cause?: unknown): RathError {
  const { status, headers } = response;
  return new RathError("server.failed", `${what} was answered with ${problem}: is there an OpenRath server at this address?`, {
    details: { status, request: headers.get("x-request-id") ?? undefined },
    cause,
  });
}

/** The words of whatever made a connection fail: those of the system are a cause further down. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as { readonly message?: unknown; readonly cause?: { readonly message?: unknown } };
  const inner = typeof cause?.message === "string" && cause.message !== "" ? cause.message : message;
  return typeof inner === "string" && inner !== "" ? inner : "the connection failed";
}

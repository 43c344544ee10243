/** What answers say to browsers: nothing of them may be framed, guessed, kept or read by other pages than those that are allowed to. */

/** Of every answer. Whoever answers with a page gives it a policy of its own. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

/** For a page of another origin that may call: it may read the answer. */
export function corsHeaders(request: Request, origins: ReadonlySet<string>): Readonly<Record<string, string>> {
  if (origins.size === 0) return {};
  const origin = request.headers.get("origin");
  if (origin === null || !isAllowed(origin, origins)) return { vary: "Origin" };
  return { vary: "Origin", "access-control-allow-origin": origin, "access-control-expose-headers": "x-request-id, retry-after, allow" };
}

export function isAllowed(origin: string, origins: ReadonlySet<string>): boolean {
  return origins.has("*") || origins.has(origin);
}

/** What a browser asks for before it lets a page of another origin call. */
export function preflightHeaders(methods: readonly string[]): Readonly<Record<string, string>> {
  return {
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": "authorization, content-type, idempotency-key, last-event-id, traceparent, tracestate, x-request-id",
    "access-control-max-age": "600",
  };
}

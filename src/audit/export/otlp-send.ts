/** Sends traces to a collector over OTLP/HTTP: in batches, again when it asks for that, and never with its headers in any message. */
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import { type OtlpOptions, otlpBatches } from "./otlp.ts";

export interface SendOtlpOptions extends OtlpOptions {
  /** The collector: "http://localhost:4318", or the whole address of its traces. */
  readonly to: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Spans in a request. */
  readonly batch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told of every batch that was taken. */
  readonly onSent?: ((spans: number) => void) | undefined;
  /** Waits; given by tests. */
  readonly wait?: ((ms: number) => Promise<void>) | undefined;
}

/** What became of it. */
export interface SentOtlp {
  readonly sent: number;
  /** How many of them the collector did not take, and what it said of that. */
  readonly rejected: number;
  readonly messages: readonly string[];
}

const attempts = 5;
const firstWaitMs = 500;
const longestWaitMs = 60_000;
const patienceMs = 30_000;
/** A collector says: not now. Anything else it refuses for good. */
const later: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends the spans of a session. Sent again, they have the same ids. */
export async function sendOtlp(session: Session, options: SendOtlpOptions): Promise<SentOtlp> {
  const url = tracesUrl(options.to);
  let [sent, rejected] = [0, 0];
  const messages = new Set<string>();
  for await (const { body, spans } of otlpBatches(session, { ...options, batch: options.batch ?? 500 })) {
    const { rejectedSpans = 0, errorMessage = "" } = await sendBatch(url, body, options);
    sent += spans;
    rejected += Number(rejectedSpans) || 0;
    if (errorMessage !== "") messages.add(String(errorMessage));
    options.onSent?.(spans);
  }
  return { sent, rejected, messages: [...messages] };
}

/** OTEL_EXPORTER_OTLP_HEADERS: "name=value,name=value", each percent-encoded. */
export function headersFrom(text: string | undefined): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const pair of (text ?? "").split(",")) {
    const [name = "", ...rest] = pair.split("=");
    if (name.trim() === "" || rest.length === 0) continue;
    headers[decoded(name.trim())] = decoded(rest.join("=").trim());
  }
  return headers;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function tracesUrl(to: string): URL {
  let url: URL;
  try {
    url = new URL(to);
  } catch (cause) {
    throw new RathError("export.failed", "The collector's address is no URL: give one like http://localhost:4318.", { cause });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new RathError(
      "export.failed",
      `Traces are sent over HTTP, not ${url.protocol.slice(0, -1)}: give an address like http://localhost:4318.`,
    );
  // fetch refuses such a URL, and it would be in every list of processes.
  if (url.username !== "" || url.password !== "")
    throw new RathError(
      "export.failed",
      'The collector\'s address holds a user or a password, which is not sent: leave them out, and set OTEL_EXPORTER_OTLP_HEADERS="authorization=Basic%20…" (base64 of user:password).',
    );
  if (!url.pathname.endsWith("/v1/traces")) url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url;
}

interface PartialSuccess {
  readonly rejectedSpans?: string | number | undefined;
  readonly errorMessage?: string | undefined;
}

async function sendBatch(url: URL, body: string, options: SendOtlpOptions): Promise<PartialSuccess> {
  const { wait = pause } = options;
  for (let attempt = 1; ; attempt++) {
    options.signal?.throwIfAborted();
    const answer = await post(url, body, options);
    if (answer.status >= 200 && answer.status < 300) return partialOf(answer.text);
    const again = answer.status === 0 || later.has(answer.status);
    if (!again || attempt === attempts) throw refused(url, answer, attempt);
    await wait(Math.min(longestWaitMs, answer.retryAfterMs ?? firstWaitMs * 2 ** (attempt - 1)));
  }
}

interface Answer {
  /** 0: there was none. */
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
  readonly cause?: unknown;
}

async function post(url: URL, body: string, { headers, signal }: SendOtlpOptions): Promise<Answer> {
  const patience = AbortSignal.timeout(patienceMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      body,
      headers: { ...headers, "content-type": "application/json" },
      // Somewhere else would be sent the same headers.
      redirect: "manual",
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
    });
    const text = (await response.text()).slice(0, 10_000);
    return { status: response.status, text, retryAfterMs: retryAfter(response.headers.get("retry-after")) };
  } catch (cause) {
    signal?.throwIfAborted();
    // Who refuses a header names it with its value.
    if (cause instanceof TypeError && (cause as { readonly cause?: unknown }).cause === undefined)
      throw new RathError("export.failed", "The headers for the collector are not valid: see OTEL_EXPORTER_OTLP_HEADERS.");
    return { status: 0, text: "", retryAfterMs: undefined, cause };
  }
}

/** Seconds, or a date. */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function partialOf(text: string): PartialSuccess {
  try {
    return (JSON.parse(text) as { readonly partialSuccess?: PartialSuccess } | null)?.partialSuccess ?? {};
  } catch {
    return {}; // an empty answer is one
  }
}

function refused(url: URL, { status, text, cause }: Answer, tries: number): RathError {
  const where = `${url.origin}${url.pathname}`;
  const times = tries === 1 ? "" : ` after ${tries} attempts`;
  const said = status === 0 ? `cannot be reached${times}` : `answered ${status}${times}${text === "" ? "" : `: ${saidIn(text)}`}`;
  return new RathError(
    "export.failed",
    `The collector at ${where} ${said}. What it took before stays there; sent again, spans have the same ids.`,
    {
      retryable: status === 0 || later.has(status),
      details: { status },
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

/** A status of gRPC as JSON, or a text. */
function saidIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return String(message ?? text).slice(0, 300);
  } catch {
    return text.slice(0, 300);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What providers throw, as one kind of failure. Errors are known by their fields: classes differ between copies of a package. */
import { RathError } from "../session/errors.ts";
import { fieldOf } from "./ai-sdk-field.ts";
import { modelFailed } from "./failure.ts";

/** Where an error came from: the answer had not begun, or it broke off. */
export type Phase = "call" | "stream";

/** The failure to throw for whatever a provider threw or streamed. */
export function failureOf(error: unknown, model: string, phase: Phase): RathError {
  if (RathError.is(error, "model.failed")) return error;
  const given = root(error);
  const said = messageOf(given);
  const answered = numberOf(given, "statusCode") ?? numberOf(given, "status");
  // Below 400 the server said all was well and then sent something that could not be read: that is no status to report.
  const status = answered !== undefined && answered >= 400 ? answered : undefined;
  if (isOverflow(given, said, status))
    return modelFailed(`${model}: the request does not fit the model's context window. ${said}`, {
      retryable: false,
      status,
      overflow: true,
      cause: error,
    });
  const retryable = (answered !== undefined && status === undefined) || isRetryable(given, status, phase);
  return modelFailed(`${model}: ${sentence(said, status, retryable, phase)}`, {
    retryable,
    status,
    retryAfterMs: retryable ? retryAfter(given) : undefined,
    cause: error,
  });
}

function sentence(said: string, status: number | undefined, retryable: boolean, phase: Phase): string {
  if (status !== undefined) return `${said} (HTTP ${status})`;
  return phase === "stream" && retryable ? `the stream was cut. ${said}` : said;
}

/** The stream was over before the reply was. */
export function cutStream(model: string): RathError {
  return modelFailed(`${model}: the stream was cut. It ended without saying why the model stopped.`, { retryable: true });
}

/** Retry wrappers of the AI SDK hide the error that counts. */
function root(error: unknown): unknown {
  const last = fieldOf(error, "lastError");
  return last === undefined ? error : last;
}

function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  const message = fieldOf(error, "message") ?? fieldOf(fieldOf(error, "error"), "message");
  if (typeof message === "string" && message !== "") return message;
  return error instanceof Error ? error.name : (JSON.stringify(error) ?? "It failed and did not say why.");
}

const overflowWords =
  /context[ _]length|context window|maximum context|prompt is too long|too many (?:input )?tokens|input token count .*exceeds|request_too_large/i;

function isOverflow(error: unknown, said: string, status: number | undefined): boolean {
  if (status !== undefined && status !== 400 && status !== 413 && status !== 422) return false;
  const code = wordsOf(error).join(" ");
  return overflowWords.test(said) || overflowWords.test(code);
}

/** Errors of the AI SDK about an answer that could not be read: the server's fault, and worth another attempt. */
const unreadable = /^AI_(?:JSONParseError|TypeValidationError|InvalidResponseDataError|EmptyResponseBodyError|NoContentGeneratedError)$/;
/** What another attempt cannot mend, said in a stream where there is no status. */
const final =
  /invalid_request|authentication|permission|not_found|billing|insufficient_quota|invalid_api_key|content_policy|invalid_prompt/i;
const network = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR)/;

function isRetryable(error: unknown, status: number | undefined, phase: Phase): boolean {
  const asked = headerOf(error, "x-should-retry");
  if (asked === "true" || asked === "false") return asked === "true";
  if (wordsOf(error).some((word) => /insufficient_quota/.test(word))) return false;
  if (status !== undefined) return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
  const name = fieldOf(error, "name");
  if (typeof name === "string" && name.startsWith("AI_")) return fieldOf(error, "isRetryable") === true || unreadable.test(name);
  if (isNetwork(error)) return true;
  return phase === "stream" && !wordsOf(error).some((word) => final.test(word));
}

/** A socket that failed: undici says so in the message, or in the code of a cause. */
function isNetwork(error: unknown): boolean {
  for (let at = error, depth = 0; at !== undefined && at !== null && depth < 5; at = fieldOf(at, "cause"), depth++) {
    const code = fieldOf(at, "code");
    if (typeof code === "string" && network.test(code)) return true;
    if (at instanceof TypeError && /^(?:fetch failed|terminated)$/.test(at.message)) return true;
  }
  return false;
}

/** The words a provider classes its errors by, wherever it puts them. */
function wordsOf(error: unknown): readonly string[] {
  const places = [error, fieldOf(error, "error"), fieldOf(error, "data"), fieldOf(fieldOf(error, "data"), "error")];
  return places.flatMap((place) => [fieldOf(place, "type"), fieldOf(place, "code")]).filter((word) => typeof word === "string");
}

/** How long to wait: `retry-after-ms`, `Retry-After` in seconds or as a date, or Google's `retryDelay` in the body. */
function retryAfter(error: unknown): number | undefined {
  const ms = Number(headerOf(error, "retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const after = headerOf(error, "retry-after");
  if (after !== undefined) {
    const seconds = Number(after);
    const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - Date.now();
    if (Number.isFinite(wait)) return Math.max(0, Math.round(wait));
  }
  const body = fieldOf(error, "responseBody");
  const delay = typeof body === "string" ? /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body) : null;
  return delay === null ? undefined : Math.round(Number(delay[1]) * 1000);
}

function headerOf(error: unknown, name: string): string | undefined {
  const headers = fieldOf(error, "responseHeaders");
  if (typeof headers !== "object" || headers === null) return undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === "string" && found.trim() !== "" ? found.trim() : undefined;
}

function numberOf(value: unknown, name: string): number | undefined {
  const found = fieldOf(value, name);
  return typeof found === "number" ? found : undefined;
}

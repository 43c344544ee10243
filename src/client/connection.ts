/**
 * Calls to one server. Each is answered or rejects with a RathError; those that may be made again are, a few times, with pauses.
 * The key goes to this server alone: redirects are not followed.
 */
import { RathError } from "../session/errors.ts";
import { givenOptions, unsupported } from "../session/given.ts";
import { pause, waitBefore } from "./backoff.ts";
import { type Call, type CallOptions, search } from "./call.ts";
import { failureOf, reasonOf, unreachable, unreadable } from "./failure.ts";
import { type Page, type Pages, pagesOf } from "./pages.ts";
import { readText, unless } from "./read-body.ts";

/**
 * Where a server is, and how to speak with it.
 *
 * @example
 * const patient: ClientOptions = { url: "https://rath.example.com", key: token, retries: 6, patienceMs: 3_600_000 };
 * const { runs } = connect(patient);
 */
export interface ClientOptions {
  /** Its address, with the path it is mounted at if there is one. In a browser it may be relative to the page. */
  readonly url: string;
  /** A key, `rath_…`. Without one only servers that want none can be called. */
  readonly key?: string | undefined;
  /** Takes the place of the global `fetch`: the `fetch` of a server in the same process, or one that goes through a proxy. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** How often a call that may be repeated is made again when it fails for a reason that may pass. Default: 3. */
  readonly retries?: number | undefined;
  /** The first pause before a call is repeated, in milliseconds; each later one is twice as long. Default: 250. */
  readonly backoffMs?: number | undefined;
  /** How long a call may take, in milliseconds; streams, downloads and uploads take as long as they take. Default: 75 000. */
  readonly timeoutMs?: number | undefined;
  /** How long a stream may be silent before it is taken for dead, in milliseconds. Default: 45 000, three heartbeats. */
  readonly silenceMs?: number | undefined;
  /** How long a stream that was cut off tries to come back, in milliseconds. Default: 300 000. */
  readonly patienceMs?: number | undefined;
}

/** More than this is no answer to a call: exports and files are downloads. */
const mostAnswer = 256 << 20;

export class Connection {
  readonly backoffMs: number;
  readonly retries: number;
  readonly silenceMs: number;
  readonly patienceMs: number;
  readonly timeoutMs: number;
  readonly #base: string;
  readonly #key: string | undefined;
  readonly #fetch: (request: Request) => Promise<Response>;

  constructor(options: ClientOptions) {
    const known = ["url", "key", "fetch", "retries", "backoffMs", "timeoutMs", "silenceMs", "patienceMs"] as const;
    const { url, key, fetch } = givenOptions(options, known, "connect");
    const { retries = 3, backoffMs = 250, timeoutMs = 75_000, silenceMs = 45_000, patienceMs = 300_000 } = options;
    this.#base = baseOf(url);
    // Said without showing it: `fetch` would put the key into its own error.
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) throw unsupported("key", "has characters no key has", "give it as it was shown");
    this.#key = key;
    this.#fetch = fetch ?? ((request) => globalThis.fetch(request));
    this.retries = givenNumber(retries, "retries");
    this.backoffMs = givenNumber(backoffMs, "backoffMs");
    this.timeoutMs = givenNumber(timeoutMs, "timeoutMs");
    this.silenceMs = givenNumber(silenceMs, "silenceMs");
    this.patienceMs = givenNumber(patienceMs, "patienceMs");
  }

  get<T>(path: string, options?: CallOptions): Promise<T> {
    return this.json({ method: "GET", path, ...queryOf(options) });
  }

  post<T>(path: string, body?: unknown, options?: CallOptions): Promise<T> {
    return this.json({ method: "POST", path, body, ...queryOf(options) });
  }

  delete<T>(path: string, options?: CallOptions): Promise<T> {
    return this.json({ method: "DELETE", path, ...queryOf(options) });
  }

  put<T>(path: string, body: unknown, options?: CallOptions): Promise<T> {
    return this.json({ method: "PUT", path, body, ...queryOf(options) });
  }

  list<T, P extends Page<T> = Page<T>>(path: string, options?: CallOptions): Pages<T, P> {
    return pagesOf<T, P>((after) => this.get(path, { ...options, ...(after === undefined ? {} : { after }) }));
  }

  /** An answer that is read by whoever asked, as it comes. */
  download(path: string, options?: CallOptions): Promise<Response> {
    return this.response({ method: "GET", path, headers: { accept: "*/*" }, ...queryOf(options) });
  }

  /** An answer that is JSON, or a text where another format is asked for. */
  formatted<T>(path: string, options: CallOptions & { readonly format?: string | undefined } = {}): Promise<T> {
    if ((options.format ?? "json") === "json") return this.get(path, options);
    return this.download(path, options).then((response) => response.text()) as Promise<T>;
  }

  /** Makes a call whose answer is JSON, or nothing. */
  json<T>(call: Call): Promise<T> {
    return this.#repeated(call, async (signal) => {
      const response = await this.open(call, signal);
      if (response.status === 204) return undefined as T;
      const type = response.headers.get("content-type") ?? "";
      if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) throw unreadable(named(call), type || "no content type", response);
      const text = await readText(response, mostAnswer, signal);
      try {
        return JSON.parse(text) as T;
      } catch (error) {
        throw unreadable(named(call), "JSON that is broken", response, error);
      }
    });
  }

  /** Makes a call whose answer is read by whoever asked, as it comes. */
  response(call: Call): Promise<Response> {
    return this.#repeated(call, (signal) => this.open(call, signal));
  }

  /** One try: the answer as soon as it begins, if it is a good one. */
  async open(call: Call, signal: AbortSignal): Promise<Response> {
    const response = await unless(signal, this.#fetch(this.#request(call, signal)));
    if (response.ok) return response;
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      const to = response.headers.get("location");
      throw unreadable(named(call), `a redirect${to === null ? "" : ` to ${to}`}, which is not followed, for the key's sake`, response);
    }
    throw await failureOf(response, named(call), signal);
  }

  /** What went wrong, as a RathError; what the caller aborted is theirs. */
  failure(call: Call, error: unknown): unknown {
    if (call.signal?.aborted) return call.signal.reason;
    if (RathError.is(error)) return error;
    const lost = isRepeatable(call) ? "" : " Whether it was done is not known";
    return unreachable(this.#base, named(call), `cannot be reached (${reasonOf(error)})${lost && `.${lost}`}`, error);
  }

  async #repeated<T>(call: Call, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.#timed(call, attempt);
      } catch (error) {
        const again = isRepeatable(call) && failures < this.retries && RathError.is(error) && error.retryable;
        const wait = again ? waitBefore(error, this.backoffMs, failures) : undefined;
        if (wait === undefined) throw error;
        await pause(wait, call.signal);
      }
    }
  }

  /** One try that ends: in an answer, in an error, or when its time is over. */
  async #timed<T>(call: Call, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    call.signal?.throwIfAborted();
    const late = new AbortController();
    const seconds = Math.round(this.timeoutMs / 1000);
    const timer =
      call.upload === undefined ? setTimeout(() => late.abort(new Error(`no answer in ${seconds} s`)), this.timeoutMs) : undefined;
    try {
      return await attempt(call.signal === undefined ? late.signal : AbortSignal.any([call.signal, late.signal]));
    } catch (error) {
      throw this.failure(call, error);
    } finally {
      clearTimeout(timer);
    }
  }

  #request(call: Call, signal: AbortSignal): Request {
    const { method, path, query, body, upload } = call;
    const headers = new Headers({ accept: "application/json", ...call.headers });
    if (this.#key !== undefined) headers.set("authorization", `Bearer ${this.#key}`);
    if (upload !== undefined) headers.set("content-type", upload.type);
    else if (body !== undefined) headers.set("content-type", "application/json");
    const sent = upload?.bytes ?? (body === undefined ? undefined : JSON.stringify(body));
    return new Request(`${this.#base}${path}${search(query)}`, {
      ...{ method, headers, signal, redirect: "manual", credentials: "omit", cache: "no-store" },
      // A body that is a stream is sent while it comes; every `fetch` that can wants to be told so.
      ...(sent === undefined ? {} : { body: sent as Uint8Array<ArrayBuffer>, duplex: "half" }),
    });
  }
}

function queryOf(options: CallOptions = {}): Pick<Call, "query" | "signal"> {
  const { signal, ...query } = options;
  return { query, signal };
}

/** Reading changes nothing; what else may be repeated says so. */
function isRepeatable({ method, repeatable, upload }: Call): boolean {
  return (repeatable ?? method === "GET") && !(upload?.bytes instanceof ReadableStream);
}

export function named({ method, path }: Call): string {
  return `${method} ${path}`;
}

function baseOf(url: string): string {
  const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href;
  let base: URL;
  try {
    base = new URL(url, page);
  } catch {
    throw unsupported("url", "is no address", 'give the one of the server, like "http://127.0.0.1:7284"');
  }
  if (!/^https?:$/.test(base.protocol)) throw unsupported("url", `begins with ${base.protocol}`, "give an address with http: or https:");
  if (base.username !== "" || base.password !== "") throw unsupported("url", "has a name or a password in it", "give the key as `key`");
  return `${base.origin}${base.pathname.replace(/\/+$/, "")}`;
}

function givenNumber(value: number, field: string): number {
  if (typeof value !== "number" || !(value >= 0)) throw unsupported(field, `is ${String(value)}`, "give a number that is not negative");
  return value;
}

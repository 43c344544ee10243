/**
 * One connection to one server, shared by all calls and opened again when it was lost.
 *
 * Nothing is ever sent twice unless the server refused it or it was not sent: a call whose answer is lost fails with `McpLost`,
 * and the next call opens the connection again, later and later when that keeps failing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { RathError } from "../session/errors.ts";
import { brief, failureOf, isAnswer, isRefusal, lost, tellCause } from "./mcp-failure.ts";
import type { Client, Sdk, Transport } from "./mcp-sdk.ts";
import { type Link, linkTo, type McpCommand, type McpUrl, placeOf } from "./mcp-transport.ts";
import { abortable, withinTime } from "./mcp-wait.ts";

/** An open connection. */
export interface Live {
  readonly client: Client;
  readonly link: Link;
  /** True once the other side is gone. */
  closed: boolean;
  /** The newest trouble that the peer reported without failing. */
  trouble: string | undefined;
  /** How many are using it. */
  users: number;
  /** True when nobody is to begin using it. Those who do may still get their answers, so it ends with the last of them. */
  dropped: boolean;
}

/** What is done with a connection: `what` names it in messages, `safe` work may be done again when its answer is lost. */
export interface Use {
  readonly what: string;
  readonly safe?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Connection extends AsyncDisposable {
  /** Runs with the open connection, opening it first where there is none. */
  use<T>(use: Use, run: (live: Live) => Promise<T>): Promise<T>;
}

export interface ConnectionOptions {
  readonly server: McpCommand | McpUrl;
  readonly timeoutMs: number;
  readonly sdk: Sdk;
  /** A client for one connection, its handlers set. `probe` asks first which revision of the protocol the server speaks. */
  readonly client: (probe: boolean) => Client;
  /** Called with every connection that is opened, before anybody uses it. */
  readonly opened: (live: Live) => Promise<void>;
}

export function connection(options: ConnectionOptions): Connection {
  return new SharedConnection(options);
}

class SharedConnection implements Connection {
  readonly #options: ConnectionOptions;
  readonly #place: string;
  readonly #ending = new AbortController();
  /** Every connection that was opened and has not ended, the ones that were dropped included. */
  readonly #open = new Set<Live>();
  #current: Promise<Live> | undefined;
  /** How often the connection failed since it last served anybody. */
  #losses = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#place = placeOf(options.server);
  }

  async use<T>({ what, safe, signal }: Use, run: (live: Live) => Promise<T>): Promise<T> {
    for (let again = true; ; again = false) {
      signal?.throwIfAborted();
      const opening = this.#connected();
      const live = await abortable(opening, signal);
      live.users += 1;
      try {
        const result = await run(live);
        this.#losses = 0;
        return result;
      } catch (cause) {
        signal?.throwIfAborted();
        const failure = failureOf(cause, live);
        if (failure === "answered" && !isRefusal(cause)) throw cause;
        if (failure === "not-sent") {
          live.dropped = true;
          this.#forget(opening);
        }
        const repeatable = failure === "not-sent" || (failure === "lost" && safe === true);
        if (again && repeatable && !this.#ending.signal.aborted) continue;
        if (failure === "lost") throw await lost(what, this.#place, cause, live);
        const told = await tellCause(cause, live, this.#options.server);
        throw new RathError("mcp.failed", `The MCP server ${this.#place} failed at ${what}: ${told}`, { cause });
      } finally {
        live.users -= 1;
        void this.#release(live);
      }
    }
  }

  #connected(): Promise<Live> {
    if (this.#ending.signal.aborted) throw this.#closedError();
    if (this.#current !== undefined) return this.#current;
    const opening = this.#start();
    this.#current = opening;
    opening.then(
      (live) => {
        live.client.onclose = () => {
          live.closed = true;
          this.#open.delete(live);
          this.#forget(opening);
        };
        if (live.closed) this.#forget(opening);
      },
      () => this.#forget(opening),
    );
    return opening;
  }

  #closedError(): RathError {
    return new RathError("mcp.failed", `The MCP server ${this.#place} was closed: open it again to call its tools.`);
  }

  #forget(which: Promise<Live>): void {
    if (this.#current !== which) return;
    this.#current = undefined;
    this.#losses += 1;
  }

  async #start(): Promise<Live> {
    if (this.#losses > 0) {
      const pause = Math.min(100 * 2 ** (this.#losses - 1), 5000);
      await sleep(pause, undefined, { signal: this.#ending.signal }).catch(() => Promise.reject(this.#closedError()));
    }
    // A process is asked in the old way first, since finding out what it speaks means starting it twice.
    if ("url" in this.#options.server) return this.#attempt(true);
    try {
      return await this.#attempt(false);
    } catch (error) {
      if (!(error instanceof RathError && isAnswer(error.cause))) throw error;
      return this.#attempt(true);
    }
  }

  async #attempt(probe: boolean): Promise<Live> {
    const { server, sdk, timeoutMs, client } = this.#options;
    const live: Live = { client: client(probe), link: linkTo(server, sdk), ...unused };
    live.client.onerror = (error) => {
      live.trouble = brief(error.message);
    };
    live.client.onclose = () => {
      live.closed = true;
    };
    try {
      await withinTime(this.#shake(live), timeoutMs, this.#ending.signal);
      this.#open.add(live);
      return live;
    } catch (cause) {
      const told = await tellCause(cause, live, server);
      await stop(live);
      throw new RathError("mcp.failed", `The MCP server ${this.#place} cannot be opened: ${told}`, { cause, retryable: true });
    }
  }

  async #shake(live: Live): Promise<void> {
    await live.client.connect(live.link.transport, { timeout: this.#options.timeoutMs });
    oneByOne(live.link.transport);
    await this.#options.opened(live);
  }

  /** Ends a connection that was dropped, with its last user. */
  async #release(live: Live): Promise<void> {
    if (!live.dropped || live.users > 0) return;
    await stop(live);
    this.#open.delete(live);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#current?.catch(() => undefined);
    this.#current = undefined;
    await Promise.all([...this.#open].map(stop));
    this.#open.clear();
  }
}

const unused = { closed: false, trouble: undefined, users: 0, dropped: false };

/** Ends a connection; of a process, when it has gone. */
async function stop(live: Live): Promise<void> {
  if (live.closed) return;
  const { transport } = live.link;
  const pid = live.link.pid();
  // A courtesy: the server may be gone.
  if (transport.terminateSession !== undefined) await withinTime(transport.terminateSession(), 1000).catch(() => undefined);
  await live.client.close().catch(() => undefined);
  await transport.close().catch(() => undefined);
  // The peer sends SIGTERM and SIGKILL after two seconds each, and does not wait for the second.
  for (let waited = 0; pid !== undefined && isAlive(pid) && waited < 6000; waited += 20) await sleep(20);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Delivers messages with a pause between them: of several that arrive at once the peer forgets progress that comes before the answer. */
function oneByOne(transport: Transport): void {
  const receive = transport.onmessage?.bind(transport);
  let before: Promise<unknown> = Promise.resolve();
  transport.onmessage = (...message) => {
    // One that the peer cannot take must not keep the others from it.
    before = before.then(() => receive?.(...message)).catch((error: Error) => transport.onerror?.(error));
  };
}

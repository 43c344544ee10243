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
  const { server, sdk, timeoutMs } = options;
  const place = placeOf(server);
  const ending = new AbortController();
  /** Every connection that was opened and has not ended, the ones that were dropped included. */
  const open = new Set<Live>();
  let current: Promise<Live> | undefined;
  /** How often the connection failed since it last served anybody. */
  let losses = 0;

  function connected(): Promise<Live> {
    if (ending.signal.aborted) throw closedError();
    if (current !== undefined) return current;
    const opening = start();
    current = opening;
    opening.then(
      (live) => {
        live.client.onclose = () => {
          live.closed = true;
          open.delete(live);
          forget(opening);
        };
        if (live.closed) forget(opening);
      },
      () => forget(opening),
    );
    return opening;
  }

  function closedError(): RathError {
    return new RathError("mcp.failed", `The MCP server ${place} was closed: open it again to call its tools.`);
  }

  function forget(which: Promise<Live>): void {
    if (current !== which) return;
    current = undefined;
    losses += 1;
  }

  async function start(): Promise<Live> {
    if (losses > 0) {
      const pause = Math.min(100 * 2 ** (losses - 1), 5000);
      await sleep(pause, undefined, { signal: ending.signal }).catch(() => Promise.reject(closedError()));
    }
    // A process is asked in the old way first, since finding out what it speaks means starting it twice.
    if ("url" in server) return attempt(true);
    try {
      return await attempt(false);
    } catch (error) {
      if (!(error instanceof RathError && isAnswer(error.cause))) throw error;
      return attempt(true);
    }
  }

  async function attempt(probe: boolean): Promise<Live> {
    const live: Live = { client: options.client(probe), link: linkTo(server, sdk), ...unused };
    live.client.onerror = (error) => {
      live.trouble = brief(error.message);
    };
    live.client.onclose = () => {
      live.closed = true;
    };
    try {
      await withinTime(shake(live), timeoutMs, ending.signal);
      open.add(live);
      return live;
    } catch (cause) {
      const told = await tellCause(cause, live, server);
      await stop(live);
      throw new RathError("mcp.failed", `The MCP server ${place} cannot be opened: ${told}`, { cause, retryable: true });
    }
  }

  async function shake(live: Live): Promise<void> {
    await live.client.connect(live.link.transport, { timeout: timeoutMs });
    oneByOne(live.link.transport);
    await options.opened(live);
  }

  /** Ends a connection that was dropped, with its last user. */
  async function release(live: Live): Promise<void> {
    if (!live.dropped || live.users > 0) return;
    await stop(live);
    open.delete(live);
  }

  async function use<T>({ what, safe, signal }: Use, run: (live: Live) => Promise<T>): Promise<T> {
    for (let again = true; ; again = false) {
      signal?.throwIfAborted();
      const opening = connected();
      const live = await abortable(opening, signal);
      live.users += 1;
      try {
        const result = await run(live);
        losses = 0;
        return result;
      } catch (cause) {
        signal?.throwIfAborted();
        const failure = failureOf(cause, live);
        if (failure === "answered" && !isRefusal(cause)) throw cause;
        if (failure === "not-sent") {
          live.dropped = true;
          forget(opening);
        }
        const repeatable = failure === "not-sent" || (failure === "lost" && safe === true);
        if (again && repeatable && !ending.signal.aborted) continue;
        if (failure === "lost") throw await lost(what, place, cause, live);
        throw new RathError("mcp.failed", `The MCP server ${place} failed at ${what}: ${await tellCause(cause, live, server)}`, { cause });
      } finally {
        live.users -= 1;
        void release(live);
      }
    }
  }

  return {
    use,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await current?.catch(() => undefined);
      current = undefined;
      await Promise.all([...open].map(stop));
      open.clear();
    },
  };
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

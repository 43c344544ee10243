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

/** An open connection. */
export interface Live {
  readonly client: Client;
  readonly link: Link;
  /** True once the other side is gone. */
  closed: boolean;
  /** The newest trouble that the peer reported without failing. */
  trouble: string | undefined;
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
  const closing = new Set<Promise<void>>();
  let current: Promise<Live> | undefined;
  /** How often the connection failed since it last served anybody. */
  let losses = 0;

  function open(): Promise<Live> {
    if (ending.signal.aborted) throw closedError();
    if (current !== undefined) return current;
    const opening = start();
    current = opening;
    opening.then(
      (live) => {
        live.client.onclose = () => {
          live.closed = true;
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
    const live: Live = { client: options.client(probe), link: linkTo(server, sdk), closed: false, trouble: undefined };
    live.client.onerror = (error) => {
      live.trouble = brief(error.message);
    };
    live.client.onclose = () => {
      live.closed = true;
    };
    try {
      await withinTime(shake(live), timeoutMs, ending.signal);
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

  function drop(which: Promise<Live>, live: Live): void {
    forget(which);
    const stopped = stop(live).finally(() => closing.delete(stopped));
    closing.add(stopped);
  }

  async function use<T>({ what, safe, signal }: Use, run: (live: Live) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts += 1) {
      signal?.throwIfAborted();
      const opening = open();
      const live = await abortable(opening, signal);
      try {
        const result = await run(live);
        losses = 0;
        return result;
      } catch (cause) {
        signal?.throwIfAborted();
        const failure = failureOf(cause, live);
        if (failure === "answered" && !isRefusal(cause)) throw cause;
        if (failure !== "answered") drop(opening, live);
        if (attempts === 1 && !ending.signal.aborted && (failure === "not-sent" || (failure === "lost" && safe === true))) continue;
        if (failure === "lost") throw await lost(what, place, cause, live);
        throw new RathError("mcp.failed", `The MCP server ${place} refuses ${what}: ${await tellCause(cause, live, server)}`, { cause });
      }
    }
  }

  return {
    use,
    async [Symbol.asyncDispose]() {
      ending.abort();
      const live = await current?.catch(() => undefined);
      current = undefined;
      if (live !== undefined) await stop(live);
      await Promise.all(closing);
    },
  };
}

/** Ends a connection; of a process, when it has gone. */
async function stop(live: Live): Promise<void> {
  if (live.closed) return;
  const { transport } = live.link;
  const pid = live.link.pid();
  if (transport.terminateSession !== undefined) await withinTime(transport.terminateSession(), 1000).catch(() => undefined); // A courtesy: the server may be gone.
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
    before = before.then(() => receive?.(...message)).then(() => undefined);
  };
}

async function withinTime<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T> {
  const timer = new AbortController();
  const timeout = sleep(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`it did not answer within ${ms / 1000} s`);
  });
  timeout.catch(() => undefined);
  try {
    return await abortable(Promise.race([work, timeout]), signal);
  } finally {
    timer.abort();
  }
}

/** The same promise, given up when the signal says so. */
function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
  });
}

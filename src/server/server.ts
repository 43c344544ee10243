/** `openrath/server`: a Rath behind HTTP, as a web-standard `fetch` handler to mount anywhere. */
import { setMaxListeners } from "node:events";
import type { AccessStore } from "../access/access.ts";
import type { Rath } from "../runtime/rath.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { tenancyOf } from "../runtime/tenancy.ts";
import { RathError } from "../session/errors.ts";
import { givenOptions, givenWord } from "../session/given.ts";
import { textOfThrown } from "../session/thrown.ts";
import { AccessLog } from "./access-log.ts";
import { type Answer, responseOf } from "./answer.ts";
import { makeApp } from "./app.ts";
import { identifying, stillValid } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import { guardOf } from "./guard.ts";
import { Invites } from "./invites.ts";
import { Jobs } from "./jobs.ts";
import { type Limits, limitsOf } from "./limits.ts";
import { type Logger, logSeen } from "./log.ts";
import { Metrics } from "./metrics.ts";
import { OpenStreams } from "./open-streams.ts";
import { Projects } from "./projects.ts";
import { Rates } from "./rates.ts";
import type { Seen } from "./seen.ts";
import { type Served, serves } from "./served.ts";

export type {
  AccessEntry,
  AccessStore,
  EntryQuery,
  KeptEntries,
  KeyQuery,
  NotedEntry,
  Permission,
  Role,
  Scope,
  StoredKey,
} from "../access/access.ts";
export type { Limits as ServerLimits } from "./limits.ts";
export type { Logger } from "./log.ts";

/** How a server lets in and how much it takes. */
export interface ServerOptions {
  /** "keys" (default): every call needs a key. "none-on-loopback": calls that come from this machine need none. */
  readonly auth?: "keys" | "none-on-loopback" | undefined;
  /** Names under which it is called, like "api.example.com", beside those of this machine; "*": any. */
  readonly hosts?: readonly string[] | undefined;
  /** Web pages that may call it, beside its own, like "https://app.example.com"; "*": any, where every call needs a key. */
  readonly origins?: readonly string[] | undefined;
  /** Where it is mounted, like "/rath". Default: at the root. */
  readonly basePath?: string | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** Takes a line for every call, with the ids by which it can be found again: a logger like pino. Default: none. */
  readonly log?: Logger | undefined;
}

/** A server of one Rath. */
export interface Server extends AsyncDisposable {
  /** Answers a call. `env` is what the adapter of a runtime gives beside it. */
  fetch(request: Request, env?: unknown): Promise<Response>;
  /** Ends streams, waits for calls under way, and closes what the server opened. The Rath stays open: who made it closes it. */
  close(): Promise<void>;
}

/**
 * Makes a Rath reachable over HTTP: everything under `/v1`, described at `/openapi.json`.
 *
 * @example
 * const { fetch } = createServer(openrath({ store: "memory" }));
 * const response = await fetch(new Request("http://localhost/v1/health"));
 */
export function createServer(rath: Rath, options: ServerOptions = {}): Server {
  const { auth = "keys", hosts, origins, basePath = "/", limits: given, log } = givenOptions(options, known, "server");
  givenWord(auth, ["keys", "none-on-loopback"], "server.auth");
  const openOnLoopback = auth === "none-on-loopback";
  const guard = guardOf(hosts, origins, openOnLoopback);
  const limits = limitsOf(given);
  const projects = new Projects(rath, limits.projects);
  const [stopping, closed] = [new AbortController(), new AbortController()];
  // Every call and every stream listens to them.
  setMaxListeners(0, stopping.signal, closed.signal);
  const ends = new RathError("server.busy", "This server is stopping: ask another one, or again later.", { retryable: true });
  let closing: Promise<void> | undefined;
  const checkOpen = (): void => {
    if (closing !== undefined) throw ends;
  };
  let opened: Promise<AccessStore> | undefined;
  const access = (): Promise<AccessStore> => {
    opened ??= tenancyOf(projects.own.runtime).openAccess();
    // Whoever comes next tries again.
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  const { accessLog, ...calls } = shared(projects, limits, access, log);
  const served: Served = { ...calls, stopping: stopping.signal, stop: () => stopping.abort(ends), closed: closed.signal, checkOpen };
  const app = makeApp(served, { openOnLoopback, basePath, guard });
  const underWay = new Set<Promise<unknown>>();
  const answer = (request: Request, env?: unknown): Promise<Answer> => {
    const work = app(request, env).finally(() => underWay.delete(work));
    underWay.add(work);
    return work;
  };
  const shut = async (): Promise<void> => {
    stopping.abort(ends);
    await Promise.allSettled(underWay);
    closed.abort(ends);
    await accessLog.flush();
    await served.jobs.close();
    await projects.close();
    await (await opened)?.[Symbol.asyncDispose]();
  };
  const close = (): Promise<void> => {
    closing ??= shut();
    return closing;
  };
  const fetch = async (request: Request, env?: unknown): Promise<Response> => responseOf(await answer(request, env));
  const server: Server = { fetch, close, [Symbol.asyncDispose]: close };
  serves(server, { ...served, answer });
  return server;
}

/** What all calls share, but for how the server stops; and the log of them, which is written to its end then. */
function shared(projects: Projects, limits: Limits, access: Served["access"], log: Logger | undefined) {
  const { runtime } = projects.own;
  const clean = (text: string): string => runtime.clean(text);
  const streams = new OpenStreams({ each: limits.streams, all: limits.allStreams, of: "stream" });
  const metrics = new Metrics(() => streams.all);
  const accessLog = new AccessLog({ access, clean, limits, warn: (message) => runtime.warn(message) });
  return {
    accessLog,
    ...{ access, identify: identifying(access), limits, metrics, streams, projects, clean, invites: new Invites() },
    rates: new Rates(limits.rate),
    jobs: new Jobs(limits, projects),
    questions: new OpenStreams({ each: limits.questions, all: limits.allQuestions, of: "long question" }),
    stillValid: (caller: Caller) => stillValid(caller, access, new Date()),
    seen: (call: Seen) => {
      accessLog.seen(call, new Date());
      metrics.seen(call);
      if (log !== undefined) logged(() => logSeen(log, call, clean), runtime);
    },
  };
}

/** A log that cannot be written is no reason to refuse a call that was done. */
function logged(write: () => void, runtime: Runtime): void {
  try {
    write();
  } catch (error) {
    runtime.warn(`A call was not logged: ${textOfThrown(error)}`);
  }
}

const known = ["auth", "hosts", "origins", "basePath", "limits", "log"] as const;

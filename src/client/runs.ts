/** Calls about runs: started, followed, steered. */
import type { Asked } from "../wire/api/asked.ts";
import type {
  cancelRequest,
  RunDetail,
  RunOutcome,
  RunRequest,
  RunResource,
  resultQuery,
  resumeRequest,
  runQuery,
  SignalRequest,
} from "../wire/api/run.ts";
import type { StreamedPart } from "../wire/api/stream.ts";
import { at, type CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";
import type { Pages } from "./pages.ts";
import { type Streamed, type StreamOptions, streamOf } from "./stream.ts";

/** Which runs a list has. */
export type RunsQuery = Asked<typeof runQuery>;
/** How long a result is waited for. */
export type ResultQuery = Asked<typeof resultQuery>;

/**
 * Calls about runs. Started with a `key` a run is started once, however often it is asked for: such calls are repeated when they fail.
 *
 * @example
 * const { runs } = connect({ url: "http://127.0.0.1:7284", key: token });
 * const run = await runs.start({ workflow: "support", message: "My invoice is wrong", key: "ticket-17" });
 * for await (const part of runs.stream(run.id)) if (part.type === "text-delta") console.log(part.text);
 * const { status, output } = await runs.done(run.id);
 */
export interface RunCalls {
  /** Starts a run. The same key and input give the same run. */
  start(run: RunRequest, options?: CallOptions): Promise<RunResource>;
  /** The runs of the project, newest first. */
  list(query?: RunsQuery & CallOptions): Pages<RunResource>;
  /** A run: where it stands, what it was started with, and how it came out. */
  get(run: string, options?: CallOptions): Promise<RunDetail>;
  /** How far a run has come; waits for it as long as is asked for, half a minute at most. */
  result(run: string, query?: ResultQuery & CallOptions): Promise<RunOutcome>;
  /** What a run came to, however long it takes; or, with `until: "settled"`, until it waits for a person or a time. Never rejects for how it ended. */
  done(run: string, query?: Pick<ResultQuery, "until"> & CallOptions): Promise<RunOutcome>;
  /** Cancels a run, durably, whoever executes it. */
  cancel(run: string, options?: Asked<typeof cancelRequest> & CallOptions): Promise<RunResource>;
  /** Has a run go on: whoever works on the store takes it next. */
  resume(run: string, options?: Asked<typeof resumeRequest> & CallOptions): Promise<RunResource>;
  /** Sends a signal that the run takes, now or later. With a key it is one signal, however often it is sent. */
  send(run: string, signal: SignalRequest, options?: CallOptions): Promise<RunResource>;
  /** What a run did and does, until it ends. Rejects with the reason where it failed or was cancelled. */
  stream(run: string, options?: StreamOptions): AsyncIterable<Streamed<StreamedPart>>;
}

/** The longest that a server waits for us; less where a call may not take that long. */
const longestWait = 30;
const ended: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

export function runCalls(connection: Connection): RunCalls {
  const result: RunCalls["result"] = async (run, query) => connection.get(at`/v1/runs/${run}/result`, query);
  return {
    start: async (body, { signal } = {}) =>
      connection.json({ method: "POST", path: "/v1/runs", body, repeatable: body.key !== undefined, signal }),
    list: (query) => connection.list("/v1/runs", query),
    get: async (run, options) => connection.get(at`/v1/runs/${run}`, options),
    result,
    done: async (run, query = {}) => {
      const wait = Math.min(longestWait, Math.floor(connection.timeoutMs / 2000));
      for (;;) {
        const outcome = await result(run, { ...query, wait });
        if (ended.has(outcome.status) || (query.until === "settled" && outcome.status === "waiting")) return outcome;
      }
    },
    cancel: async (run, { signal, ...body } = {}) => connection.post(at`/v1/runs/${run}/cancel`, body, { signal }),
    resume: async (run, { signal, ...body } = {}) => connection.post(at`/v1/runs/${run}/resume`, body, { signal }),
    send: async (run, body, { signal } = {}) =>
      connection.json({ method: "POST", path: at`/v1/runs/${run}/signals`, body, repeatable: body.key !== undefined, signal }),
    stream: (run, options) => streamOf(connection, { path: at`/v1/runs/${run}/stream` }, options),
  };
}

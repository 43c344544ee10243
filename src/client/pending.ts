/** Calls about what waits for people, and what they decide. */
import type { Asked } from "../wire/api/asked.ts";
import type {
  DecidedResource,
  DecisionRequest,
  decisionsQuery,
  PendingDetail,
  PendingResource,
  pendingQuery,
} from "../wire/api/pending.ts";
import type { PendingPart } from "../wire/api/stream.ts";
import { at, type CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";
import type { Pages } from "./pages.ts";
import { PendingShown } from "./shown.ts";
import { type Streamed, type StreamOptions, streamOf } from "./stream.ts";

/** What waits: of whom, of which kind. */
export type PendingQuery = Asked<typeof pendingQuery>;
/** Behind which session. */
export type DecisionsQuery = Asked<typeof decisionsQuery>;

/**
 * Calls about what waits. Who decides is whoever the key belongs to.
 *
 * @example
 * const { pending } = connect({ url: "http://127.0.0.1:7284", key: token });
 * for await (const one of pending.list({ kind: "approval", to: "me" }))
 *   if (one.kind === "approval" && one.tool === "read_file") await pending.decide(one.id, { approve: true, reason: "reads only" });
 */
export interface PendingCalls {
  /** What waits for people, timers and signals, by the run that was started first. */
  list(query?: PendingQuery & CallOptions): Pages<PendingResource>;
  /** What exactly is asked: the call, its input and what would fit, and what was decided. */
  get(pending: string, options?: CallOptions): Promise<PendingDetail>;
  /** Approves or denies, answers, or says what became of an effect. The first decision counts. */
  decide(pending: string, decision: DecisionRequest, options?: CallOptions): Promise<DecidedResource>;
  /** What was decided, by whom, when and why. */
  decision(pending: string, options?: CallOptions): Promise<DecidedResource>;
  /** Everything that was decided behind a session, in the order it was asked; without one in the project, the newest first. */
  decisions(query?: DecisionsQuery & CallOptions): Pages<DecidedResource>;
  /** All that waits, then what comes and what waits no longer. After a cut only what changed meanwhile is told. */
  stream(options?: Omit<StreamOptions, "after">): AsyncIterable<Streamed<PendingPart>>;
}

export function pendingCalls(connection: Connection): PendingCalls {
  return {
    list: (query) => connection.list("/v1/pending", query),
    get: async (pending, options) => connection.get(at`/v1/pending/${pending}`, options),
    decide: async (pending, decision, options) => connection.post(at`/v1/pending/${pending}/decision`, decision, options),
    decision: async (pending, options) => connection.get(at`/v1/pending/${pending}/decision`, options),
    decisions: (query) => connection.list("/v1/decisions", query),
    stream: (options) => streamOf(connection, { path: "/v1/pending/stream" }, options, () => new PendingShown()),
  };
}

/**
 * `openrath/client`: a server of OpenRath as typed calls, for browsers and Node. Every call that fails rejects with a RathError that
 * has the server's code; streams resume by themselves; lists fetch their pages as they are read. Nothing of the runtime is in here.
 */
import { type ClientOptions, Connection } from "./connection.ts";
import { type JobCalls, jobCalls } from "./jobs.ts";
import { type KeyCalls, keyCalls } from "./keys.ts";
import { type MemoryCalls, memoryCalls } from "./memory.ts";
import { type PendingCalls, pendingCalls } from "./pending.ts";
import { type ProjectCalls, projectCalls } from "./project.ts";
import { type RunCalls, runCalls } from "./runs.ts";
import { type ServerCalls, serverCalls } from "./server.ts";
import { type SessionCalls, sessionCalls } from "./sessions.ts";
import { type WorkflowCalls, workflowCalls } from "./workflows.ts";

export { type ErrorCode, type ErrorDetails, RathError } from "../session/errors.ts";
export type { CheckResource, NewCheck } from "../wire/api/check.ts";
export type { ConflictResource } from "../wire/api/conflict.ts";
export type { GivenContent, MessageResource, RecordedRequest } from "../wire/api/content.ts";
export type { DiffResource } from "../wire/api/diff.ts";
export type { EraseAsked, EraseResource } from "../wire/api/erase.ts";
export type { EventIndex, EventLine, EventResource } from "../wire/api/event.ts";
export type { ChangedFile, FileEntry } from "../wire/api/file.ts";
export type { GraphResource } from "../wire/api/graph.ts";
export type { GrepHitResource, GrepQuery } from "../wire/api/grep.ts";
export type { Health, Info, Readiness } from "../wire/api/info.ts";
export type { ExportRequest, JobResource } from "../wire/api/job.ts";
export type { AccessEntryResource, KeyBody, KeyResource, KeyRotation, NewKeyResource } from "../wire/api/key.ts";
export type { LineageIndex } from "../wire/api/lineage.ts";
export type {
  MemoryChanged,
  MemoryFound,
  MemoryHitResource,
  MemoryPut,
  MemoryRecordResource,
  MemoryUseResource,
} from "../wire/api/memory.ts";
export type { DecidedResource, DecisionRequest, PendingDetail, PendingResource } from "../wire/api/pending.ts";
export type { RunDetail, RunOutcome, RunRequest, RunResource, SignalRequest } from "../wire/api/run.ts";
export type { SandboxResource } from "../wire/api/sandbox.ts";
export type { Fork, Merge, NewSession, Note, Reject, Say, SessionResource, SessionRow } from "../wire/api/session.ts";
export type {
  BlameQuery,
  BlobQuery,
  ChangesQuery,
  ConflictsQuery,
  CostQuery,
  DiffQuery,
  EraseQuery,
  EventsQuery,
  FileQuery,
  FilesQuery,
  GraphQuery,
  PatchQuery,
  PlaceQuery,
  SaidQuery,
  SandboxesQuery,
  SessionsQuery,
} from "../wire/api/session-queries.ts";
export type { PendingPart, ProjectStreamQuery, SessionStreamQuery, StreamedPart, UnreadablePart } from "../wire/api/stream.ts";
export type {
  ReplayAsked,
  ReplayResource,
  RerunAsked,
  RerunResource,
  VerificationResource,
  VerifyAsked,
} from "../wire/api/verification.ts";
export type { BlameResource, CostResource, WhyQuery, WhyResource } from "../wire/api/why.ts";
export type { WorkflowDescription, WorkflowResource } from "../wire/api/workflow.ts";
export type { CallOptions, Upload } from "./call.ts";
export type { ClientOptions } from "./connection.ts";
export type { JobCalls, JobDoneOptions, JobResultQuery } from "./jobs.ts";
export type { AccessQuery, KeyCalls } from "./keys.ts";
export type { MemoriesQuery, MemoryCalls, MemoryReason, MemoryRollback, MemorySearchQuery } from "./memory.ts";
export type { Page, PageQuery, Pages } from "./pages.ts";
export type { DecisionsQuery, PendingCalls, PendingQuery } from "./pending.ts";
export type { ProjectCalls } from "./project.ts";
export type { ResultQuery, RunCalls, RunsQuery } from "./runs.ts";
export type { ServerCalls } from "./server.ts";
export type { SessionCalls } from "./sessions.ts";
export type { Streamed, StreamOptions, StreamRetry } from "./stream.ts";
export type { WorkflowCalls } from "./workflows.ts";

/**
 * A server, as groups of calls that mirror its resources.
 *
 * @example
 * async function waiting({ pending }: Client): Promise<number> {
 *   let count = 0;
 *   for await (const _ of pending.list({ to: "me" })) count++;
 *   return count;
 * }
 */
export interface Client {
  readonly server: ServerCalls;
  readonly project: ProjectCalls;
  readonly sessions: SessionCalls;
  readonly workflows: WorkflowCalls;
  readonly runs: RunCalls;
  readonly pending: PendingCalls;
  readonly memory: MemoryCalls;
  readonly jobs: JobCalls;
  readonly keys: KeyCalls;
}

/**
 * The calls of a server. Nothing is sent before one is made.
 *
 * @example
 * const client = connect({ url: "http://127.0.0.1:7284", key: token });
 * for await (const part of client.sessions.stream("0192f3a4", { from: "start" }))
 *   if (part.type === "event") console.log(part.cursor, part.event.kind);
 */
export function connect(options: ClientOptions): Client {
  const connection = new Connection(options);
  return {
    server: serverCalls(connection),
    project: projectCalls(connection),
    sessions: sessionCalls(connection),
    workflows: workflowCalls(connection),
    runs: runCalls(connection),
    pending: pendingCalls(connection),
    memory: memoryCalls(connection),
    jobs: jobCalls(connection),
    keys: keyCalls(connection),
  };
}

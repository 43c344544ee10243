/** Calls about sessions: made, found, read, continued, compared, explained and checked. */
import type { CheckResource, NewCheck } from "../wire/api/check.ts";
import type { ConflictResource } from "../wire/api/conflict.ts";
import type { GivenContent, MessageResource, RecordedRequest } from "../wire/api/content.ts";
import type { EraseResource } from "../wire/api/erase.ts";
import type { EventIndex, EventResource } from "../wire/api/event.ts";
import type { ChangedFile, FileEntry } from "../wire/api/file.ts";
import type { GraphResource } from "../wire/api/graph.ts";
import type { GrepHitResource, GrepQuery } from "../wire/api/grep.ts";
import type { LineageIndex } from "../wire/api/lineage.ts";
import type { Fork, Merge, NewSession, Note, Reject, Say, SessionResource, SessionRow } from "../wire/api/session.ts";
import type {
  BlameQuery,
  ChangesQuery,
  ConflictsQuery,
  CostQuery,
  EraseQuery,
  EventsQuery,
  FileQuery,
  FilesQuery,
  GraphQuery,
  PatchQuery,
  PlaceQuery,
  SaidQuery,
  SessionsQuery,
} from "../wire/api/session-queries.ts";
import type { SessionStreamQuery, StreamedPart } from "../wire/api/stream.ts";
import type {
  ReplayAsked,
  ReplayResource,
  RerunAsked,
  RerunResource,
  VerificationResource,
  VerifyAsked,
} from "../wire/api/verification.ts";
import type { BlameResource, CostResource, WhyQuery, WhyResource } from "../wire/api/why.ts";
import { at, type CallOptions, type Upload } from "./call.ts";
import type { Connection } from "./connection.ts";
import type { Page, Pages } from "./pages.ts";
import { type Streamed, type StreamOptions, streamOf } from "./stream.ts";

/**
 * Calls about sessions. Ids may be shortened as long as only one begins so; whatever changes a session is on record as done by the key.
 *
 * @example
 * const { sessions } = connect({ url: "http://127.0.0.1:7284", key: token });
 * const { id } = await sessions.create({ message: "Summarise the report." });
 * for await (const { role, text } of sessions.messages(id)) console.log(role, text);
 */
export interface SessionCalls {
  /** Makes a session. */
  create(session: NewSession, options?: CallOptions): Promise<SessionResource>;
  /** The sessions of the project, newest first. */
  list(query?: SessionsQuery & CallOptions): Pages<SessionRow>;
  /** A session as it stands, or as it stood at a step. */
  get(session: string, query?: PlaceQuery & CallOptions): Promise<SessionResource>;
  /** Erases what a session says, for good, with what belongs to it alone. Takes a whole id. */
  erase(session: string, query: EraseQuery & CallOptions): Promise<EraseResource>;
  /** Adds a message of the user. The answer has another id where somebody else had continued the session: it was forked. */
  say(session: string, message: GivenContent, options?: Omit<Say, "message"> & CallOptions): Promise<SessionResource>;
  /** Adds a remark that no model reads. */
  note(session: string, text: string, options?: Omit<Note, "text"> & CallOptions): Promise<SessionResource>;
  /** Records that a branch is not wanted, and why. */
  reject(session: string, reason: string, options?: Omit<Reject, "reason"> & CallOptions): Promise<SessionResource>;
  /** Begins a branch, at the newest event or at any other. */
  fork(session: string, options?: Fork & CallOptions): Promise<SessionResource>;
  /** Joins other branches into this one; they may be named as ID@step. */
  merge(session: string, others: Merge["others"], options?: Omit<Merge, "others"> & CallOptions): Promise<SessionResource>;
  /** What a merge would have to decide. */
  conflicts(session: string, query: ConflictsQuery & CallOptions): Promise<{ readonly items: readonly ConflictResource[] }>;
  /** The events behind a session by steps, parents first; as an index without what they say. */
  events(session: string, query: EventsQuery & { readonly fields: "index" } & CallOptions): Pages<EventIndex>;
  events(session: string, query?: EventsQuery & { readonly fields?: "all" | undefined } & CallOptions): Pages<EventResource>;
  /** The conversation, oldest first. */
  messages(session: string, query?: SaidQuery & CallOptions): Pages<MessageResource>;
  /** What exactly the newest model call up to a place read. */
  request(session: string, query?: PlaceQuery & CallOptions): Promise<RecordedRequest>;
  /** The branches behind a session and beside it, as data or drawn. */
  graph(session: string, query?: GraphQuery & { readonly format?: "json" | undefined } & CallOptions): Promise<GraphResource>;
  graph(session: string, query: GraphQuery & CallOptions): Promise<string>;
  /** All events of every branch behind a session and beside it, without what they say, as columns. */
  lineage(session: string, options?: CallOptions): Promise<LineageIndex>;
  /** The events that led to a line, an answer, an event, a call, a memory, a route, a check or a cost. */
  why(session: string, query: WhyQuery & { readonly format?: "json" | undefined } & CallOptions): Promise<WhyResource>;
  why(session: string, query: WhyQuery & CallOptions): Promise<string>;
  /** For each line of a file the event that wrote it. A page tells what is known of its events. */
  blame(session: string, query: BlameQuery & CallOptions): Pages<BlameResource["items"][number], BlameResource>;
  /** What a session cost over all its branches. */
  cost(session: string, query?: CostQuery & CallOptions): Promise<CostResource>;
  /** Where a text stands in a session and its branches. */
  grep(session: string, query: GrepQuery & CallOptions): Pages<GrepHitResource>;
  /** Checks the record against its hashes and signatures. What is wrong is in `problems`. */
  verify(session: string, asked?: VerifyAsked, options?: CallOptions): Promise<VerificationResource>;
  /** Executes the workflow that made a session again, against its record. Calls nothing and writes nothing. */
  replay(session: string, asked?: ReplayAsked, options?: CallOptions): Promise<ReplayResource>;
  /** Executes the workflow behind a session, or behind a place in it, again on a fork, with one thing changed. Answered when it has begun. */
  rerun(session: string, asked?: RerunAsked, query?: PlaceQuery & CallOptions): Promise<RerunResource>;
  /** What is in a directory of a session's files, as they were recorded. A page tells the hash of the whole tree. */
  files(session: string, query?: FilesQuery & CallOptions): Pages<FileEntry, Page<FileEntry> & { readonly tree: string }>;
  /** The content of a file, to be read as it comes. */
  file(session: string, query: FileQuery & CallOptions): Promise<Response>;
  /** The files that a session changed since it took them, or between two places. */
  changes(session: string, query?: ChangesQuery & CallOptions): Pages<ChangedFile>;
  /** All of that as one patch that `git apply` takes, to be read as it comes. */
  patch(session: string, query?: PatchQuery & CallOptions): Promise<Response>;
  /** Records a verdict on a session, after the fact. */
  check(
    session: string,
    verdict: NewCheck,
    options?: CallOptions,
  ): Promise<{ readonly check: CheckResource; readonly session: SessionResource }>;
  /** The verdicts on a session, oldest first. */
  checks(session: string, query?: SaidQuery & CallOptions): Pages<CheckResource>;
  /** Takes in a bundle, or a session file of OpenRath 1: the bytes of the file. It is verified before anything of it is stored. */
  import(bytes: Upload, options?: CallOptions): Promise<SessionResource>;
  /** What happens on a session and all that comes from it, from now on or from its start. It has no end: leave the loop. */
  stream(session: string, options?: SessionStreamQuery & StreamOptions): AsyncIterable<Streamed<StreamedPart>>;
}

export function sessionCalls(connection: Connection): SessionCalls {
  const change = async <T>(path: string, options: CallOptions & object = {}, body: object = {}): Promise<T> => {
    const { signal, ...more } = options;
    return connection.post(path, { ...more, ...body }, { signal });
  };
  return {
    create: async (session, options) => connection.post("/v1/sessions", session, options),
    list: (query) => connection.list("/v1/sessions", query),
    get: async (session, query) => connection.get(at`/v1/sessions/${session}`, query),
    erase: async (session, query) => connection.delete(at`/v1/sessions/${session}`, query),
    say: async (session, message, options) => change(at`/v1/sessions/${session}/say`, options, { message }),
    note: async (session, text, options) => change(at`/v1/sessions/${session}/note`, options, { text }),
    reject: async (session, reason, options) => change(at`/v1/sessions/${session}/reject`, options, { reason }),
    fork: async (session, options) => change(at`/v1/sessions/${session}/fork`, options),
    merge: async (session, others, options) => change(at`/v1/sessions/${session}/merge`, options, { others }),
    conflicts: async (session, query) => connection.get(at`/v1/sessions/${session}/conflicts`, query),
    events: (session: string, query?: CallOptions) => connection.list<never>(at`/v1/sessions/${session}/events`, query),
    messages: (session, query) => connection.list(at`/v1/sessions/${session}/messages`, query),
    request: async (session, query) => connection.get(at`/v1/sessions/${session}/request`, query),
    graph: async (session: string, query?: CallOptions) => connection.formatted<never>(at`/v1/sessions/${session}/graph`, query),
    lineage: async (session, options) => connection.get(at`/v1/sessions/${session}/lineage`, options),
    why: async (session: string, query?: CallOptions) => connection.formatted<never>(at`/v1/sessions/${session}/why`, query),
    blame: (session, query) => connection.list(at`/v1/sessions/${session}/blame`, query),
    cost: async (session, query) => connection.get(at`/v1/sessions/${session}/cost`, query),
    grep: (session, query) => connection.list(at`/v1/sessions/${session}/grep`, query),
    verify: async (session, asked = {}, options) => connection.post(at`/v1/sessions/${session}/verify`, asked, options),
    replay: async (session, asked = {}, options) => connection.post(at`/v1/sessions/${session}/replay`, asked, options),
    rerun: async (session, asked = {}, query) => connection.post(at`/v1/sessions/${session}/rerun`, asked, query),
    files: (session, query) => connection.list(at`/v1/sessions/${session}/files`, query),
    file: async (session, query) => connection.download(at`/v1/sessions/${session}/files/content`, query),
    changes: (session, query) => connection.list(at`/v1/sessions/${session}/changes`, query),
    patch: async (session, query) => connection.download(at`/v1/sessions/${session}/patch`, query),
    check: async (session, verdict, options) => connection.post(at`/v1/sessions/${session}/checks`, verdict, options),
    checks: (session, query) => connection.list(at`/v1/sessions/${session}/checks`, query),
    import: async (bytes, { signal } = {}) =>
      connection.json({ method: "POST", path: "/v1/imports", upload: { bytes, type: "application/octet-stream" }, signal }),
    stream: (session, { from, only, ...options } = {}) =>
      streamOf(connection, { path: at`/v1/sessions/${session}/stream`, query: { from, only } }, options),
  };
}

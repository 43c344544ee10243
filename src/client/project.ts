/** Calls about a whole project: single events, contents, sandboxes, and what is asked of all sessions at once. */
import type { DiffResource } from "../wire/api/diff.ts";
import type { EraseAsked, EraseResource } from "../wire/api/erase.ts";
import type { EventLine, EventResource } from "../wire/api/event.ts";
import type { GrepHitResource, GrepQuery } from "../wire/api/grep.ts";
import type { SandboxResource } from "../wire/api/sandbox.ts";
import type { BlobQuery, DiffQuery, EventLinesQuery, SandboxesQuery } from "../wire/api/session-queries.ts";
import type { ProjectStreamQuery, StreamedPart } from "../wire/api/stream.ts";
import { at, type CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";
import type { Pages } from "./pages.ts";
import { type Streamed, type StreamOptions, streamOf } from "./stream.ts";

/**
 * Calls about all that a project has.
 *
 * @example
 * const { project } = connect({ url: "http://127.0.0.1:7284", key: token });
 * const { identical, files } = await project.diff({ a: "0192f3a4@12", b: "0192f3b1" });
 * for await (const { session, excerpt } of project.grep({ q: "invoice" })) console.log(session, excerpt);
 */
export interface ProjectCalls {
  /** What differs between two sessions, or two places in one, as data or shown. */
  diff(query: DiffQuery & { readonly format?: "json" | undefined } & CallOptions): Promise<DiffResource>;
  diff(query: DiffQuery & CallOptions): Promise<string>;
  /** Where a text stands in everything the project has. */
  grep(query: GrepQuery & CallOptions): Pages<GrepHitResource>;
  /** One event, of any log of the project. */
  event(event: string, options?: CallOptions): Promise<EventResource>;
  /** What events say, in a line each. */
  eventLines(events: readonly string[], options?: CallOptions): Promise<{ readonly items: readonly EventLine[] }>;
  /** Events by their ids, as many as one answer holds: what is left out is asked for again. */
  events(events: readonly string[], options?: CallOptions): Promise<{ readonly items: readonly EventResource[] }>;
  /** A content that an event names, to be read as it comes. */
  blob(hash: string, query: BlobQuery & CallOptions): Promise<Response>;
  /** Who opened a sandbox, and what became of it. */
  sandboxes(query?: SandboxesQuery & CallOptions): Pages<SandboxResource>;
  /** Erases sessions, events, memories, or whatever holds a text, for good. */
  erase(asked: EraseAsked, options?: CallOptions): Promise<EraseResource>;
  /** Every event of the project as it is stored, from now on or from the start. It has no end: leave the loop. */
  stream(options?: ProjectStreamQuery & StreamOptions): AsyncIterable<Streamed<StreamedPart>>;
}

export function projectCalls(connection: Connection): ProjectCalls {
  return {
    diff: async (query: DiffQuery & CallOptions) => connection.formatted<never>("/v1/diff", query),
    grep: (query) => connection.list("/v1/grep", query),
    event: async (event, options) => connection.get(at`/v1/events/${event}`, options),
    eventLines: async (events, options) => {
      const query: EventLinesQuery & CallOptions = { ...options, ids: events.join(",") };
      return connection.get("/v1/events", query);
    },
    events: async (events, options) => {
      const query: EventLinesQuery & CallOptions = { ...options, ids: events.join(","), fields: "all" };
      return connection.get("/v1/events", query);
    },
    blob: async (hash, query) => connection.download(at`/v1/blobs/${hash}`, query),
    sandboxes: (query) => connection.list("/v1/sandboxes", query),
    erase: async (asked, options) => connection.post("/v1/erase", asked, options),
    stream: ({ from, ...options } = {}) => streamOf(connection, { path: "/v1/stream", query: { from } }, options),
  };
}

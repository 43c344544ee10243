/** What happens, as it happens: of a session, a run, a whole project, and of what waits for people. */
import { z } from "@hono/zod-openapi";
import { followRun, type Lost } from "../../runtime/run-stream.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { RathError } from "../../session/errors.ts";
import type { StreamPart } from "../../session/stream.ts";
import { sessionId } from "../../wire/api/place.ts";
import { pendingStreamQuery, projectStreamQuery, runStreamQuery, sessionStreamQuery, streamCursor } from "../../wire/api/stream.ts";
import { readCursor } from "../feed-cursor.ts";
import { type FedEvent, type Follower, hubOf } from "../feed-hub.ts";
import { openStream } from "../open-stream.ts";
import { showPending } from "../pending-board.ts";
import { type Call, route } from "../route.ts";
import { SessionFamily } from "../session-family.ts";
import { failure, message, unreadable } from "../sse.ts";

const media = "text/event-stream";

export const streamProject = route({
  name: "streamProject",
  at: "GET /v1/stream",
  needs: "sessions:read",
  summary: "Every event of the project, as it is stored",
  query: projectStreamQuery,
  media,
  long: true,
  handle: async (call) => followFeed(call, { wants: () => true }),
});

export const streamSession = route({
  name: "streamSession",
  at: "GET /v1/sessions/{session}/stream",
  needs: "sessions:read",
  summary: "A session and all that comes from it: events, texts as models say them, and the progress of tools",
  params: z.object({ session: sessionId }),
  query: sessionStreamQuery,
  media,
  long: true,
  handle: async (call) => {
    const id = await logOf(call.runtime, call.params.session);
    if (call.query.only === "branch")
      return followFeed(call, { wants: ({ stored }) => stored.session === id, hears: (session) => session === id, names: () => [id] });
    const reads = cursorOf(call) === undefined && call.query.from === "now" ? "now" : "past";
    const family = await SessionFamily.of(await call.runtime.store(), id, reads);
    return followFeed(call, {
      wants: (event) => family.takes(event),
      hears: (session) => family.has(session),
      names: () => family.names(),
    });
  },
});

export const streamRun = route({
  name: "streamRun",
  at: "GET /v1/runs/{run}/stream",
  needs: "runs:read",
  summary: "A run from its beginning or from an event on, until it ends: events, texts as models say them, tools, and what it waits for",
  params: z.object({ run: sessionId }),
  query: runStreamQuery,
  media,
  long: true,
  handle: async (call) => {
    const run = await call.rath.attach(call.params.run);
    const seen = cursorOf(call);
    if (seen !== undefined && !/^[0-9a-f]{64}$/.test(seen)) throw foreign("the id of an event");
    return openStream(call, async (outbox, left) => {
      const watch = (part: StreamPart): void => outbox.push(message(part.type, part, part.type === "event" ? part.event.id : undefined));
      const lost = ({ stored: { id, session, run }, by, problem }: Lost): void =>
        outbox.push(unreadable(call.runtime, { event: id, by, session, ...(run === undefined ? {} : { run }) }, problem, id));
      try {
        await followRun(run, { after: seen, watch, unreadable: lost, room: () => outbox.room(), left });
        outbox.end(message("end", {}));
      } catch (error) {
        if (!left.aborted) outbox.end(ending(call.runtime, error));
      }
    });
  },
});

export const streamPending = route({
  name: "streamPending",
  at: "GET /v1/pending/stream",
  needs: "pending:read",
  summary: "What waits for people, signals and times: all of it first, then what comes and goes",
  query: pendingStreamQuery,
  media,
  long: true,
  handle: async (call) => openStream(call, (outbox, left) => showPending(call.runtime, outbox, left)),
});

type FeedCall = Call<unknown, { readonly after?: string | undefined; readonly from: "now" | "start" }>;

interface Filter {
  wants(event: FedEvent): boolean;
  /** Whether it is told what happens on a session and is not on record. */
  hears?(session: string): boolean;
  names?(): readonly string[];
}

/** Events behind a cursor and then those that come; their ids are cursors. */
async function followFeed(call: FeedCall, { wants, hears, names = () => [] }: Filter): Promise<Response> {
  const { runtime, query } = call;
  const hub = hubOf(runtime);
  const store = await runtime.store();
  await runtime.effects.writer.flush();
  const seen = cursorOf(call);
  const start = seen === undefined && query.from === "now" ? await store.fedTo() : undefined;
  const begin = start === undefined ? readCursor(seen) : { after: start };
  // A place that the feed does not know is refused before anything is answered.
  for await (const _ of store.feed({ after: begin.after })) break;
  return openStream(call, async (outbox, left) => {
    const follower: Follower = {
      wants,
      send: async (event) => outbox.push(await event.message()),
      // Of whose log nobody knows everybody is told.
      damaged: (log, bytes) => (log === undefined || hears === undefined || hears(log)) && outbox.push(bytes),
      ...(hears === undefined ? {} : { part: (part, bytes) => hears(part.session) && outbox.push(bytes), names }),
      fail: (error) => outbox.end(failure(error, (text) => runtime.clean(text))),
      room: () => outbox.room(),
      get closed() {
        return outbox.closed;
      },
    };
    left.addEventListener("abort", () => hub.leave(follower), { once: true });
    // Who is cut off before the first event comes back to this very place.
    if (start !== undefined) outbox.push(message("open", {}, start));
    await hub.follow(follower, begin);
    if (left.aborted) hub.leave(follower);
  });
}

function cursorOf({ request, query }: Call<unknown, { readonly after?: string | undefined }>): string | undefined {
  const said = request.headers.get("last-event-id");
  if (said === null || said === "") return query.after;
  const read = streamCursor.safeParse(said);
  if (!read.success) throw foreign("the id of a message of this stream");
  return read.data;
}

function foreign(what: string): RathError {
  return new RathError("request.invalid", `What to go on after is not ${what}: leave it out to begin anew.`);
}

/** How a run that did not end well is told of: by its own words, or by why it cannot be told. */
function ending(runtime: Runtime, error: unknown): Uint8Array {
  if (!RathError.is(error) || !error.code.startsWith("run.")) return failure(error, (text) => runtime.clean(text));
  return message("failed", { code: error.code, message: runtime.clean(error.message), retryable: false });
}

/** The log with this id, or the only one whose id begins so. The session itself need not be read. */
async function logOf(runtime: Runtime, id: string): Promise<string> {
  await runtime.effects.writer.flush();
  const found: string[] = [];
  for await (const row of (await runtime.store()).sessions({ id, log: "session" })) {
    if (row.id === id) return id;
    found.push(row.id);
    if (found.length > 5) break;
  }
  const [only, another] = found;
  if (only !== undefined && another === undefined) return only;
  throw only === undefined
    ? new RathError("session.not-found", `There is no session ${id} here.`, { details: { session: id } })
    : new RathError("session.ambiguous-id", `Several sessions begin with ${id}: give more of the id.`, { details: { session: id, found } });
}

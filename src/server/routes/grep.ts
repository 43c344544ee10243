/** Where a text stands: in a session with all its branches, or in everything the project has. */
import type { z } from "@hono/zod-openapi";
import { type GrepHit, grep } from "../../audit/grep.ts";
import type { Rath } from "../../runtime/rath.ts";
import { RathError } from "../../session/errors.ts";
import type { EventKind } from "../../session/event.ts";
import type { Session } from "../../session/session.ts";
import { grepHit, grepQuery } from "../../wire/api/grep.ts";
import { pageOf } from "../../wire/api/page.ts";
import { ofSession } from "../../wire/api/place.ts";
import { openSession } from "../open-session.ts";
import { route } from "../route.ts";

export const grepSession = route({
  name: "grepSession",
  at: "GET /v1/sessions/{session}/grep",
  needs: "sessions:read",
  summary: "Where a text stands in a session and its branches",
  params: ofSession,
  query: grepQuery,
  answer: pageOf(grepHit),
  long: true,
  handle: async (call) => hits(await openSession(call, call.params.session), call.query, call.signal),
});

export const grepProject = route({
  name: "grepProject",
  at: "GET /v1/grep",
  needs: "sessions:read",
  summary: "Where a text stands in everything the project has",
  query: grepQuery,
  answer: pageOf(grepHit),
  long: true,
  handle: async (call) => hits(call.rath, call.query, call.signal),
});

/**
 * Hits are counted from the first: a page later on searches again, and leaves out as many. Where the store is damaged, the page after the
 * last hit is the error that says so.
 */
async function hits(asked: Rath | Session, query: z.infer<typeof grepQuery>, signal: AbortSignal) {
  const { q, ignoreCase, kind, by, since, until, limit, after = "0" } = query;
  const options = { ignoreCase: ignoreCase === "true", kind: kind as EventKind | undefined, by, since, until, signal };
  const [items, skip]: [GrepHit[], number] = [[], Number(after)];
  let found = 0;
  try {
    for await (const hit of grep(asked, q, { ...options, limit: skip + limit + 1 }))
      if (found++ >= skip && items.length < limit) items.push(hit);
  } catch (error) {
    if (!RathError.is(error, "store.corrupt") || items.length === 0) throw error;
    return { items, next: String(skip + items.length) };
  }
  return { items, ...(found > skip + limit ? { next: String(skip + limit) } : {}) };
}

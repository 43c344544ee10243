/** What callers do to sessions. Everything is recorded as done by them; where a session was continued meanwhile, the answer is a fork of it. */

import { z } from "@hono/zod-openapi";
import { conflict } from "../../wire/api/conflict.ts";
import { ofSession } from "../../wire/api/place.ts";
import { forked, merged, noted, rejected, said, sessionResource } from "../../wire/api/session.ts";
import { conflictsQuery } from "../../wire/api/session-queries.ts";
import { continueSession, openSession, saveSession } from "../open-session.ts";
import { route } from "../route.ts";
import { resourceOf } from "../session-resource.ts";
import { contentOf } from "./sessions.ts";

const continuing = { needs: "sessions:write", params: ofSession, answer: sessionResource } as const;

export const sayInSession = route({
  ...continuing,
  name: "sayInSession",
  at: "POST /v1/sessions/{session}/say",
  summary: "Add a message of the user. The answer has another id where somebody else continued the session: an implicit fork",
  body: said,
  handle: async (call) => {
    const { message, ifHead } = call.body;
    return resourceOf(await continueSession(call, call.params.session, ifHead, (session) => session.say(contentOf(message))));
  },
});

export const noteInSession = route({
  ...continuing,
  name: "noteInSession",
  at: "POST /v1/sessions/{session}/note",
  summary: "Add a remark that no model reads",
  body: noted,
  handle: async (call) => {
    const { text, ifHead } = call.body;
    return resourceOf(await continueSession(call, call.params.session, ifHead, (session) => session.note(text)));
  },
});

export const rejectSession = route({
  ...continuing,
  name: "rejectSession",
  at: "POST /v1/sessions/{session}/reject",
  summary: "Record that a branch is not wanted, and why",
  body: rejected,
  handle: async (call) => {
    const { reason, ifHead } = call.body;
    return resourceOf(await continueSession(call, call.params.session, ifHead, (session) => session.reject(reason)));
  },
});

export const forkSession = route({
  ...continuing,
  name: "forkSession",
  at: "POST /v1/sessions/{session}/fork",
  summary: "Begin a branch, at the newest event or at any other",
  body: forked,
  status: 201,
  handle: async (call) => {
    const { at, label } = call.body;
    const session = await openSession(call, call.params.session, at === undefined ? undefined : String(at));
    return resourceOf(await saveSession(call, session.fork(label)));
  },
});

export const mergeSessions = route({
  ...continuing,
  name: "mergeSessions",
  at: "POST /v1/sessions/{session}/merge",
  summary: "Join other branches into this one",
  body: merged,
  handle: async (call) => {
    const { others, ifHead, ...options } = call.body;
    const branches = await Promise.all(others.map((other) => openSession(call, other)));
    return resourceOf(await continueSession(call, call.params.session, ifHead, (session) => session.merge(branches, options)));
  },
});

export const getConflicts = route({
  name: "getConflicts",
  at: "GET /v1/sessions/{session}/conflicts",
  needs: "sessions:read",
  summary: "What a merge would have to decide",
  params: ofSession,
  query: conflictsQuery,
  answer: z.object({ items: z.array(conflict) }),
  handle: async (call) => {
    const session = await openSession(call, call.params.session, call.query.at);
    return { items: await session.conflicts(await openSession(call, call.query.with)) };
  },
});

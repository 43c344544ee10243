/** Verdicts on sessions: those on record, and those that callers add after the fact. */

import { z } from "@hono/zod-openapi";
import { check, newCheck } from "../../wire/api/check.ts";
import { pageOf } from "../../wire/api/page.ts";
import { ofSession } from "../../wire/api/place.ts";
import { sessionResource } from "../../wire/api/session.ts";
import { saidQuery } from "../../wire/api/session-queries.ts";
import { pageAfter } from "../cursor.ts";
import { continueSession, openSession } from "../open-session.ts";
import { route } from "../route.ts";
import { resourceOf } from "../session-resource.ts";

export const addCheck = route({
  name: "addCheck",
  at: "POST /v1/sessions/{session}/checks",
  needs: "sessions:write",
  summary: "Record a verdict of the caller on a session",
  params: ofSession,
  body: newCheck,
  answer: z.object({ check, session: sessionResource }),
  status: 201,
  handle: async (call) => {
    const { name, passed, score, reason, ifHead } = call.body;
    const verdict = { passed, ...(score === undefined ? {} : { score }), ...(reason === undefined ? {} : { reason }) };
    const session = await continueSession(call, call.params.session, ifHead, (judged) => judged.check(name, () => verdict));
    const added = session.checks.at(-1);
    if (added === undefined) throw new Error("a check left no verdict");
    return { check: added, session: resourceOf(session) };
  },
});

export const getChecks = route({
  name: "getChecks",
  at: "GET /v1/sessions/{session}/checks",
  needs: "sessions:read",
  summary: "The verdicts on a session, oldest first",
  params: ofSession,
  query: saidQuery,
  answer: pageOf(check),
  handle: async (call) => {
    const { checks } = await openSession(call, call.params.session, call.query.at);
    return pageAfter(checks, call.query, ({ event }) => event);
  },
});

/** Sessions: made, found and read. */

import { RathError } from "../../session/errors.ts";
import type { Content } from "../../session/session.ts";
import type { GivenContent } from "../../wire/api/content.ts";
import { pageOf } from "../../wire/api/page.ts";
import { ofSession } from "../../wire/api/place.ts";
import { newSession, sessionResource, sessionRow } from "../../wire/api/session.ts";
import { placeQuery, sessionsQuery } from "../../wire/api/session-queries.ts";
import type { Caller } from "../caller.ts";
import { listSessions } from "../list-sessions.ts";
import { openSession, saveSession } from "../open-session.ts";
import { route } from "../route.ts";
import { resourceOf } from "../session-resource.ts";

export const createSession = route({
  name: "createSession",
  at: "POST /v1/sessions",
  needs: "sessions:write",
  summary: "Make a session",
  body: newSession,
  answer: sessionResource,
  status: 201,
  handle: async (call) => {
    const { message, title, tags } = call.body;
    const principal = principalFor(call.caller, call.body.principal);
    const about = { principal, ...(title === undefined ? {} : { title }), ...(tags === undefined ? {} : { tags }) };
    const created = call.runtime.session(about, call.caller.identity);
    return resourceOf(await saveSession(call, message === undefined ? created : created.say(contentOf(message))));
  },
});

/** Whose session it is decides whose memories are read and written in it: it is the caller's own, unless they act for people. */
export function principalFor({ identity, permissions }: Caller, asked: string | undefined): string {
  if (asked === undefined || asked === identity || permissions.has("people:act")) return asked ?? identity;
  throw new RathError("access.forbidden", `This key makes sessions of ${identity} alone: another principal needs people:act.`, {
    details: { needs: "people:act" },
  });
}

export const getSessions = route({
  name: "getSessions",
  at: "GET /v1/sessions",
  needs: "sessions:read",
  summary: "The sessions of the project, newest first",
  query: sessionsQuery,
  answer: pageOf(sessionRow),
  handle: async ({ runtime, query }) => listSessions(runtime, { ...query, roots: query.roots === "true", folded: query.fields === "all" }),
});

export const getSession = route({
  name: "getSession",
  at: "GET /v1/sessions/{session}",
  needs: "sessions:read",
  summary: "A session as it stands, or as it stood at a step",
  params: ofSession,
  query: placeQuery,
  answer: sessionResource,
  handle: async (call) => resourceOf(await openSession(call, call.params.session, call.query.at)),
});

/** What a caller says, as the library takes it. */
export function contentOf(given: GivenContent): Content {
  if (typeof given === "string") return given;
  return given.map((part) => {
    if (part.type === "text") return part;
    const { data } = part;
    return { ...part, data: typeof data === "string" ? new URL(data) : new Uint8Array(Buffer.from(data.base64, "base64")) };
  });
}

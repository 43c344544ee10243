/** What was said in a session, and what its models read. */

import type { Runtime } from "../../runtime/runtime.ts";
import { RathError } from "../../session/errors.ts";
import type { Node } from "../../session/log.ts";
import type { ModelRequest } from "../../session/message.ts";
import { modelCallBefore, requestOf } from "../../session/request.ts";
import { placeOf } from "../../session/value.ts";
import { message, recordedRequest } from "../../wire/api/content.ts";
import { pageOf } from "../../wire/api/page.ts";
import { ofSession } from "../../wire/api/place.ts";
import { placeQuery, saidQuery } from "../../wire/api/session-queries.ts";
import { fitting } from "../fitting.ts";
import { openSession } from "../open-session.ts";
import { route } from "../route.ts";

export const getMessages = route({
  name: "getMessages",
  at: "GET /v1/sessions/{session}/messages",
  needs: "sessions:read",
  summary: "The conversation, oldest first",
  params: ofSession,
  query: saidQuery,
  answer: pageOf(message),
  handle: async (call) => {
    const { limit, after, at } = call.query;
    const { messages } = await openSession(call, call.params.session, at);
    const start = after === undefined ? 0 : messages.findIndex(({ event }) => event === after) + 1;
    if (after !== undefined && start === 0) throw new RathError("request.invalid", `query.after: no message has the event ${after}.`);
    const items = await fitting(messages.slice(start, start + limit), (one) => one);
    const last = items.at(-1);
    return { items, ...(last === undefined || start + items.length >= messages.length ? {} : { next: last.event }) };
  },
});

export const getRequest = route({
  name: "getRequest",
  at: "GET /v1/sessions/{session}/request",
  needs: "sessions:read",
  summary: "What exactly the newest model call up to a place read, rebuilt and checked against its digest",
  params: ofSession,
  query: placeQuery,
  answer: recordedRequest,
  handle: async (call) => {
    const session = await openSession(call, call.params.session, call.query.at);
    const called = modelCallBefore(placeOf(session).node);
    if (called === undefined)
      throw new RathError("session.not-found", `No model was asked on session ${session.id} up to step ${session.step}.`);
    const request = requestOf(called, call.runtime.platform);
    const before = called.parent === undefined ? undefined : modelCallBefore(called.parent);
    return { ...placed(called), request, ...(before === undefined ? {} : { previous: compared(call.runtime, before, request) }) };
  },
});

function placed({ id, log, step }: Node) {
  return { event: id, session: log.id, step };
}

/** What of a request is that of the call before it; of one that was erased nothing can be compared. */
function compared({ platform }: Runtime, before: Node, request: ModelRequest) {
  const old = before.erased ? undefined : requestOf(before, platform);
  const parts = ["model", "instructions", "tools", "settings", "output"] as const;
  const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
  let same = 0;
  while (old !== undefined && same < Math.min(old.messages.length, request.messages.length)) {
    if (!isSame(old.messages[same], request.messages[same])) break;
    same++;
  }
  return { ...placed(before), same, changed: parts.filter((part) => !isSame(old?.[part], request[part])) };
}

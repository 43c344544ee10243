/** Why something is as it is, who wrote what, and what it cost. */

import type { z } from "@hono/zod-openapi";
import { blame } from "../../audit/blame.ts";
import { cost } from "../../audit/cost.ts";
import { type WhyTarget, why } from "../../audit/why.ts";
import { RathError } from "../../session/errors.ts";
import type { Event } from "../../session/event.ts";
import { ofSession } from "../../wire/api/place.ts";
import { blameQuery, costQuery } from "../../wire/api/session-queries.ts";
import { blameResource, costResource, whyQuery, whyResource } from "../../wire/api/why.ts";
import { textResponse } from "../download.ts";
import { openSession } from "../open-session.ts";
import { route } from "../route.ts";
import { indexOf } from "../session-resource.ts";

export const getWhy = route({
  name: "getWhy",
  at: "GET /v1/sessions/{session}/why",
  needs: "sessions:read",
  summary: "The events that led to something: to a line, an answer, an event, a call, a memory, a route, a check or a cost",
  params: ofSession,
  query: whyQuery,
  answer: whyResource,
  handle: async (call) => {
    const { at, format, ...asked } = call.query;
    const found = await why(await openSession(call, call.params.session, at), targetOf(asked), { signal: call.signal });
    return format === "text" ? textResponse(String(found), "text/plain") : { hops: found.hops };
  },
});

function targetOf(asked: Omit<z.infer<typeof whyQuery>, "at" | "format">): WhyTarget {
  const [target, ...others] = Object.entries(asked).filter(([, value]) => value !== undefined);
  if (target === undefined || others.length > 0)
    throw new RathError("request.invalid", "query: name exactly one of line, answer, event, call, memory, route, check and cost.");
  const [kind, name] = target;
  return (kind === "line" ? name : { [kind]: name }) as WhyTarget;
}

export const getBlame = route({
  name: "getBlame",
  at: "GET /v1/sessions/{session}/blame",
  needs: "sessions:read",
  summary: "For each line of a file the event that wrote it",
  params: ofSession,
  query: blameQuery,
  answer: blameResource,
  handle: async (call) => {
    const { limit, after = "0", at } = call.query;
    const lines = await blame(await openSession(call, call.params.session, at), call.query.path, { signal: call.signal });
    const page = lines.slice(Number(after), Number(after) + limit);
    const events = new Map<string, Event>(page.map(({ event }) => [event.id, event]));
    return {
      items: page.map(({ event, ...line }) => ({ ...line, event: event.id })),
      events: [...events.values()].flatMap((event) => indexOf([{ ...event, erased: event.data === undefined }], "")),
      ...(Number(after) + limit < lines.length ? { next: String(Number(after) + limit) } : {}),
    };
  },
});

export const getCost = route({
  name: "getCost",
  at: "GET /v1/sessions/{session}/cost",
  needs: "sessions:read",
  summary: "What a session cost over all its branches",
  params: ofSession,
  query: costQuery,
  answer: costResource,
  handle: async (call) => {
    const { by, at } = call.query;
    const { toString: _, ...found } = await cost(await openSession(call, call.params.session, at), { by, signal: call.signal });
    return found;
  },
});

/** The events of a session, and single ones. */

import { z } from "@hono/zod-openapi";
import { readEvent, rowOf } from "../../runtime/load.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { parseEnvelope } from "../../session/codec.ts";
import { RathError } from "../../session/errors.ts";
import { type Event, isReturned, isStarted } from "../../session/event.ts";
import type { Node } from "../../session/log.ts";
import { placeOf } from "../../session/value.ts";
import type { StoredEvent } from "../../store/store.ts";
import { eventIndex, eventLineResource, eventResource } from "../../wire/api/event.ts";
import { pageOf } from "../../wire/api/page.ts";
import { eventId, ofSession } from "../../wire/api/place.ts";
import { eventLinesQuery, eventsQuery } from "../../wire/api/session-queries.ts";
import { eventLine, type FindEvent } from "../../wire/event-line.ts";
import { isDamage } from "../damage.ts";
import { fitting } from "../fitting.ts";
import { historyOf } from "../known-history.ts";
import { openSession } from "../open-session.ts";
import { type Call, route } from "../route.ts";
import { type Envelope, envelopeOf, indexOf } from "../session-resource.ts";

type Asked = z.infer<typeof eventsQuery>;

export const getEvents = route({
  name: "getEvents",
  at: "GET /v1/sessions/{session}/events",
  needs: "sessions:read",
  summary: "The events of a session by steps, parents first",
  params: ofSession,
  query: eventsQuery,
  answer: pageOf(z.union([eventResource, eventIndex])),
  handle: async (call) => (call.query.of === "log" ? ofLog(call) : ofAncestors(call)),
});

export const getEvent = route({
  name: "getEvent",
  at: "GET /v1/events/{event}",
  needs: "sessions:read",
  summary: "One event, of any log of the project",
  params: z.object({ event: eventId }),
  answer: eventResource,
  handle: async ({ runtime, params }) => {
    const store = await runtime.store();
    return readEvent(runtime.platform, store, await storedEvent(runtime, params.event));
  },
});

export const getEventLines = route({
  name: "getEventLines",
  at: "GET /v1/events",
  needs: "sessions:read",
  summary: "Events by their ids, in a line each or whole; those that are not here, or are damaged, are left out",
  query: eventLinesQuery,
  answer: z.object({ items: z.array(z.union([eventResource, eventLineResource])) }),
  handle: async ({ runtime, query }) => {
    const ids = query.ids.split(",");
    const asked = await storedById(runtime, ids);
    const here = ids.flatMap((id) => asked.get(id) ?? []);
    // Read one after the other: together they may hold more than there is memory for.
    if (query.fields === "all") {
      const items = await fitting(here, (stored) => readUndamaged(runtime, stored));
      return { items: items.filter((event) => event !== undefined) };
    }
    return { items: await linesOf(runtime, here) };
  },
});

async function linesOf(runtime: Runtime, here: readonly StoredEvent[]): Promise<{ readonly id: string; readonly line: string }[]> {
  const known = await withCalls(runtime, here);
  const items: { readonly id: string; readonly line: string }[] = [];
  for (const stored of here) {
    const event = await readUndamaged(runtime, stored);
    if (event === undefined) continue;
    const behind = new Map<string, Event>();
    let call = known.get(callOf(runtime, stored) ?? "");
    for (let round = 0; round < mostBehind && call !== undefined; round++) {
      const read = await readUndamaged(runtime, call);
      if (read !== undefined) behind.set(read.id, read);
      call = known.get(callOf(runtime, call) ?? "");
    }
    items.push({ id: event.id, line: lineOf(event, (id) => behind.get(id)) });
  }
  return items;
}

/** A result names the mark that it was started, which names its call; no more is needed to say what it is. */
const mostBehind = 3;

/** These, and the calls behind them. */
async function withCalls(runtime: Runtime, here: readonly StoredEvent[]): Promise<ReadonlyMap<string, StoredEvent>> {
  const known = new Map(here.map((stored) => [stored.id, stored]));
  let newest = here;
  for (let round = 0; round < mostBehind; round++) {
    const calls = newest.flatMap((stored) => callOf(runtime, stored) ?? []).filter((id) => !known.has(id));
    newest = [...(await storedById(runtime, [...new Set(calls)])).values()];
    for (const stored of newest) known.set(stored.id, stored);
  }
  return known;
}

/** In characters; whoever wants more reads the event. */
const longestLine = 400;

function lineOf(event: Event, find: FindEvent): string {
  // The rest is not looked at: a message may have megabytes.
  return eventLine(event, find)
    .slice(0, longestLine * 4)
    .replace(/\s+/g, " ")
    .slice(0, longestLine);
}

/** What it is the result of, or that it was begun. */
function callOf({ platform }: Runtime, { envelope }: StoredEvent): string | undefined {
  try {
    const { kind, facts, parents } = parseEnvelope(platform.text(envelope));
    return isReturned(kind) || isStarted(kind) ? (facts.call ?? parents[0]) : undefined;
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

async function storedById(runtime: Runtime, ids: readonly string[]): Promise<ReadonlyMap<string, StoredEvent>> {
  const found = new Map<string, StoredEvent>();
  if (ids.length === 0) return found;
  for await (const stored of (await runtime.store()).events({ ids })) found.set(stored.id, stored);
  return found;
}

async function readUndamaged(runtime: Runtime, stored: StoredEvent): Promise<Event | undefined> {
  try {
    return await readEvent(runtime.platform, await runtime.store(), stored);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

/** The stored event with this id; another project's is none. */
export async function storedEvent(runtime: Runtime, id: string): Promise<StoredEvent> {
  await runtime.effects.writer.flush();
  for await (const event of (await runtime.store()).events({ ids: [id] })) return event;
  throw new RathError("session.not-found", `There is no event ${id} here.`, { details: { event: id } });
}

type Calling = Call<{ readonly session: string }, Asked>;

/** Read as far as the page goes: the rest of the log is not looked at. */
async function ofLog({ rath, runtime, params, query: asked }: Calling) {
  const store = await runtime.store();
  await runtime.effects.writer.flush();
  const row = (await rowOf(store, params.session)) ?? (await rath.open(params.session));
  const begin = asked.after === undefined ? (asked.from ?? 0) : Math.max(asked.from ?? 0, Number.parseInt(asked.after, 10) + 1);
  const page: StoredEvent[] = [];
  for await (const event of store.events({ session: row.id, from: begin, to: asked.to })) {
    page.push(event);
    if (page.length > asked.limit) break;
  }
  if (asked.fields === "all")
    return paged(page, await fitting(page.slice(0, asked.limit), (event) => readEvent(runtime.platform, store, event)));
  const envelopes = page.slice(0, asked.limit).map((event) => storedEnvelope(runtime, event));
  return paged(page, indexOf(envelopes, row.id));
}

function storedEnvelope({ platform }: Runtime, { id, envelope, data }: StoredEvent): Envelope {
  const { step, kind, by, at, session, parents, facts } = parseEnvelope(platform.text(envelope));
  return { id, step, kind, by, at, session, parents, facts, erased: data === undefined };
}

async function ofAncestors(call: Calling) {
  const { from = 0, to = Number.POSITIVE_INFINITY, after, limit, fields } = call.query;
  const { node } = placeOf(await openSession(call, call.params.session));
  const all = historyOf(node);
  let at = firstFrom(all, from);
  if (after !== undefined) {
    const [past = "", id] = after.split(".");
    at = Math.max(at, firstFrom(all, Number(past)));
    while (at < all.length && all[at]?.step === Number(past) && all[at]?.id !== id) at++;
    if (all[at]?.id === id) at++;
  }
  const page: Node[] = [];
  for (; at < all.length && page.length <= limit && (all[at] as Node).step <= to; at++) page.push(all[at] as Node);
  if (fields === "all") return paged(page, await fitting(page.slice(0, limit), (one) => one.event(call.runtime.platform)));
  return paged(page, indexOf(page.slice(0, limit).map(envelopeOf), node.log.id));
}

/** The first event that is not before a step. */
function firstFrom(nodes: readonly Node[], step: number): number {
  let [low, high] = [0, nodes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((nodes[middle] as Node).step < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What is shown of what was read, where one more was read than asked for; the rest is the next page's. */
function paged<Item extends { readonly id: string; readonly step: number }>(read: readonly unknown[], items: readonly Item[]) {
  const last = items.at(-1);
  return { items, ...(last === undefined || items.length === read.length ? {} : { next: `${last.step}.${last.id}` }) };
}

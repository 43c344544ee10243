/** Memory: searched, explained, written and taken back. Every change is a new version that names who made it. */
import { z } from "@hono/zod-openapi";
import type { MemoryRecord } from "../../memory/memory.ts";
import { RathError } from "../../session/errors.ts";
import { memoryUri, noMemory } from "../../session/memory-uri.ts";
import type { Duration, Remembered } from "../../session/session.ts";
import {
  memoryChanged,
  memoryDecision,
  memoryForgetQuery,
  memoryFound,
  memoryListQuery,
  memoryName,
  memoryPut,
  memoryRecord,
  memoryRollback,
  memorySearchQuery,
  memoryUse,
} from "../../wire/api/memory.ts";
import { pageOf, pageQuery } from "../../wire/api/page.ts";
import { whyResource } from "../../wire/api/why.ts";
import { pageAfter, readCursor, writeCursor } from "../cursor.ts";
import { isVisible, userOf, visibleName } from "../memory-names.ts";
import { type Call, route } from "../route.ts";

const ofMemory = z.object({ memory: memoryName });
const place = z.strictObject({ revision: z.number(), uri: z.string() });

export const getMemories = route({
  name: "getMemories",
  at: "GET /v1/memories",
  needs: "memory:read",
  summary: "What is remembered, the newest version of each, oldest write first",
  query: memoryListQuery,
  answer: pageOf(memoryRecord),
  handle: async ({ rath, caller, query: { limit, after, ...wanted } }) => {
    const from = after === undefined ? undefined : readCursor(after, place);
    const items: MemoryRecord[] = [];
    for await (const record of byRevision(rath.memory.list({ ...wanted, user: userOf(caller) }))) {
      if (from !== undefined && (record.revision < from.revision || (record.revision === from.revision && record.uri <= from.uri)))
        continue;
      if (items.length === limit) {
        const { revision, uri } = items.at(-1) as MemoryRecord;
        return { items, next: writeCursor({ revision, uri }) };
      }
      items.push(record);
    }
    return { items };
  },
});

/** In order of their revision, and by name within one: so that a page can begin after any of them. */
async function* byRevision(records: AsyncIterable<MemoryRecord>): AsyncGenerator<MemoryRecord> {
  let same: MemoryRecord[] = [];
  const sorted = (): MemoryRecord[] => same.sort((a, b) => (a.uri < b.uri ? -1 : 1));
  for await (const record of records) {
    if (same[0] !== undefined && same[0].revision !== record.revision) {
      yield* sorted();
      same = [];
    }
    same.push(record);
  }
  yield* sorted();
}

export const searchMemory = route({
  name: "searchMemory",
  at: "GET /v1/memory/search",
  needs: "memory:read",
  summary: "What is remembered and matches, best first",
  query: memorySearchQuery,
  answer: memoryFound,
  handle: async ({ rath, caller, query: { query, ...options } }) => {
    const revision = options.asOf ?? (await rath.memory.revision());
    return { revision, items: await rath.memory.search(query, { ...options, user: userOf(caller) }) };
  },
});

export const getMemory = route({
  name: "getMemory",
  at: "GET /v1/memories/{memory}",
  needs: "memory:read",
  summary: "One memory by its key, uri or uri@version, retracted or not",
  params: ofMemory,
  answer: memoryRecord,
  handle: async (call) => recordNamed(call, await visibleName(call, call.params.memory)),
});

async function recordNamed({ rath }: Pick<Call, "rath">, name: string): Promise<MemoryRecord> {
  const record = await rath.memory.get(name);
  if (record === undefined) throw noMemory(name);
  return record;
}

export const putMemory = route({
  name: "putMemory",
  at: "PUT /v1/memories/{memory}",
  needs: "memory:write",
  summary: "Remember something under a key: a session records who said it and why, and it is published at once",
  params: ofMemory,
  body: memoryPut,
  answer: memoryRecord,
  handle: async (call) => {
    const { rath, runtime, caller, params, body } = call;
    const { content, scope, expires, reason, based } = body;
    const key = params.memory;
    const uri = memoryUri(scope, scope === "user" ? caller.identity : undefined, runtime.memories.clean(key));
    if (based !== undefined) refuseOther(uri, based, (await rath.memory.get(uri))?.version ?? 0);
    const ends = expires === undefined ? {} : { expires: expires as Duration };
    const item: Remembered = { key, content, scope, publish: based === undefined ? "now" : "return", ...ends };
    const said = reason ?? `Remember ${key}: ${typeof content === "string" ? content : JSON.stringify(content)}`;
    const session = rath.session(said, { title: `memory ${key}`.slice(0, 200), tags: ["memory"], principal: caller.identity });
    const remembered = await session.remember(item);
    // What it was staged on is what it is published on, or not at all: nobody overwrites what they never saw.
    if (based !== undefined) {
      refuseOther(uri, based, (remembered.memory.writes.at(-1)?.version ?? 0) - 1);
      await rath.memory.publish(remembered);
    }
    return recordNamed(call, uri);
  },
});

function refuseOther(uri: string, based: number, current: number): void {
  if (current === based) return;
  throw new RathError("memory.changed", `${uri} is at version ${current}, not ${based}: read it again and decide anew.`, {
    details: { uri, based, current },
  });
}

export const forgetMemory = route({
  name: "forgetMemory",
  at: "DELETE /v1/memories/{memory}",
  needs: "memory:write",
  summary: "Forget a memory: nobody recalls it any more. What was made of it stays, unlike with retract",
  params: ofMemory,
  query: memoryForgetQuery,
  answer: memoryChanged,
  handle: async (call) => {
    const { rath, runtime, caller, params, query } = call;
    const record = await recordNamed(call, await visibleName(call, params.memory));
    const { scope, owner, key, uri, state } = record;
    if (state === "retracted") throw noMemory(params.memory);
    if (scope !== "project" && scope !== "user")
      throw new RathError("value.unsupported", `${uri} belongs to a ${scope}, which alone can forget it: retract it instead.`, {
        details: { field: "memory", uri },
      });
    const session = runtime.session({ tags: ["memory"], principal: owner ?? caller.identity }, caller.identity);
    await rath.memory.publish(await session.say(query.reason).forget(key, query.reason, { scope }));
    return { items: [await recordNamed(call, uri)] };
  },
});

export const getMemoryVersions = route({
  name: "getMemoryVersions",
  at: "GET /v1/memories/{memory}/versions",
  needs: "memory:read",
  summary: "Every version of a memory, oldest first",
  params: ofMemory,
  query: z.strictObject(pageQuery),
  answer: pageOf(memoryRecord),
  handle: async (call) => {
    const versions = await call.rath.memory.history(await visibleName(call, call.params.memory));
    return pageAfter(versions, call.query, ({ version }) => String(version));
  },
});

export const getMemoryWhy = route({
  name: "getMemoryWhy",
  at: "GET /v1/memories/{memory}/why",
  needs: "memory:read",
  summary: "The events that led to a memory, nearest first",
  params: ofMemory,
  answer: whyResource,
  handle: async (call) => {
    const { hops } = await call.rath.memory.why(await visibleName(call, call.params.memory), { signal: call.signal });
    return { hops };
  },
});

export const getMemoryUses = route({
  name: "getMemoryUses",
  at: "GET /v1/memories/{memory}/uses",
  needs: "memory:read",
  summary: "Where a memory was recalled, and which model calls read it",
  params: ofMemory,
  query: z.strictObject(pageQuery),
  answer: pageOf(memoryUse),
  handle: async (call) => {
    const uses = [];
    for await (const use of call.rath.memory.usedBy(await visibleName(call, call.params.memory))) uses.push(use);
    return pageAfter(uses, call.query, ({ event, version }) => `${event}.${version}`);
  },
});

export const getMemoryDerived = route({
  name: "getMemoryDerived",
  at: "GET /v1/memories/{memory}/derived",
  needs: "memory:read",
  summary: "What was made of a memory and holds now: what retract takes back with it",
  params: ofMemory,
  query: z.strictObject(pageQuery),
  answer: pageOf(memoryRecord),
  handle: async (call) => {
    const { rath, caller } = call;
    const { uri } = await recordNamed(call, await visibleName(call, call.params.memory));
    const items: MemoryRecord[] = [];
    for await (const derived of rath.memory.derivedFrom(uri)) {
      const newest = await rath.memory.get(derived.uri);
      if (newest?.version === derived.version && newest.state === "published" && isVisible(caller, newest)) items.push(newest);
    }
    return pageAfter(items, call.query, (item) => item.uri);
  },
});

export const retractMemory = route({
  name: "retractMemory",
  at: "POST /v1/memories/{memory}/retract",
  needs: "memory:write",
  summary: "Take a memory back, and everything that was made of it",
  params: ofMemory,
  body: memoryDecision,
  answer: memoryChanged,
  handle: async (call) => {
    const { rath, caller, params, body } = call;
    const written = await rath.memory.retract(await visibleName(call, params.memory), { by: caller.identity, reason: body.reason });
    return { items: written.filter((record) => isVisible(caller, record)) };
  },
});

export const rollbackMemory = route({
  name: "rollbackMemory",
  at: "POST /v1/memory/rollback",
  needs: "memory:write",
  alsoNeeds: "people:act",
  summary: "Make all memory what it was at a revision or a time. For admins: it changes what belongs to others",
  body: memoryRollback,
  answer: memoryChanged,
  handle: async ({ rath, caller, body }) => {
    return { items: await rath.memory.rollback(body.to, { by: caller.identity, reason: body.reason }) };
  },
});

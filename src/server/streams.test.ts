/** Streams through `fetch`: every event once and in order from wherever a reader comes back, live parts between them, and how they end. */
import { expect, test } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { local } from "../../test/support/local-call.ts";
import { eventsIn, listen, type Told } from "../../test/support/sse.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { RathError } from "../session/errors.ts";
import { memoryStore } from "../store/memory.ts";
import type { Fed, Store } from "../store/store.ts";
import { tool } from "../tool/tool.ts";
import { type Follower, hubOf } from "./feed-hub.ts";
import { createServer } from "./server.ts";

const origin = "http://localhost";
const open = { auth: "none-on-loopback" } as const;

test("a session is followed from where it stands: forks and nested work too, other sessions not", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, open);
  const session = await rath.save(rath.session("Hello"));
  await using stream = await listen(server.fetch, `${origin}/v1/sessions/${session.id}/stream`);
  await using branch = await listen(server.fetch, `${origin}/v1/sessions/${session.id}/stream?only=branch`);
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(stream.response.headers.get("x-accel-buffering")).toBe("no");
  expect((await stream.next())?.type).toBe("open");
  expect(stream.raw.join("")).toContain("retry: ");
  await rath.save(rath.session("Somebody else"));
  const fork = await rath.save(session.fork("try").say("in a fork"));
  const last = await rath.save(session.say("the end"));
  const told = await stream.until(({ data }) => data.event?.id === last.head);
  expect(told.map(({ data }) => data.session)).toEqual([fork.id, fork.id, session.id]);
  expect(told.every(({ type, id, data }) => type === "event" && id !== undefined && data.event.session === data.session)).toBe(true);
  expect((await branch.until(({ data }) => data.event?.id === last.head)).map(({ type }) => type)).toEqual(["open", "event"]);
});

test("a reader that comes back after any message gets exactly what it did not get, across servers", async () => {
  const store = memoryStore();
  const kept = { ...store, [Symbol.asyncDispose]: async () => {} };
  await using rath = openrath({ store: kept });
  let session = rath.session("one").say("two").say("three");
  await rath.save(session);
  for (let i = 0; i < 5; i++) {
    session = session.say(`more ${i}`).say("and more").note(`x ${i}`);
    await rath.save(session);
    await rath.save(session.fork(`f${i}`).say("there").say("again"));
  }
  const whole: Told[] = [];
  {
    await using server = createServer(rath, open);
    await using stream = await listen(server.fetch, `${origin}/v1/stream?from=start`);
    const { length } = await allEvents(store);
    while (whole.length < length) whole.push((await stream.next()) as Told);
  }
  expect(eventsIn(whole)).toEqual(await allEvents(store));
  expect(whole.some(({ id }) => id?.includes("~"))).toBe(true);
  await using server = createServer(rath, open);
  for (const [at, { id }] of whole.entries()) {
    await using again = await listen(server.fetch, `${origin}/v1/stream`, id);
    const rest: Told[] = [];
    while (rest.length < whole.length - at - 1) rest.push((await again.next()) as Told);
    expect(eventsIn(rest)).toEqual(eventsIn(whole.slice(at + 1)));
  }
});

// Mutants: only runs that have not ended are known; the first event of a run is nobody's.
test("a reader of a session that comes back when its runs have ended gets what they said of themselves", async () => {
  const flow = new Flow(async (session) => (await session.do("one", () => 1)).do("two", () => 2), "flow");
  await using rath = openrath({ store: "memory", workflows: { flow } });
  await using server = createServer(rath, open);
  const session = await rath.save(rath.session("Hello"));
  const url = `${origin}/v1/sessions/${session.id}/stream`;
  const isEnd = ({ data }: Told): boolean => data.event?.kind === "run.ended";
  await using live = await listen(server.fetch, url);
  const told = [(await live.next()) as Told];
  for (let i = 0; i < 2; i++) {
    await (await rath.run("flow", await rath.open(session.id))).result();
    told.push(...(await live.until(isEnd)));
  }
  const kinds = told.map(({ data }) => data.event?.kind);
  expect(kinds.filter((kind) => kind === "run.started")).toHaveLength(2);
  for (const [at, { id }] of told.slice(0, -1).entries()) {
    await using again = await listen(server.fetch, url, id);
    const rest: Told[] = [];
    while (rest.length < told.length - at - 1) rest.push((await again.next()) as Told);
    expect(rest.map(({ data }) => data.event.kind)).toEqual(kinds.slice(at + 1));
    expect(rest).toEqual(told.slice(at + 1));
  }
  await using whole = await listen(server.fetch, `${url}?from=start`);
  expect((await whole.until(({ id }) => id === told.at(-1)?.id)).slice(-(told.length - 1))).toEqual(told.slice(1));
});

async function allEvents(store: ReturnType<typeof memoryStore>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { events } of store.feed({})) ids.push(...events.map(({ id }) => id));
  return ids;
}

// Mutants: room is waited for once for all that was stored together; a reader that has left is sent the rest of it.
test("what was stored together may be more than may wait: who reads it from the past gets all of it, at its own pace", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, { ...open, limits: { unread: 10_000 } });
  let session = rath.session("begin");
  for (let i = 0; i < 20; i++) session = session.say(`${i} ${"x".repeat(4000)}`);
  await rath.save(session);
  const ids = [...session.events()].map(({ id }) => id);
  const url = `${origin}/v1/sessions/${session.id}/stream`;
  const read = async (from: string, after?: string): Promise<readonly Told[]> => {
    await using stream = await listen(server.fetch, from, after);
    const told: Told[] = [];
    do {
      told.push((await stream.next()) as Told);
      await new Promise((resolve) => setTimeout(resolve, 1));
    } while (told.at(-1)?.type === "event" && told.at(-1)?.data.event.id !== session.head);
    return told;
  };
  const told = await read(`${url}?from=start`);
  expect(eventsIn(told)).toEqual(ids);
  expect(eventsIn(await read(url, told[3]?.id))).toEqual(ids.slice(4));
  const sent: string[] = [];
  const follower: Follower = {
    closed: false,
    wants: () => true,
    send: async ({ stored }) => void sent.push(stored.id),
    fail: () => {},
    room: async () => void Object.assign(follower, { closed: sent.length === 3 }),
  };
  await hubOf(runtimeOf(session)).follow(follower, { after: undefined });
  expect(sent).toEqual(ids.slice(0, 3));
});

test("readers that come and go while events flow each see every event once", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, open);
  let session = await rath.save(rath.session("begin"));
  const url = `${origin}/v1/sessions/${session.id}/stream`;
  const total = 120;
  const writing = (async () => {
    for (let i = 0; i < total; i++) {
      session = session.say(`${i}`);
      await rath.save(session);
      if (i % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  const reader = async (often: number): Promise<string[]> => {
    const seen: string[] = [];
    let after: string | undefined;
    while (seen.length < total) {
      // Leaves after a few and comes back, perhaps while the others go on.
      await using stream = await listen(server.fetch, after === undefined ? `${url}?from=start` : url, after);
      for (let i = 0; i < often && seen.length <= total; i++) {
        const told = await stream.next();
        if (told === undefined) break;
        after = told.id ?? after;
        seen.push(...eventsIn([told]));
      }
    }
    return seen;
  };
  const [a, b, c] = await Promise.all([reader(3), reader(11), reader(1000), writing]);
  const expected = [...session.events()].map(({ id }) => id);
  for (const seen of [a, b, c]) expect(seen.slice(0, expected.length)).toEqual(expected.slice(0, seen.length));
  expect(hubOf(runtimeOf(session)).followers).toBeLessThanOrEqual(1);
});

test("what models say and tools report comes between the events, and is no part of what is come back to", async () => {
  const look = tool({
    name: "look",
    description: "Looks",
    input: z.object({}),
    run: (_, { progress }) => {
      progress("half");
      return "seen";
    },
  });
  const model = scripted({ text: "I will look at it now", calls: [{ tool: "look", input: {} }] }, "It is blue and green");
  const flow = new Agent({ name: "flow", model, tools: [look] });
  await using rath = openrath({ store: "memory", workflows: { flow } });
  await using server = createServer(rath, open);
  const session = await rath.save(rath.session("What colour?"));
  await using stream = await listen(server.fetch, `${origin}/v1/sessions/${session.id}/stream`);
  await stream.next();
  const run = await rath.run("flow", session);
  const told = await stream.until(({ data }) => data.event?.kind === "run.ended");
  await run.result();
  const kinds = told.map(({ type, data }) => (type === "event" ? data.event.kind : type));
  const said = (from: string): string[] => kinds.slice(kinds.indexOf(from));
  expect(said("model.called").slice(0, 2)).toEqual(["model.called", "text-delta"]);
  expect(kinds.indexOf("tool-progress")).toBeGreaterThan(kinds.indexOf("tool.called"));
  expect(kinds.indexOf("tool-progress")).toBeLessThan(kinds.indexOf("tool.returned"));
  const texts = told.filter(({ type }) => type === "text-delta");
  expect(texts.map(({ data }) => data.text).join("")).toBe("I will look at it nowIt is blue and green");
  expect(texts.every(({ id, data }) => id === undefined && data.run === run.id)).toBe(true);

  await using whole = await listen(server.fetch, `${origin}/v1/runs/${run.id}/stream`);
  const parts = await whole.until(({ type }) => type === "end");
  expect(await whole.next()).toBeUndefined();
  expect(parts.map(({ type }) => type)).toEqual(expect.arrayContaining(["event", "text-delta", "tool-start", "tool-end", "end"]));
  const ids = eventsIn(parts);
  for (const at of [0, 3, ids.length - 1]) {
    await using again = await listen(server.fetch, `${origin}/v1/runs/${run.id}/stream`, ids[at]);
    expect(eventsIn(await again.until(({ type }) => type === "end"))).toEqual(ids.slice(at + 1));
  }
});

test("a run that fails says so at its end, and one that does not exist is not found", async () => {
  const broken = new Flow(async () => Promise.reject(new Error("no luck")), "broken");
  await using rath = openrath({ store: "memory", workflows: { broken } });
  await using server = createServer(rath, open);
  const run = await rath.run("broken", rath.session("Go"));
  await run.settle();
  await using stream = await listen(server.fetch, `${origin}/v1/runs/${run.id}/stream`);
  const [failed] = (await stream.until(({ type }) => type === "failed")).slice(-1);
  expect(failed?.data).toMatchObject({ code: "run.failed", message: expect.stringContaining("no luck") });
  const none = await server.fetch(new Request(`${origin}/v1/runs/00000000-0000-7000-8000-000000000000/stream`), local);
  expect([none.status, await none.json()]).toMatchObject([404, { error: { code: "run.not-found" } }]);
  const noSession = await server.fetch(new Request(`${origin}/v1/sessions/abc/stream`), local);
  expect([noSession.status, await noSession.json()]).toMatchObject([404, { error: { code: "session.not-found" } }]);
});

test("a place that is none is refused before the stream begins, with what to do", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, open);
  const answers = await Promise.all(
    ["9".repeat(16), "rubbish", "a~b", "~1", "1~2~3~4", `${"0".repeat(16)}~0~`].map(async (id) => {
      const answer = await server.fetch(new Request(`${origin}/v1/stream`, { headers: { "last-event-id": id } }), local);
      return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
    }),
  );
  expect(answers).toEqual([
    [410, "stream.gone"],
    [410, "stream.gone"],
    [400, "request.invalid"],
    [400, "request.invalid"],
    [400, "request.invalid"],
    [400, "request.invalid"],
  ]);
  const twice = await server.fetch(new Request(`${origin}/v1/stream?from=yesterday`), local);
  expect(twice.status).toBe(400);
});

// Mutants: what cannot be read ends the stream; it is left out; its message has no id.
test("what cannot be read is told as that, with its place, to whoever follows and whoever comes later, and the rest follows", async () => {
  const store = memoryStore();
  let lost = false;
  const damaged: string[] = [];
  const failing: Store = {
    ...store,
    blob: async (hash) => (lost ? undefined : store.blob(hash)),
    feed: (query) =>
      (async function* (): AsyncGenerator<Fed> {
        for await (const fed of store.feed(query)) {
          const log = fed.events[0]?.session;
          const problem = new RathError("store.corrupt", "The file is damaged.", { details: { log } });
          yield log !== undefined && damaged.includes(log) ? { place: fed.place, events: [], problem } : fed;
        }
      })(),
  };
  await using rath = openrath({ store: failing });
  await using server = createServer(rath, open);
  const [session, other] = [await rath.save(rath.session("Hello")), rath.session("Damaged")];
  await using live = await listen(server.fetch, `${origin}/v1/stream`);
  await using family = await listen(server.fetch, `${origin}/v1/sessions/${session.id}/stream`);
  for (const stream of [live, family]) expect((await stream.next())?.type).toBe("open");
  [lost] = [true, damaged.push(other.id)];
  const large = await rath.save(session.say([{ type: "file", mediaType: "image/png", data: new Uint8Array(1 << 20) }]));
  await rath.save(other);
  const last = await rath.save(large.say("and on"));
  const told = await live.until(({ data }) => data.event?.id === last.head);
  expect(told.map(({ type, data }) => [type, data.event?.id ?? data.event, data.session])).toEqual([
    ["unreadable", large.head, session.id],
    ["unreadable", undefined, other.id],
    ["event", last.head, session.id],
  ]);
  expect(told[0]?.data).toMatchObject({ type: "unreadable", by: "user", code: "store.corrupt", message: expect.stringContaining("Blob") });
  expect((await family.until(({ data }) => data.event?.id === last.head)).map(({ type }) => type)).toEqual(["unreadable", "event"]);
  await using late = await listen(server.fetch, `${origin}/v1/stream?from=start`);
  const all = await late.until(({ data }) => data.event?.id === last.head);
  expect(all.slice(-3)).toEqual(told);
  for (const [at, { id }] of told.entries()) {
    await using again = await listen(server.fetch, `${origin}/v1/stream`, id);
    if (at < 2) expect(await again.next()).toEqual(told[at + 1]);
  }
});

// Mutants: what cannot be read ends the stream; its message has no id.
test("a run of which something cannot be read is told to its end, with what is wrong in its place", async () => {
  const store = memoryStore();
  let lost = false;
  const failing: Store = { ...store, blob: async (hash) => (lost ? undefined : store.blob(hash)) };
  const large = [{ type: "file", mediaType: "image/png", data: new Uint8Array(1 << 20) }] as const;
  const flow = new Flow(async (session) => (await session.do("one", () => 1)).say(large).do("two", () => 2), "flow");
  await using rath = openrath({ store: failing, workflows: { flow } });
  await using server = createServer(rath, open);
  const run = await rath.run("flow", rath.session("Go"));
  await run.result();
  const url = `${origin}/v1/runs/${run.id}/stream`;
  const isOver = ({ type }: Told): boolean => type === "end" || type === "error";
  await using before = await listen(server.fetch, url);
  const whole = await before.until(isOver);
  lost = true;
  await using after = await listen(server.fetch, url);
  const told = await after.until(isOver);
  expect(told.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
  const at = told.findIndex(({ type }) => type === "unreadable");
  expect(told.filter((_, index) => index !== at)).toEqual(whole.filter((_, index) => index !== at));
  const { event, session } = whole[at]?.data ?? {};
  expect(event.kind).toBe("message.added");
  expect(told[at]).toMatchObject({ id: event.id, data: { event: event.id, by: event.by, session, run: run.id, code: "store.corrupt" } });
  await using again = await listen(server.fetch, url, told[at]?.id);
  expect(await again.until(isOver)).toEqual(told.slice(at + 1));
});

test("a server that stops ends its streams with a word, and nobody follows any more", async () => {
  await using rath = openrath({ store: "memory" });
  const server = createServer(rath, { ...open, limits: { heartbeat: 20 } });
  const session = await rath.save(rath.session("Hello"));
  await using stream = await listen(server.fetch, `${origin}/v1/stream`);
  await stream.next();
  const beats = stream.next();
  while (stream.raw.filter((text) => text.includes(": \n\n")).length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(hubOf(runtimeOf(session)).followers).toBe(1);
  await server.close();
  expect(await beats).toBeUndefined();
  expect(stream.raw.join("")).toMatch(/: the server stops: come back\n\n$/);
  expect(hubOf(runtimeOf(session)).followers).toBe(0);
});

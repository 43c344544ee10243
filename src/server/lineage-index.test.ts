/** The columns of a lineage say what the events themselves say. */
import { expect, test } from "vitest";
import { Lineage } from "../../inspector/src/lineage/lineage.ts";
import { lineageEvents } from "../audit/lineage-events.ts";
import { connect } from "../client/client.ts";
import { openrath } from "../openrath.ts";
import { heedErasures } from "../runtime/heed-erasures.ts";
import { runtimeOf } from "../runtime/replay.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { Workflow } from "../workflow/workflow.ts";
import { createServer } from "./server.ts";

class Branching extends Workflow {
  async forward(session: Session): Promise<Session> {
    const left = session.fork("left").say("left");
    const right = session.fork("right").say("right");
    const bad = await session
      .fork("bad")
      .do("fail", () => Promise.reject(new Error("no")))
      .catch(() => session.fork("worse"));
    const merged = await left.merge([right]);
    const joined = (await merged.merge([bad.reject("it failed")])).say("merged");
    return (await joined.check("tests", () => true)).check("style", () => false);
  }
}

test("every row has the id, branch, kind, writer, step, time and parents of its event, and events that come later are added alike", async () => {
  await using rath = openrath({ store: "memory" });
  const flow = new Branching();
  const run = await rath.run(flow, rath.session("begin"));
  const session = await run.result();
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const env = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };
  const client = connect({ url: "http://localhost", fetch: (request) => server.fetch(request, env) });
  const lineage = new Lineage(await client.sessions.lineage(session.id));
  const events = await lineageEvents(await rath.open(session.id));
  expect(lineage.count).toBe(events.length);
  const grown = new Lineage({ ...(await client.sessions.lineage(session.id)), ...none });
  for (const event of events) grown.add(event as never);
  for (const [row, event] of events.entries())
    for (const one of [lineage, grown])
      expect({
        ...{ id: one.id(row), session: one.branch(row), kind: one.kind(row), by: one.by(row), step: one.step(row) },
        ...{ at: new Date(one.at(row)).toISOString(), parents: one.parents(row).map((parent) => one.id(parent)) },
        ...{ outcome: one.trouble(row) ?? "ok", ms: one.spent(row)?.ms, adopt: one.has(row, "adopt") },
        ...{ passed: one.has(row, "passed"), failed: one.has(row, "failed") },
      }).toEqual({
        ...{ id: event.id, session: event.session, kind: event.kind, by: event.by, step: event.step },
        ...{ at: event.at, parents: [...event.parents] },
        ...{ outcome: event.facts.outcome ?? "ok", ms: event.facts.ms },
        adopt: event.kind === "session.merged" && event.data.adopt === true,
        passed: event.kind === "check.returned" && event.data.passed === true,
        failed: event.kind === "check.returned" && event.data.passed === false,
      });
  expect(lineage.rowOf(session.head)).toBe(events.findIndex(({ id }) => id === session.head));
  expect(lineage.find(String(session.step), session.id)).toBe(lineage.rowOf(session.head));
});

const none = {
  ...{ count: 0, id: "", branch: [], kind: [], by: [], step: [], at: [], parents: [] },
  ...{ marks: { row: [], mark: [] }, outcomes: { row: [], outcome: [] }, calls: { row: [], call: [] } },
  spent: { row: [], ms: [], input: [], output: [], usd: [] },
  ...{ sessions: [], kinds: [], writers: [] },
};

test("lines are of the events that were asked for, cut, and leave out what is not here", async () => {
  await using rath = openrath({ store: "memory" });
  const session = await rath.save(rath.session(`a long\n  message ${"x".repeat(5000)}`));
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const env = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };
  const client = connect({ url: "http://localhost", fetch: (request) => server.fetch(request, env) });
  const { items } = await client.project.eventLines([session.head, "0".repeat(64)]);
  expect(items).toEqual([{ id: session.head, line: expect.stringMatching(/^user: a long message x{300,}$/) }]);
  expect(items[0]?.line.length).toBe(400);
});

// Mutant: an answer that was kept counts whatever is known to be erased since.
test("what another process erased is marked as soon as that is known, also where the answer was kept before", async () => {
  const store = memoryStore();
  await using rath = openrath({ store });
  await using other = openrath({ store: { ...store, [Symbol.asyncDispose]: async () => {} } });
  const session = await rath.save(rath.session("a secret"));
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const env = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };
  const client = connect({ url: "http://localhost", fetch: (request) => server.fetch(request, env) });
  const marked = async (): Promise<readonly string[]> => (await client.sessions.lineage(session.id)).marks.mark;
  expect(await marked()).not.toContain("erased");
  await other.erase({ session: session.id }, { by: "human:root", reason: "asked" });
  await marked(); // nobody looked since
  expect(await heedErasures(runtimeOf(session), 0)).toBeGreaterThan(0);
  expect(await marked()).toContain("erased");
});

// Mutant: what is damaged ends the answer.
test("events that are damaged are left out of those that are asked for together", async () => {
  const store = memoryStore();
  let lost = false;
  const failing: Store = { ...store, blob: async (hash) => (lost ? undefined : store.blob(hash)) };
  await using rath = openrath({ store: failing });
  const session = await rath.save(rath.session("Hello"));
  const large = await rath.save(session.say([{ type: "file", mediaType: "image/png", data: new Uint8Array(1 << 20) }]));
  const last = await rath.save(large.say("and on"));
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const env = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };
  const client = connect({ url: "http://localhost", fetch: (request) => server.fetch(request, env) });
  const told = async (): Promise<readonly string[]> =>
    (await client.project.eventLines([session.head, large.head, last.head])).items.map(({ id }) => id);
  expect(await told()).toEqual([session.head, large.head, last.head]);
  lost = true;
  expect(await told()).toEqual([session.head, last.head]);
});

// Mutants: all are read before the first is told; the call behind a mark that was not asked for is not looked for.
test("events are read one after the other, and say what they are results of, whether that was asked for or not", async () => {
  const store = memoryStore();
  let reads = 0;
  const counting: Store = {
    ...store,
    blob: async (hash) => {
      reads++;
      return store.blob(hash);
    },
  };
  await using rath = openrath({ store: counting });
  let session = rath.session("Hello");
  const heads: string[] = [];
  for (let i = 0; i < 5; i++) {
    session = await rath.save(session.say([{ type: "file", mediaType: "image/png", data: new Uint8Array(1 << 20).fill(i) }]));
    heads.push(session.head);
  }
  const done = await rath.save(await session.do("tell", () => "told"));
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const env = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };
  const whole = await server.fetch(new Request(`http://localhost/v1/events?fields=all&ids=${heads.join()}`), env);
  const { items } = (await whole.json()) as { readonly items: readonly { readonly id: string }[] };
  expect(items.length).toBeLessThan(5);
  expect(reads).toBe(items.length); // the rest was not read
  const line = await server.fetch(new Request(`http://localhost/v1/events?ids=${done.head}`), env);
  expect(await line.json()).toEqual({ items: [{ id: done.head, line: expect.stringContaining("tell") }] });
});

/** The client against a real server: over HTTP, and through the server's own `fetch` in the same process. */
import { describe, expect, test } from "vitest";
import { type Client, connect, RathError } from "../../src/client/client.ts";
import { openrath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { createServer } from "../../src/server/server.ts";
import { Flow } from "../support/flow.ts";
import { cuttingProxy } from "../support/raw-server.ts";
import { servedHttp } from "../support/served-http.ts";

/** What the adapter for Node says of a call from this machine. */
const fromHere = { incoming: { socket: { remoteAddress: "127.0.0.1" } } };

const ways: readonly [string, (rath: Rath, use: (client: Client) => Promise<void>) => Promise<void>][] = [
  [
    "over HTTP",
    async (rath, use) => {
      await using server = createServer(rath, { auth: "none-on-loopback" });
      await using http = await servedHttp(server);
      await use(connect({ url: http.url }));
    },
  ],
  [
    "in one process, under a path",
    async (rath, use) => {
      await using server = createServer(rath, { auth: "none-on-loopback", basePath: "/rath" });
      await use(connect({ url: "http://localhost/rath/", fetch: (request) => server.fetch(request, fromHere) }));
    },
  ],
];

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) found.push(one);
  return found;
}

describe.each(ways)("%s", (_way, within) => {
  test("sessions are made, continued, forked, listed over pages and read", async () => {
    await using rath = openrath({ store: "memory" });
    await within(rath, async ({ sessions, project, server }) => {
      expect(await server.health()).toEqual({ status: "ok" });
      const { id, head } = await sessions.create({ message: "Hello <b>", title: "T" });
      const said = await sessions.say(id, "Again", { ifHead: head });
      expect(said).toMatchObject({ id, title: "T" });
      const fork = await sessions.fork(id, { at: said.step, label: "try" });
      await sessions.say(fork.id, "Elsewhere");
      for (let made = 0; made < 3; made++) await sessions.create({ message: `Number ${made}` });
      const listed = await all(sessions.list({ limit: 2 }));
      expect(new Set(listed.map((one) => one.id)).size).toBe(5);
      const { items, next } = await sessions.list({ limit: 2 }).page();
      expect(items).toHaveLength(2);
      expect((await sessions.list({ limit: 2 }).page(next)).items[0]).toEqual(listed[2]);
      expect((await all(sessions.messages(id, { limit: 1 }))).map(({ text }) => text)).toEqual(["Hello <b>", "Again"]);
      const events = await all(sessions.events(id, { limit: 2 }));
      expect(events.at(-1)?.id).toBe(said.head);
      expect((await project.event(said.head)).kind).toBe(events.at(-1)?.kind);
      expect((await project.diff({ a: id, b: fork.id })).identical).toBe(false);
      expect(await project.diff({ a: id, b: fork.id, format: "text" })).toContain("Elsewhere");
      expect(await sessions.graph(id, { format: "svg" })).toMatch(/^<svg/);
      expect((await sessions.verify(id)).ok).toBe(true);
    });
  });

  test("a session is exported by a job, and taken in again however its bytes come", async () => {
    await using rath = openrath({ store: "memory" });
    await using other = openrath({ store: "memory" });
    await within(rath, async ({ sessions, jobs }) => {
      const { id, head } = await sessions.create({ message: "Hello" });
      const job = await jobs.export(id, { format: "bundle" });
      const seen: string[] = [];
      const bytes = new Uint8Array(await (await jobs.done(job.id, { onProgress: ({ status }) => seen.push(status) })).arrayBuffer());
      expect(seen.at(-1)).toBe("done");
      expect((await (await jobs.done((await jobs.dossier(id)).id)).text()).toLowerCase()).toContain("<html");
      await within(other, async (elsewhere) => {
        for (const upload of [bytes, new Blob([bytes]), new Response(bytes).body as ReadableStream<Uint8Array>])
          expect(await elsewhere.sessions.import(upload)).toMatchObject({ id, head });
        await expect(elsewhere.sessions.import(bytes.subarray(0, 100))).rejects.toMatchObject({ code: "bundle.invalid" });
      });
      await jobs.cancel(job.id);
    });
  });

  test("memory is written, found and taken back by names of any shape", async () => {
    await using rath = openrath({ store: "memory" });
    await within(rath, async ({ memory }) => {
      for (const key of ["plain", "a/b c?d#é", "50%"]) {
        const { uri, version } = await memory.remember(key, { content: `of ${key}`, reason: "said so" });
        expect(await memory.get(key)).toMatchObject({ key, version });
        expect((await memory.get(`${uri}@${version}`)).content).toBe(`of ${key}`);
        expect((await all(memory.history(uri))).length).toBe(1);
      }
      expect((await memory.search({ query: "plain" })).items[0]?.key).toBe("plain");
      expect((await memory.why("plain")).hops.length).toBeGreaterThan(0);
      expect((await memory.retract("plain", { reason: "wrong" })).items).toHaveLength(1);
      expect((await all(memory.list({ state: "published", limit: 1 }))).length).toBe(2);
    });
  });

  test("what is refused has the server's code", async () => {
    await using rath = openrath({ store: "memory" });
    await within(rath, async ({ sessions }) => {
      const { id, head } = await sessions.create({ message: "Hello" });
      await sessions.say(id, "More");
      const refused = async (call: Promise<unknown>): Promise<unknown> =>
        call.then(
          () => "answered",
          (error) => RathError.is(error) && [error.code, error.details["status"]],
        );
      expect(await refused(sessions.get("0192f3a4-0000-7000-8000-000000000000"))).toEqual(["session.not-found", 404]);
      expect(await refused(sessions.get("no such id"))).toEqual(["request.invalid", 400]);
      expect(await refused(sessions.say(id, "Late", { ifHead: head }))).toEqual(["store.conflict", 409]);
      expect(await refused(sessions.file(id, { path: "a" }))).toEqual(["workspace.not-found", 404]);
      expect(await refused(all(sessions.events(id, { after: "nowhere" })))).toEqual(["request.invalid", 400]);
    });
  });
});

test("a key lets in, and none after it was revoked: its stream ends with the reason", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, { limits: { heartbeat: 20 } });
  await using open = createServer(rath, { auth: "none-on-loopback" });
  await using http = await servedHttp(server);
  await using local = await servedHttp(open);
  const { keys } = connect({ url: local.url });
  const { id, token } = await keys.create({ identity: "human:ada", roles: ["operator"] });
  const client = connect({ url: http.url, key: token, backoffMs: 1 });
  expect((await client.server.info()).caller).toMatchObject({ identity: "human:ada", key: id });
  await expect(connect({ url: http.url }).server.info()).rejects.toMatchObject({
    code: "access.unauthenticated",
    details: { status: 401 },
  });
  await expect(client.keys.list().page()).rejects.toMatchObject({ code: "access.forbidden", details: { request: expect.any(String) } });
  const { id: session } = await client.sessions.create({ message: "Hello" });
  const reading = all(client.sessions.stream(session, { onOpen: () => void keys.revoke(id) }));
  await expect(reading).rejects.toMatchObject({ code: "access.unauthenticated" });
});

test("a run that is started with a key is started once, however often the answer is lost", async () => {
  const flow = new Flow(async (session) => session.note("done"));
  await using rath = openrath({ store: "memory", workflows: { flow } });
  await using server = createServer(rath, { auth: "none-on-loopback" });
  await using http = await servedHttp(server);
  let asked = 0;
  await using proxy = await cuttingProxy(
    () => http.port,
    () => (++asked <= 2 ? 20 : undefined),
  );
  const { runs } = connect({ url: proxy.url, backoffMs: 1 });
  const run = await runs.start({ workflow: "flow", message: "Go", key: "once" });
  expect(asked).toBe(3);
  expect((await all(runs.list({ limit: 1 }))).map(({ id }) => id)).toEqual([run.id]);
  asked = 0;
  await using another = await cuttingProxy(
    () => http.port,
    () => (++asked <= 2 ? 20 : undefined),
  );
  await expect(connect({ url: another.url, backoffMs: 1 }).runs.start({ workflow: "flow", message: "Go" })).rejects.toMatchObject({
    code: "server.unreachable",
    message: expect.stringContaining("not known"),
  });
  expect(asked).toBe(1);
});

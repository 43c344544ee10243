/** Streams of the client against a real server: cut at any byte, and over a restart, what is read is what is on record. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { connect, RathError, type Streamed, type StreamedPart } from "../../src/client/client.ts";
import { scripted } from "../../src/model/scripted.ts";
import { openrath } from "../../src/openrath.ts";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { createServer } from "../../src/server/server.ts";
import { tool } from "../../src/tool/tool.ts";
import { Flow } from "../support/flow.ts";
import { cuttingProxy } from "../support/raw-server.ts";
import { servedHttp } from "../support/served-http.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-client-"));
afterAll(() => rmSync(folder, { recursive: true }));

const paced = { backoffMs: 1, retries: 1000 };
const open = { auth: "none-on-loopback" } as const;
type Part = Streamed<StreamedPart>;

/** Reads until a part, or to the end. */
async function read(stream: AsyncIterable<Part>, last: (part: Part) => boolean = () => false): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) {
    parts.push(part);
    if (last(part)) break;
  }
  return parts;
}

const eventIds = (parts: readonly Part[]): string[] => parts.flatMap((part) => (part.type === "event" ? [part.event.id] : []));

test("wherever connections are cut, a session and a project are streamed as they are on record", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, open);
  await using http = await servedHttp(server);
  let session = rath.session("one <b>\u2028 \u{1f600}").say("two");
  for (let i = 0; i < 6; i++) {
    session = session.say(`more ${i}`).note("x".repeat(i * 100));
    await rath.save(session);
    await rath.save(session.fork(`f${i}`).say("there").say("again"));
  }
  const record = [...session.events()].map(({ id }) => id);
  const whole = await read(connect({ url: http.url }).sessions.stream(session.id, { from: "start" }), isEvent(session.head));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3000), { minLength: 1, maxLength: 8 }), async (cuts) => {
      const left = [...cuts];
      await using proxy = await cuttingProxy(
        () => http.port,
        () => left.shift(),
      );
      const { sessions, project } = connect({ url: proxy.url, ...paced });
      const branch = await read(sessions.stream(session.id, { from: "start", only: "branch" }), isEvent(session.head));
      expect(eventIds(branch)).toEqual(record);
      left.push(...cuts);
      const all = await read(project.stream({ from: "start" }), (part) => isEvent(session.head)(part));
      expect(eventIds(all)).toEqual(eventIds(whole));
    }),
    { numRuns: 6 },
  );
});

const isEvent =
  (id: string) =>
  (part: Part): boolean =>
    part.type === "event" && part.event.id === id;

/** Talks, looks twice, talks: with tools and texts that come in pieces. */
function looking(): Agent {
  const look = tool({
    name: "look",
    description: "Looks",
    input: z.object({ at: z.string() }),
    run: async ({ at }, { progress }) => {
      progress("half");
      await new Promise((resolve) => setTimeout(resolve, 5));
      return `${at} seen`;
    },
  });
  const replies = [
    { text: "I will look at it now", calls: [{ tool: "look", input: { at: "a" } }] },
    { text: "And once more", calls: [{ tool: "look", input: { at: "b" } }], delay: 20 },
    { text: "It is blue, green and a bit yellow", delay: 20 },
  ];
  return new Agent({ name: "looking", model: scripted(...replies), tools: [look] });
}

test("a run is streamed to its end, cut or not: each event and each tool once, and every reply in full", async () => {
  await using rath = openrath({ store: "memory", workflows: { looking: looking() } });
  await using server = createServer(rath, open);
  await using http = await servedHttp(server);
  const cuts = fc.array(fc.nat(4000), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(cuts, fc.boolean(), async (points, live) => {
      const left = [...points];
      await using proxy = await cuttingProxy(
        () => http.port,
        () => left.shift(),
      );
      const { runs } = connect({ url: proxy.url, ...paced });
      const run = await rath.run("looking", rath.session("What colour?"));
      if (!live) await run.result();
      const parts = await read(runs.stream(run.id));
      expect(eventIds(parts)).toEqual(await recordOf(rath, run.id));
      for (const type of ["tool-start", "tool-end"]) expect(parts.filter((part) => part.type === type).length, type).toBe(2);
      expect(textIn(parts)).toBe("I will look at it nowAnd once moreIt is blue, green and a bit yellow");
      left.length = 0;
      expect((await runs.done(run.id)).status).toBe("done");
    }),
    { numRuns: 6 },
  );
});

async function recordOf(rath: Rath, run: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const part of (await rath.attach(run)).stream()) if (part.type === "event") ids.push(part.event.id);
  return ids;
}

/** As a screen shows it: a reply that begins again takes the place of what was shown of it. */
function textIn(parts: readonly Part[]): string {
  let [done, reply] = ["", ""];
  for (const part of parts) {
    if (part.type === "text-delta") reply = part.restart === true ? part.text : reply + part.text;
    if (part.type !== "event" || part.event.kind !== "model.returned") continue;
    done += reply;
    reply = "";
  }
  return done;
}

test("a run that fails or is cancelled ends its stream with the reason, and its result says the same", async () => {
  const flow = new Flow(async (session) => session.do("break", async () => Promise.reject(new Error("it broke"))));
  const slow = new Flow(async (session) => session.wait("1h"));
  await using rath = openrath({ store: "memory", workflows: { flow, slow } });
  await using server = createServer(rath, open);
  await using http = await servedHttp(server);
  const { runs } = connect({ url: http.url });
  const failed = await rath.run("flow", rath.session("x"));
  await expect(read(runs.stream(failed.id))).rejects.toSatisfy((error) => RathError.is(error) && error.message.includes("it broke"));
  expect(await runs.done(failed.id)).toMatchObject({ status: "failed", error: { message: expect.stringContaining("it broke") } });
  const waiting = await rath.run("slow", rath.session("x"));
  expect((await runs.done(waiting.id, { until: "settled" })).status).toBe("waiting");
  const cancelling = read(runs.stream(waiting.id));
  cancelling.catch(() => {});
  await runs.cancel(waiting.id, { reason: "enough" });
  await expect(cancelling).rejects.toMatchObject({ code: "run.cancelled" });
});

test("a server that is stopped and started again on the same store and port is not missed", async () => {
  const options: RathOptions = { store: join(folder, "restart.db") };
  let rath = openrath(options);
  let server = createServer(rath, open);
  let http = await servedHttp(server);
  const { port, url } = http;
  const first = await rath.save(rath.session("begin"));
  let opened = 0;
  let last: string | undefined;
  const stream = connect({ url, ...paced }).sessions.stream(first.id, { from: "start", onOpen: () => opened++ });
  const reading = read(stream, (part) => part.type === "event" && part.event.id === last);
  let session = first;
  for (let round = 0; round < 3; round++) {
    session = await rath.open(first.id);
    for (let i = 0; i < 12; i++) session = await rath.save(session.say(`${round} ${i}`));
    // One that has not been heard of yet cannot be missed.
    await expect.poll(() => opened, { timeout: 20_000 }).toBe(round + 1);
    if (round === 2) break;
    // Once it is told to stop, once its connections just break.
    if (round === 0) await server.close();
    await http.kill();
    await server.close();
    await rath.close();
    rath = openrath(options);
    server = createServer(rath, open);
    http = await servedHttp(server, port);
  }
  session = session.say("the end");
  last = session.head;
  await rath.save(session);
  const uncut = await read(connect({ url }).sessions.stream(first.id, { from: "start" }), isEvent(last));
  expect(eventIds(uncut)).toEqual(expect.arrayContaining([...session.events()].map(({ id }) => id)));
  expect(eventIds(await reading)).toEqual(eventIds(uncut));
  expect(opened).toBe(3);
  await http.kill();
  await server.close();
  await rath.close();
});

test("whoever goes on after a cursor is told what a run that wrote before it says of itself later", async () => {
  const options: RathOptions = { store: join(folder, "later.db") };
  const all = async (after?: string): Promise<Part[]> => {
    await using rath = openrath(options);
    await using server = createServer(rath, open);
    await using http = await servedHttp(server);
    const said = await rath.save((await rath.open(id)).say("more"));
    return await read(
      connect({ url: http.url }).sessions.stream(id, after === undefined ? { from: "start" } : { after }),
      isEvent(said.head),
    );
  };
  const first = openrath(options);
  const { id } = await first.save(first.session("begin"));
  const seen = await all(); // another process reads, and goes on, before the first one signs what it has written
  await first.close();
  const rest = await all(seen.at(-1)?.cursor);
  expect(rest.map((part) => part.type === "event" && part.event.kind)).toEqual(["run.signed", "run.signed", "message.added"]);
  const whole = await all();
  expect(eventIds(whole).slice(0, -2)).toEqual(eventIds([...seen, ...rest]));
});

test("what waits is told once, over cuts too: what came and what was decided meanwhile", async () => {
  const flow = new Flow(async (session) => session.ask("Go on?", z.boolean()));
  await using rath = openrath({ store: "memory", workflows: { flow } });
  await using server = createServer(rath, open);
  await using http = await servedHttp(server);
  let through = true;
  await using proxy = await cuttingProxy(
    () => (through ? http.port : 1),
    () => undefined,
  );
  const { pending, runs } = connect({ url: proxy.url, ...paced });
  const direct = connect({ url: http.url });
  const ask = async (): Promise<string> => {
    const { id } = await direct.runs.start({ workflow: "flow", message: "x" });
    const settled = await rath.resume(id).then((run) => run.settle());
    return settled.status === "waiting" ? (settled.pending[0]?.id as string) : expect.unreachable(settled.status);
  };
  const [one, two] = [await ask(), await ask()];
  const told: (readonly unknown[])[] = [];
  let heard = (): void => {};
  const reading = (async () => {
    for await (const part of pending.stream()) {
      told.push([
        part.type,
        ...(part.type === "snapshot" ? part.pending.map(({ id }) => id) : [part.type === "pending" ? part.pending.id : part.id]),
      ]);
      heard();
      if (told.length === 5) break;
    }
  })();
  const until = async (count: number): Promise<void> => {
    while (told.length < count)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
  };
  await until(1);
  await direct.pending.decide(one, { answer: true, reason: "yes" });
  await until(2);
  through = false;
  for (const socket of proxy.sockets) socket.destroy();
  await direct.pending.decide(two, { answer: false });
  const three = await ask();
  through = true;
  await until(4);
  expect((await direct.pending.decision(two)).answer).toBe(false);
  await direct.pending.decide(three, { answer: true });
  await reading;
  expect(told[0]?.[0]).toBe("snapshot");
  expect(new Set(told[0]?.slice(1))).toEqual(new Set([one, two]));
  expect(told.slice(1)).toEqual([
    ["settled", one],
    ["settled", two],
    ["pending", three],
    ["settled", three],
  ]);
  expect((await runs.list().page()).items).toHaveLength(3);
});

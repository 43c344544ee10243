/** Streams of the client: whatever happens to the connection, every part on record comes once, in order. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { answered, cuttingProxy, rawServer } from "../../test/support/raw-server.ts";
import { RathError } from "../session/errors.ts";
import { Connection } from "./connection.ts";
import { type Streamed, type StreamOptions, type StreamRetry, streamOf } from "./stream.ts";

type Part = { readonly type: string; readonly text?: string; readonly session?: string; readonly restart?: true };

const part = (id: number, text = `part ${id}`): string => `id: ${id}\nevent: event\ndata: ${JSON.stringify({ type: "event", text })}\n\n`;
const end = "event: end\ndata: {}\n\n";
const sse = (text: string): string => answered(200, "text/event-stream", text);
const paced = { retries: 2, backoffMs: 1 };

function read(url: string, options: StreamOptions = {}, how: object = paced): AsyncIterable<Streamed<Part>> {
  return streamOf<Part>(new Connection({ url, ...how }), { path: "/v1/x/stream" }, options);
}

async function all(stream: AsyncIterable<Streamed<Part>>): Promise<readonly Streamed<Part>[]> {
  const found: Streamed<Part>[] = [];
  for await (const one of stream) found.push(one);
  return found;
}

/** A server of so many parts, that resumes; `answer` may do something else with a request. */
async function recordServer(
  texts: readonly string[],
  answer?: (request: IncomingMessage, response: ServerResponse, after: number) => boolean,
): Promise<{ readonly port: number; readonly url: string; readonly asked: string[] } & AsyncDisposable> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const last = String(request.headers["last-event-id"] ?? "0");
    asked.push(last);
    if (answer?.(request, response, Number(last)) === true) return;
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    for (let id = Number(last) + 1; id <= texts.length; id++) response.write(part(id, texts[id - 1]));
    response.end(end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port, url: `http://127.0.0.1:${port}`, asked, [Symbol.asyncDispose]: close };
}

test("wherever connections are cut, each part comes once and none is missing", async () => {
  const texts = fc.array(fc.oneof(fc.string({ maxLength: 60 }), fc.constant("é\u2028\ud83d\ude00\n\r\0")), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(texts, fc.array(fc.nat(900), { maxLength: 8 }), async (said, cuts) => {
      await using server = await recordServer(said);
      const left = [...cuts];
      await using proxy = await cuttingProxy(
        () => server.port,
        () => left.shift(),
      );
      const found = await all(read(proxy.url, {}, { retries: 20, backoffMs: 1 }));
      expect(found.map(({ text }) => text)).toEqual(said.map((text) => (text as string & { toWellFormed(): string }).toWellFormed()));
      expect(found.map(({ cursor }) => cursor)).toEqual(said.map((_, index) => String(index + 1)));
    }),
    { numRuns: 40 },
  );
});

test("a stream begins after a cursor, and each loop over it is a stream of its own", async () => {
  await using server = await recordServer(["a", "b", "c"]);
  const stream = read(server.url, { after: "2" });
  expect((await all(stream)).map(({ text }) => text)).toEqual(["c"]);
  expect((await all(stream)).map(({ text }) => text)).toEqual(["c"]);
  expect(server.asked).toEqual(["2", "2"]);
});

test("a server that is away for a while is asked again; whoever watches is told", async () => {
  let turn = 0;
  await using server = await recordServer(["a", "b", "c"], (_request, response) => {
    turn++;
    if (turn === 1) response.writeHead(200, { "content-type": "text/event-stream" }).end(part(1, "a"));
    else if (turn === 2) response.writeHead(500, { "content-type": "text/html" }).end("<h1>restarting</h1>");
    else if (turn === 3)
      response
        .writeHead(503, { "content-type": "application/json" })
        .end('{"error":{"code":"rath.closed","message":"Closed.","details":{},"retryable":false}}');
    else if (turn === 4)
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end('event: error\ndata: {"error":{"code":"stream.slow","message":"Slow.","details":{},"retryable":true}}\n\n');
    return turn <= 4;
  });
  const retries: StreamRetry[] = [];
  const found = await all(read(server.url, { onRetry: (retry) => retries.push(retry) }));
  expect(found.map(({ text }) => text)).toEqual(["a", "b", "c"]);
  expect(server.asked).toEqual(["0", "1", "1", "1", "1"]);
  expect(retries.map(({ error }) => error.code)).toEqual(["server.unreachable", "server.failed", "rath.closed", "stream.slow"]);
});

test("silence is a dead connection, heartbeats are not", async () => {
  let turn = 0;
  await using server = await recordServer(["a", "b"], (_request, response) => {
    if (++turn > 1) return false;
    response.writeHead(200, { "content-type": "text/event-stream" }).write(part(1, "a"));
    let beats = 0;
    const beat = setInterval(() => (++beats <= 10 ? response.write(": beat\n\n") : clearInterval(beat)), 50);
    return true;
  });
  const start = performance.now();
  const retries: StreamRetry[] = [];
  const found = await all(read(server.url, { onRetry: (retry) => retries.push(retry) }, { ...paced, silenceMs: 500 }));
  expect(found.map(({ text }) => text)).toEqual(["a", "b"]);
  expect(retries.map(({ error }) => error.message)).toEqual([expect.stringContaining("nothing was heard")]);
  // Half a second later than without them: a busy machine may take some of it away.
  expect(performance.now() - start).toBeGreaterThan(650);
});

test.each([
  ["no stream", answered(200, "text/html", "<h1>hi</h1>"), "server.failed"],
  ["a message that is not JSON", sse("data: {oh\n\n"), "server.failed"],
  ["a message that is no object", sse("data: 7\n\n"), "server.failed"],
  ["not found", answered(404, "application/json", '{"error":{"code":"run.not-found","message":"No."}}'), "run.not-found"],
  ["a cursor that is gone", answered(410, "application/json", '{"error":{"code":"stream.gone","message":"No."}}'), "stream.gone"],
  ["a redirect", answered(307, "text/event-stream", "", "location: /elsewhere"), "server.failed"],
  ["a server that ends at once, always", sse(""), "server.unreachable"],
])("%s ends a stream with an error by code", async (_what, answer, code) => {
  await using server = await rawServer(answer);
  await expect(all(read(server.url))).rejects.toSatisfy((error) => RathError.is(error, code as "server.failed"));
  expect(server.asked.length).toBe(code === "server.unreachable" ? 3 : 1);
});

test("lines that say nothing are passed over", async () => {
  const odd = `\ufeff: hi\nnonsense\nretry: never\nid: \0\ndata\n\nevent: x\n\nid: 1\r\nevent: event\r\ndata: {"text":\rdata: "a"}\r\n\r\n${end}`;
  await using server = await rawServer(sse(odd.replace("data\n\n", "data: {}\n\n")));
  expect(await all(read(server.url))).toEqual([
    { type: "message", cursor: undefined },
    { type: "event", text: "a", cursor: "1" },
  ]);
});

test("who was connected is patient, but not for ever", async () => {
  await using server = await rawServer(sse(part(1, "a")), "");
  const found: string[] = [];
  const reading = (async () => {
    for await (const { text = "" } of read(server.url, {}, { ...paced, patienceMs: 500 })) found.push(text);
  })();
  await expect(reading).rejects.toMatchObject({ code: "server.unreachable" });
  expect(found).toEqual(["a"]);
  expect(server.asked.length).toBeGreaterThan(4);
});

const failing = (code: string, retryable?: boolean): string =>
  sse(`retry: 1000\n\nevent: error\ndata: ${JSON.stringify({ code, message: "No.", retryable })}\n\n`);

// Mutants: codes of the server and the store may always pass; that a connection opened resets what has failed.
test("a stream that its server ends is asked for again only where that is of use by the server's word, and not for ever", async () => {
  for (const [answer, code, asked] of [
    [failing("store.corrupt", false), "store.corrupt", 1],
    [failing("server.failed", false), "server.failed", 1],
    [failing("access.unauthenticated"), "access.unauthenticated", 1],
    [failing("store.unavailable"), "store.unavailable", 3],
    [failing("store.unavailable", true), "store.unavailable", 3],
  ] as const) {
    await using server = await rawServer(answer);
    await expect(all(read(server.url))).rejects.toMatchObject({ code });
    expect(server.asked.length).toBe(asked);
  }
  await using server = await rawServer(sse(part(1, "a")), failing("store.unavailable", true));
  const waits: number[] = [];
  const reading = all(read(server.url, { onRetry: ({ waitMs }) => waits.push(waitMs) }, { ...paced, patienceMs: 1500 }));
  await expect(reading).rejects.toMatchObject({ code: "store.unavailable" });
  // Waits double: what begins with a millisecond is over after some ten of them, and would be asked for hundreds of times otherwise.
  expect(server.asked.length).toBeLessThan(15);
  expect(Math.max(...waits)).toBeGreaterThan(32);
});

// Mutant: only messages are heard.
test("who heard heartbeats for longer than its patience is patient when the stream fails then", async () => {
  let turn = 0;
  await using server = await recordServer(["a", "b"], (_request, response) => {
    if (++turn > 1) return false;
    response.writeHead(200, { "content-type": "text/event-stream" }).write(part(1, "a"));
    let beats = 0;
    const beat = setInterval(() => {
      if (++beats <= 10) return response.write(": \n\n");
      clearInterval(beat);
      return response.end('event: error\ndata: {"code":"store.unavailable","message":"Away.","retryable":true}\n\n');
    }, 60);
    return true;
  });
  const found = await all(read(server.url, {}, { ...paced, patienceMs: 400 }));
  expect(found.map(({ text }) => text)).toEqual(["a", "b"]);
});

test("leaving the loop closes the connection, also while a part is waited for; a signal rejects with its reason", async () => {
  const closed: Promise<void>[] = [];
  await using server = await recordServer(["a"], (request, response) => {
    closed.push(new Promise((resolve) => request.on("close", resolve)));
    response.writeHead(200, { "content-type": "text/event-stream" }).write(part(1, "a"));
    return true;
  });
  for await (const { text } of read(server.url)) {
    expect(text).toBe("a");
    break;
  }
  await closed[0];
  const reader = read(server.url)[Symbol.asyncIterator]();
  await reader.next();
  const waiting = reader.next();
  await reader.return?.();
  expect(await waiting).toEqual({ done: true, value: undefined });
  await closed[1];
  const leaving = new AbortController();
  const signalled = all(read(server.url, { signal: leaving.signal }));
  while (closed.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  leaving.abort(new Error("enough"));
  await expect(signalled).rejects.toThrow("enough");
  await closed[2];
});

test("a slow reader holds the server back instead of keeping what comes", async () => {
  let sent = 0;
  const big = "x".repeat(16_384);
  await using server = await recordServer([], (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const more = (): void => {
      while (sent < 2000 && response.write(part(++sent, big)));
      if (sent === 2000) response.end(end);
    };
    response.on("drain", more);
    more();
    return true;
  });
  const reader = read(server.url)[Symbol.asyncIterator]();
  expect((await reader.next()).value?.cursor).toBe("1");
  let before = -1;
  while (before !== sent) {
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // 2 000 parts are 32 MB; what the system's own buffers hold is a fraction of them.
  expect(sent).toBeLessThan(1000);
  let last: string | undefined;
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) last = next.value.cursor;
  expect(last).toBe("2000");
});

test("a reply that was cut off in the middle begins again", async () => {
  const delta = (text: string, session = "s"): string =>
    `event: text-delta\ndata: ${JSON.stringify({ type: "text-delta", text, session })}\n\n`;
  const returned = (id: number): string =>
    `id: ${id}\nevent: event\ndata: {"type":"event","session":"s","event":{"kind":"model.returned"}}\n\n`;
  await using server = await rawServer(
    sse(delta("Hel") + delta("other", "t")),
    sse(`${delta("Hello")}${returned(1)}${delta("Bye")}`),
    sse(`${delta("Bye")}${returned(2)}`),
    sse(`${delta("Next")}${end}`),
  );
  const found = (await all(read(server.url))).filter(({ type }) => type === "text-delta");
  expect(found.map(({ text, restart }) => [text, restart])).toEqual([
    ["Hel", undefined],
    ["other", undefined],
    ["Hello", true],
    ["Bye", undefined],
    ["Bye", true],
    ["Next", undefined],
  ]);
});

test("the beginning of a tool is not lost where the connection breaks between it and its event", async () => {
  const event = (id: number, kind: string): string =>
    `id: ${id}\nevent: event\ndata: ${JSON.stringify({ type: "event", event: { kind } })}\n\n`;
  const start = 'event: tool-start\ndata: {"type":"tool-start","text":"look"}\n\n';
  await using server = await rawServer(
    sse(event(1, "message.added") + event(2, "tool.called")),
    sse(event(2, "tool.called") + start),
    sse(event(3, "tool.returned")),
    sse(`${event(3, "tool.returned")}event: tool-end\ndata: {"type":"tool-end"}\n\n${end}`),
  );
  const found = await all(read(server.url));
  expect(found.map(({ type, cursor }) => `${type} ${cursor}`)).toEqual(["event 1", "event 2", "tool-start 2", "event 3", "tool-end 3"]);
  const resumed = server.asked.map((request) => /last-event-id: (\d+)/.exec(request)?.[1]);
  expect(resumed).toEqual([undefined, "1", "2", "2"]);
});

test("what waits and was told is not told again, and what a run waits for neither", async () => {
  const waits = (id: string): string => `event: pending\ndata: ${JSON.stringify({ type: "pending", pending: { id } })}\n\n`;
  await using server = await rawServer(sse(part(1) + waits("a")), sse(waits("a") + waits("b") + end));
  const found = (await all(read(server.url))) as unknown as readonly {
    readonly type: string;
    readonly pending?: { readonly id: string };
  }[];
  expect(found.flatMap(({ pending }) => (pending === undefined ? [] : [pending.id]))).toEqual(["a", "b"]);
});

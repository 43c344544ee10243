/** Calls of the client: errors by code whatever the other side says, retries where they do no harm, and the key for nobody else. */
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { answered, listening, rawServer } from "../../test/support/raw-server.ts";
import { RathError } from "../session/errors.ts";
import { connect } from "./client.ts";
import { Connection } from "./connection.ts";

const key = "rath_abcdefghij_secretsecretsecretsecretsecretsecretsecrets";
const failed = (call: Promise<unknown>): Promise<RathError> =>
  call.then(
    (value) => expect.unreachable(`it was answered: ${inspect(value)}`),
    (error: unknown) => {
      expect(RathError.is(error), inspect(error)).toBe(true);
      expect(inspect(error)).not.toContain("secret");
      return error as RathError;
    },
  );

const body = (code: string, retryable = false): string =>
  JSON.stringify({ error: { code, message: `It is ${code}.`, details: { id: "x" }, retryable } });
const json = "application/json";

test("an error has the server's code, message and details, with status and request beside them", async () => {
  await using server = await rawServer(answered(404, json, body("session.not-found"), "x-request-id: r-1"));
  const { code, message, details, retryable } = await failed(connect({ url: server.url }).sessions.get("abc"));
  expect({ code, message, details, retryable }).toEqual({
    code: "session.not-found",
    message: "It is session.not-found.",
    details: { id: "x", status: 404, request: "r-1" },
    retryable: false,
  });
});

test.each([
  ["HTML instead of JSON", answered(200, "text/html", "<h1>hi</h1>"), "server.failed"],
  ["no content type", "HTTP/1.1 200 X\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}", "server.failed"],
  ["broken JSON", answered(200, json, '{"id": "a'), "server.failed"],
  ["nothing at all", answered(200, json, ""), "server.failed"],
  ["HTML as an error", answered(500, "text/html", "<h1>oops</h1>"), "server.failed"],
  ["an error of another shape", answered(400, json, '{"error":"no"}'), "request.invalid"],
  ["an error that is null", answered(500, json, "null"), "server.failed"],
  ["a page of a proxy", answered(403, "text/html", "<h1>forbidden</h1>"), "access.forbidden"],
  ["a huge error", answered(500, json, `{"error":{"code":"x.y","message":"${"m".repeat(1 << 20)}"}}`), "server.failed"],
  ["a body that is cut off", 'HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"id":', "server.unreachable"],
  ["no HTTP", "hello\r\n\r\n", "server.unreachable"],
  ["nothing", "", "server.unreachable"],
  ["a redirect", answered(302, json, "", "location: http://127.0.0.1:1/"), "server.failed"],
])("%s is a clear error", async (_what, answer, code) => {
  await using server = await rawServer(answer);
  const error = await failed(connect({ url: server.url, key, retries: 0 }).sessions.get("abc"));
  expect(error.code).toBe(code);
  expect(error.retryable).toBe(code === "server.unreachable");
  expect(error.message.length).toBeLessThan(500);
  expect(error.message).toMatch(/GET \/v1\/sessions\/abc/);
});

test("an error that never ends is not read to its end", async () => {
  await using server = await listening((socket) => {
    socket.write("HTTP/1.1 500 X\r\ncontent-type: text/plain\r\n\r\n");
    const more = (): void => {
      while (socket.writable && socket.write("x".repeat(65_536)));
    };
    socket.on("drain", more);
    more();
  });
  expect((await failed(connect({ url: server.url }).sessions.get("abc"))).code).toBe("server.failed");
});

test("nobody there, and somebody who never answers, are both unreachable", async () => {
  const gone = await rawServer("");
  await gone[Symbol.asyncDispose]();
  const nobody = await failed(connect({ url: gone.url, retries: 1, backoffMs: 1 }).sessions.get("abc"));
  expect(nobody).toMatchObject({ code: "server.unreachable", retryable: true });
  expect(nobody.message).toContain("ECONNREFUSED");
  await using deaf = await listening(() => {});
  const late = await failed(connect({ url: deaf.url, retries: 0, timeoutMs: 30 }).sessions.get("abc"));
  expect(late).toMatchObject({ code: "server.unreachable", retryable: true });
  const stuck = connect({ url: deaf.url, retries: 0, timeoutMs: 30, fetch: () => new Promise(() => {}) });
  expect((await failed(stuck.sessions.get("abc"))).code).toBe("server.unreachable");
  const half = new Response(new ReadableStream({ pull: () => new Promise(() => {}) }), { headers: { "content-type": json } });
  const silent = connect({ url: deaf.url, retries: 0, timeoutMs: 30, fetch: async () => half });
  expect((await failed(silent.sessions.get("abc"))).code).toBe("server.unreachable");
});

test("the key goes to no other origin: a redirect is an error, and nobody is asked", async () => {
  await using elsewhere = await rawServer(answered(200, json, "{}"));
  for (const status of [301, 302, 303, 307, 308]) {
    await using server = await rawServer(answered(status, json, "", `location: ${elsewhere.url}/v1/sessions/abc`));
    expect((await failed(connect({ url: server.url, key }).sessions.get("abc"))).message).toContain("not followed");
    expect(server.asked[0]).toContain(`authorization: Bearer ${key}`);
  }
  expect(elsewhere.asked).toEqual([]);
});

test("what may be repeated is, a few times; the server says how long to wait", async () => {
  const busy = answered(503, json, body("server.busy", true));
  const good = answered(200, json, '{"id":"a"}');
  const made = async (
    answers: readonly string[],
    call: (connection: Connection) => Promise<unknown>,
  ): Promise<readonly [number, string]> => {
    await using server = await rawServer(...answers);
    const outcome = await call(new Connection({ url: server.url, retries: 2, backoffMs: 1 })).then(
      () => "ok",
      (error: RathError) => error.code,
    );
    return [server.asked.length, outcome];
  };
  const get = (connection: Connection): Promise<unknown> => connection.get("/v1/x");
  expect(await made([busy, good], get)).toEqual([2, "ok"]);
  expect(await made(["", busy, good], get)).toEqual([3, "ok"]);
  expect(await made([busy], get)).toEqual([3, "server.busy"]);
  expect(await made([answered(404, json, body("session.not-found"))], get)).toEqual([1, "session.not-found"]);
  expect(await made([busy, good], (connection) => connection.post("/v1/x", {}))).toEqual([1, "server.busy"]);
  const keyed = (connection: Connection): Promise<unknown> =>
    connection.json({ method: "POST", path: "/v1/x", body: {}, repeatable: true });
  expect(await made([busy, good], keyed)).toEqual([2, "ok"]);
  const asked = (seconds: string): string => answered(429, json, body("request.limited", true), `retry-after: ${seconds}`);
  expect(await made([asked("0"), good], get)).toEqual([2, "ok"]);
  expect(await made([asked("3600"), good], get)).toEqual([1, "request.limited"]);
});

test("the server's time is waited for, and leaving ends the waiting at once", async () => {
  await using server = await rawServer(answered(503, json, body("server.busy", true), "retry-after: 20"));
  const leaving = new AbortController();
  const call = connect({ url: server.url }).sessions.get("abc", { signal: leaving.signal });
  while (server.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  setTimeout(() => leaving.abort(new Error("enough")), 20);
  await expect(call).rejects.toThrow("enough");
  expect(server.asked).toHaveLength(1);
  await expect(connect({ url: server.url }).sessions.get("abc", { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
    "before",
  );
  expect(server.asked).toHaveLength(1);
});

test("an id is one part of a path, whatever is in it", async () => {
  await using server = await rawServer(answered(200, json, "{}"));
  const { sessions } = connect({ url: `${server.url}/mounted/` });
  await sessions.get("a/../../b?c#d é");
  expect(server.asked[0]).toMatch(/^GET \/mounted\/v1\/sessions\/a%2F..%2F..%2Fb%3Fc%23d%20%C3%A9 HTTP/);
  for (const id of ["", ".", "..", "\ud800"]) expect((await failed(sessions.get(id))).code).toBe("value.unsupported");
});

test("what connect is given is checked, and the key is never shown", async () => {
  const given = (options: object): Promise<RathError> => failed(Promise.resolve().then(() => connect(options as { url: string })));
  for (const options of [
    { url: "not an address" },
    { url: "file:///etc/passwd" },
    { url: "http://ada:secret@example.org" },
    { url: "http://x", key: "secret\nX-Admin: true" },
    { url: "http://x", key: "sécret" },
    { url: "http://x", retries: -1 },
    { url: "http://x", retry: 3 },
  ])
    expect((await given(options)).code).toBe("value.unsupported");
  expect(inspect(connect({ url: "http://x", key }), { depth: 9, showHidden: true })).not.toContain("secret");
});

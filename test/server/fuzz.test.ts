/**
 * Requests as nobody would write them, over real sockets: each is answered in time, with success or a documented error, and none with 500;
 * the server answers afterwards as before. fast-check prints the seed of what fails.
 */
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../src/server/routes/routes.ts";
import { createServer } from "../../src/server/server.ts";
import { statusOf } from "../../src/server/status.ts";
import { errorBody } from "../../src/wire/api/error-body.ts";
import { type Filled, filled } from "../support/filled.ts";
import { anyText, oddTexts } from "../support/from-schema.ts";
import { type ServedHttp, servedHttp } from "../support/served-http.ts";

// What hangs never answers: a busy machine may take its time.
const mostMs = 5000;
let world: Filled;
let server: ReturnType<typeof createServer>;
let http: ServedHttp;

beforeAll(async () => {
  world = await filled();
  server = createServer(world.server.rath, { auth: "none-on-loopback", limits: { rate: 1e6, timeout: 500, heartbeat: 100 } });
  http = await servedHttp(server);
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await server.close();
  await world[Symbol.asyncDispose]();
});

interface Heard {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends bytes and hears what comes back until the answer is complete, the connection ends, or a stream has begun. */
function say(bytes: Uint8Array, thenEnds = false): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(http.port, "127.0.0.1");
    let text = "";
    const timer = setTimeout(() => over(new Error(`no answer within ${mostMs} ms, but ${JSON.stringify(text.slice(0, 300))}`)), mostMs);
    const over = (error?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      const [head = "", ...rest] = text.split("\r\n\r\n");
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
      if (error !== undefined || Number.isNaN(status)) reject(error ?? new Error(`it was cut off: ${JSON.stringify(text)}`));
      else resolve({ status, head: head.toLowerCase(), body: rest.join("\r\n\r\n") });
    };
    socket.on("data", (piece) => {
      text = (text + piece.toString("latin1")).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
      if (isComplete(text)) over();
    });
    socket.on("error", (error) => over(text === "" ? error : undefined)).on("close", () => over());
    if (thenEnds) socket.end(bytes);
    else socket.write(bytes);
  });
}

function isComplete(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const head = text.slice(0, end).toLowerCase();
  if (head.includes("text/event-stream")) return text.length > end + 4;
  const [, length] = /content-length: (\d+)/.exec(head) ?? [];
  if (length !== undefined) return text.length >= end + 4 + Number(length);
  return head.includes("chunked") ? text.endsWith("0\r\n\r\n") : / (204|304) /.test(head);
}

/** What a request is made of. Everything in it may be anything. */
interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

function bytesOf({ method, target, headers, body }: Request): Buffer {
  const length: (readonly [string, string])[] = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))
    ? []
    : [["content-length", `${body.length}`]];
  const lines = [["host", `127.0.0.1:${http.port}`] as const, ["connection", "close"] as const, ...headers, ...length];
  const head = `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

/** Answered, and in the documented shape where it is an error. What Node refuses as no HTTP at all never comes as far as us. */
async function answered(request: Request): Promise<number> {
  const { status, head, body } = await say(bytesOf(request));
  expect([status, body]).not.toEqual([500, expect.anything()]);
  if (status < 400 || !head.includes("x-request-id") || request.target.startsWith("/mcp")) return status;
  if (request.method === "HEAD") return status;
  const [, chunked] = /^[0-9a-f]+\r\n([\s\S]*)\r\n0\r\n\r\n$/.exec(body) ?? [];
  const { error } = errorBody.parse(JSON.parse(chunked ?? body));
  expect(statusOf[error.code as keyof typeof statusOf], JSON.stringify(error)).toBe(status);
  expect(body).not.toMatch(/\bat \S+ \(|node_modules|\.ts:\d/); // nothing of the inside
  return status;
}

/** Without what cannot be shown where something fails. */
const everywhere = routes.map(({ method, path }) => ({ method, path }));
const withBody = routes.filter(({ body, takes }) => body !== undefined || takes !== undefined);

function targetOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(world.known[name]?.[0] ?? "x")));
}

const json: readonly (readonly [string, string])[] = [["content-type", "application/json"]];
const nested = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);
/** Bodies that parsers have stumbled over. */
const oddBodies = [
  ...["", " ", "\ufeff{}", "null", "[]", '"x"', "1e999", "-0", "{}{}", "{,}", "{'a':1}", "NaN", "\u0000", "\ud800", "//x\n{}", "{}\n{}"],
  ...[
    '{"message":"a","message":"b"}',
    '{"a":1,"\\u0061":2}',
    '{"__proto__":{"x":1}}',
    '{"\\u005f_proto__":{}}',
    '{"constructor":{"prototype":{}}}',
  ],
  ...['{"message":"\\ud800"}', '{"message":"\\u0000"}', '{"title":"\\ud83d"}', `{"message":"${"x".repeat(50_000)}"}`, '{"message":1e400}'],
  ...[nested("[", "]", 20_000), nested('{"a":', "}", 20_000), "[".repeat(50_000), '{"a":'.repeat(1000), `"${"\\".repeat(9999)}`],
  ...[
    `{"limits":{"tokens":${"9".repeat(400)}}}`,
    `[${"0,".repeat(20_000)}0]`,
    `{${Array.from({ length: 2000 }, (_, i) => `"k${i}":${i}`).join()}}`,
  ],
].map((text) => Buffer.from(text));
const twofold = [
  ...['{"message":"a","message":"b"}', '{"message":"a","\\u006dessage":"b"}', '{"message":"a","__proto__":{"x":1}}'],
  ...['{"message":"a","\\u005f_proto__":{}}', '{"message":"a","constructor":{}}', '{"message":"a"}{}', '{"message":"a"} x'],
];
const notUtf8 = [
  Buffer.from('{"message":"\xff"}', "latin1"),
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d]),
  Buffer.from([0xed, 0xa0, 0x80]),
];

/** Good bodies with bits turned, pieces cut off, and others put in. */
const damaged = fc
  .tuple(
    fc.constantFrom(
      ...['{"message":"Hello","title":"T","tags":["a","b"]}', '{"workflow":"simple","message":"Go","limits":{"usd":1.5}}'],
      ...['{"reason":"r","session":"00","dryRun":true}', '{"others":["00"],"conflicts":"ours"}', '{"answer":{"a":[1,2,null]}}'],
    ),
    fc.array(fc.tuple(fc.nat(), fc.nat({ max: 7 })), { maxLength: 3 }),
    fc.option(fc.nat()),
    fc.option(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 5 }))),
  )
  .map(([text, flips, cut, put]) => {
    let bytes = Buffer.from(text);
    for (const [at, bit] of flips) bytes[at % bytes.length] = (bytes[at % bytes.length] as number) ^ (1 << bit);
    if (cut !== null) bytes = bytes.subarray(0, cut % bytes.length);
    if (put !== null)
      bytes = Buffer.concat([bytes.subarray(0, put[0] % (bytes.length + 1)), put[1], bytes.subarray(put[0] % (bytes.length + 1))]);
    return bytes;
  });

const headerText = fc
  .oneof(anyText({ maxLength: 40 }), fc.constantFrom(...oddTexts))
  // What ends a line begins another one: that is not a header but Node's to refuse.
  .map((text) => text.replaceAll(/[\r\n\0]/g, " "));
const token = fc.constantFrom("rath_aaaaaaaaaa_", "rath_aaaaaaaaaa_x", "rath__", "rath_aaaaaaaaaa", "a.b.c", `rath_${"a".repeat(3000)}`);
const headerValues: Readonly<Record<string, fc.Arbitrary<string>>> = {
  authorization: fc.oneof(
    headerText,
    token.map((one) => `Bearer ${one}`),
    token.map((one) => `bearer  ${one} ${one}`),
    fc.constant("Basic YTpi"),
  ),
  "last-event-id": fc.oneof(
    headerText,
    fc.constantFrom("0", "x~1~y", "~~~", "9".repeat(400), `${"0".repeat(64)}`, "-1", "1~0~", "a".repeat(401)),
  ),
  "idempotency-key": fc.oneof(headerText, fc.constantFrom("k", "k".repeat(601), "k, k")),
  traceparent: fc.oneof(
    headerText,
    fc.constantFrom("00-0-0-00", `00-${"0".repeat(32)}-${"0".repeat(16)}-01`, `ff-${"a".repeat(32)}-${"b".repeat(16)}-01`),
  ),
  host: fc.oneof(
    headerText,
    fc.constantFrom("evil.example", "127.0.0.1:99999", "[::1", "localhost:x", "a@b", "127.0.0.1, evil", "ⓛocalhost"),
  ),
  origin: fc.oneof(
    headerText,
    fc.constantFrom("null", "http://evil.example", "file://", "http://127.0.0.1:1", "http://[", "http://localhost:80:80"),
  ),
  range: fc.oneof(headerText, fc.constantFrom("bytes=0-", "bytes=-1", "bytes=9-1", `bytes=${"0-1,".repeat(500)}`)),
  "content-length": fc.constantFrom("-1", "1e3", "0x10", "99999999999999999999", "3, 3", "+1", " 2", "200000000000"),
  "content-type": fc.oneof(
    headerText,
    fc.constantFrom("text/plain", "application/json;charset=utf-16", "application/jsonx", "multipart/form-data; boundary=", "*/*"),
  ),
  "content-encoding": fc.constantFrom("gzip", "identity", "br, gzip", "x"),
  "transfer-encoding": fc.constantFrom("chunked", "identity", "gzip, chunked", "xchunked"),
  "x-request-id": headerText,
  "x-forwarded-for": headerText,
  "sec-fetch-site": fc.constantFrom("cross-site", "none", "", "x"),
  "content-range": headerText,
  accept: headerText,
  cookie: headerText,
  expect: fc.constantFrom("100-continue", "200-maybe"),
  upgrade: fc.constantFrom("h2c", "websocket"),
  __proto__: headerText,
};
const header = fc
  .constantFrom(...Object.keys(headerValues))
  .chain((name) => fc.tuple(fc.constant(name), headerValues[name] as fc.Arbitrary<string>));

describe("whatever is sent is answered", () => {
  afterAll(async () => {
    expect(await answered({ method: "GET", target: "/v1/health", headers: [], body: Buffer.of() })).toBe(200);
    const { items } = await world.admin.ask("getSessions", { limit: 5 });
    expect(items.length).toBeGreaterThan(0);
  });

  test("bodies that parsers stumble over, on every route that takes one", async () => {
    for (const { method, path } of withBody)
      for (const body of [...oddBodies.slice(0, 8), ...notUtf8])
        expect(await answered({ method, target: targetOf(path), headers: json, body })).toBeLessThan(500);
    for (const body of [...oddBodies, ...notUtf8])
      expect(await answered({ method: "POST", target: "/v1/sessions", headers: json, body })).toBeLessThan(500);
  });

  // Mutants: a key that is there twice is let through; bytes that are not UTF-8 are read with replacements.
  test("what two readers could read differently is refused, whoever reads it", async () => {
    for (const text of twofold)
      expect([text, await answered({ method: "POST", target: "/v1/sessions", headers: json, body: Buffer.from(text) })]).toEqual([
        text,
        400,
      ]);
    for (const body of notUtf8) expect(await answered({ method: "POST", target: "/v1/sessions", headers: json, body })).toBe(400);
    const body = Buffer.from('{"message":"a"}');
    for (const type of ["text/plain", "application/jsonx", "application/x-www-form-urlencoded", ""])
      expect(await answered({ method: "POST", target: "/v1/sessions", headers: [["content-type", type]], body })).toBe(400);
    expect(await answered({ method: "GET", target: "/v1/sessions?limit=1&limit=2", headers: [], body: Buffer.of() })).toBe(400);
  });

  test("good bodies that were damaged", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...withBody.map(({ at }) => at)), damaged, async (at, body) => {
        const [method = "", path = ""] = at.split(" ");
        expect(await answered({ method, target: targetOf(path), headers: json, body })).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
  });

  // Mutant: a header that is there twice is read as one.
  test("headers of every sort, once and again", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...everywhere),
        fc.array(header, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async ({ method, path }, headers, twice) => {
          const body = method === "GET" ? Buffer.of() : Buffer.from("{}");
          await answered({ method, target: targetOf(path), headers: [...headers, ...(twice ? headers : [])], body });
        },
      ),
      { numRuns: 300 },
    );
  });

  test("queries and paths of every sort", async () => {
    const piece = fc.oneof(
      anyText({ maxLength: 20 }),
      fc.constantFrom(...oddTexts),
      fc.constantFrom("%", "%zz", "%c3%28", "%00", "..;/", "//", "a&a", "a=1&a=2"),
    );
    const raw = piece.map((text) => Buffer.from(text.replaceAll(/[\s\0]/g, "+")).toString("latin1"));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...everywhere),
        raw,
        raw,
        fc.constantFrom(1, 1, 1, 300),
        async ({ method, path }, part, query, times) => {
          const target = `${path.replaceAll(/\{\w+\}/g, part)}?${`${query}=${part}&`.repeat(times)}`;
          await answered({ method, target, headers: json, body: method === "GET" ? Buffer.of() : Buffer.from("{}") });
        },
      ),
      { numRuns: 300 },
    );
  });

  test("methods of every sort, on every path", async () => {
    const methods = [
      "HEAD",
      "OPTIONS",
      "PATCH",
      "TRACE",
      "PROPFIND",
      "LOCK",
      "M-SEARCH",
      "get",
      "DELETE",
      "PUT",
      "POST",
      "GET",
      "QUERY",
      "XYZ",
    ];
    for (const path of new Set(routes.map((route) => route.path)))
      for (const method of path.includes("sessions") ? methods.slice(0, 9) : methods)
        expect(await answered({ method, target: targetOf(path), headers: [], body: Buffer.of() })).toBeLessThan(502);
  });

  test("requests that break off anywhere", async () => {
    const whole = bytesOf({ method: "POST", target: "/v1/sessions", headers: json, body: Buffer.from('{"message":"Hello"}') });
    for (let end = 1; end < whole.length; end += 7) {
      const heard = await say(whole.subarray(0, end), true).catch((error: Error) => error);
      if (!(heard instanceof Error)) expect([400, 408]).toContain(heard.status);
      else expect(heard.message).not.toContain("no answer");
    }
  });
});

/** What is too much, too slow or too secret. */
import { createServer as createHttpServer } from "node:http";
import { z } from "@hono/zod-openapi";
import { describe, expect, test } from "vitest";
import { answer, call, keyFor, origin } from "../../test/support/guarded.ts";
import { callFrom, local } from "../../test/support/local-call.ts";
import { volatileAccess } from "../access/volatile.ts";
import { openrath } from "../openrath.ts";
import { RathError } from "../session/errors.ts";
import { collect } from "../testing/store-case.ts";
import { AccessLog } from "./access-log.ts";
import { answerTo } from "./answer-error.ts";
import { OpenStreams, watched } from "./open-streams.ts";
import { Rates } from "./rates.ts";
import { type Route, route } from "./route.ts";
import { routes } from "./routes/routes.ts";
import { createServer, type ServerOptions } from "./server.ts";

const secret = 'hunter2-"quoted"\n-secret';

function open(options: ServerOptions = {}, also: readonly Route[] = []) {
  const rath = openrath({ store: "memory", secrets: [secret] });
  // Routes are read when a server is made.
  const before = routes.length;
  (routes as Route[]).push(...also);
  const server = createServer(rath, { auth: "none-on-loopback", ...options });
  (routes as Route[]).splice(before);
  const close = async (): Promise<void> => {
    await server.close();
    await rath.close();
  };
  return { rath, server, [Symbol.asyncDispose]: close };
}

describe("calls", () => {
  test("of one key are so many in ten seconds, whatever others do", async () => {
    await using it = open({ limits: { rate: 1 } });
    const [one, other] = [await keyFor(it.server), await keyFor(it.server)];
    const statuses = async (key: string | undefined, times: number): Promise<number[]> => {
      const found: number[] = [];
      for (let n = 0; n < times; n++) found.push((await call(it.server, "GET /v1/keys", { key })).status);
      return found;
    };
    expect(await statuses(one, 11)).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
    expect(await statuses(other, 1)).toEqual([200]);
    expect(await statuses(undefined, 11)).toContain(429);
    const response = await call(it.server, "GET /v1/keys", { key: one });
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(await response.json()).toMatchObject({
      error: { code: "request.limited", retryable: true, details: { retryAfter: expect.any(Number) } },
    });
  });

  test("without a valid key are so many in a minute from one address, and valid keys go on", async () => {
    await using it = open({ auth: "keys" });
    const key = await keyFor(it.server);
    const env = callFrom("203.0.113.7");
    const statuses: number[] = [];
    for (let n = 0; n < 31; n++) statuses.push((await call(it.server, "GET /v1/keys", { env, key: "rath_x" })).status);
    expect([statuses.filter((one) => one === 401).length, statuses.at(-1)]).toEqual([30, 429]);
    expect((await call(it.server, "POST /v1/keys/exchange", { env, body: { code: "x" } })).status).toBe(429);
    expect((await call(it.server, "GET /v1/keys", { env, key })).status).toBe(200);
    expect((await call(it.server, "GET /v1/keys", { env: callFrom("203.0.113.8"), key: "rath_x" })).status).toBe(401);
  });

  // Mutant: only those without a key are counted. Each is an entry of the access log, and anybody could fill it.
  test("under a name that is not the server's are so many in a minute from one address", async () => {
    await using it = open({ auth: "keys" });
    const asked = { env: callFrom("203.0.113.9"), headers: { host: "evil.example" } };
    const statuses: number[] = [];
    for (let n = 0; n < 31; n++) statuses.push((await call(it.server, "GET /v1/keys", asked)).status);
    expect([statuses.filter((one) => one === 403).length, statuses.at(-1)]).toEqual([30, 429]);
    const viewer = await keyFor(it.server, "viewer");
    expect((await call(it.server, "GET /v1/keys", { env: asked.env, key: viewer })).status).toBe(403);
  });

  // Mutant: many messages in one call are one.
  test("to models' tools count each message", async () => {
    await using it = open({ limits: { rate: 1 } });
    const key = await keyFor(it.server);
    const headers = { accept: "application/json, text/event-stream" };
    const send = async (count: number): Promise<number> => {
      const body = Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
      const response = await call(it.server, "POST /mcp", { key, headers, body });
      await response.text();
      return response.status;
    };
    expect([await send(9), await send(2)]).toEqual([200, 429]);
  });

  // Mutant: what the log throws is thrown on.
  test("are answered though the log takes no line", async () => {
    const full = (): never => {
      throw new Error("disk full");
    };
    await using it = open({ log: { info: full, warn: full, error: full } });
    expect((await call(it.server, "GET /v1/health")).status).toBe(200);
    expect((await call(it.server, "GET /nothing")).status).toBe(404);
  });

  test("are counted together for all addresses that one IPv6 line has", async () => {
    const rates = new Rates(0.1);
    await rates.call(undefined, "2001:db8:1:2:3:4:5:6");
    await expect(rates.call(undefined, "2001:0DB8:1:2::9")).rejects.toMatchObject({ code: "request.limited" });
    await rates.call(undefined, "2001:db8:1:3::9");
    await rates.call(undefined, "::ffff:1.2.3.4");
    await rates.call(undefined, "::ffff:1.2.3.5");
  });
});

describe("a body", () => {
  const make = "POST /v1/keys";
  const key = { identity: "human:x", roles: ["viewer"] };

  test.each<readonly [string, RequestInit, number, string]>([
    ["larger than the limit", { body: JSON.stringify({ ...key, x: "y".repeat(2000) }) }, 413, "request.too-large"],
    ["of another type", { body: "<x/>", headers: { "content-type": "text/xml" } }, 400, "request.invalid"],
    ["that is compressed", { body: JSON.stringify(key), headers: { "content-encoding": "gzip" } }, 400, "request.invalid"],
    ["with a key twice", { body: '{"identity":"human:x","identity":"human:y","roles":["viewer"]}' }, 400, "request.invalid"],
    ["that is missing", {}, 400, "request.invalid"],
  ])("%s is refused", async (_, init, status, code) => {
    await using it = open({ limits: { body: 1000 } });
    const headers = { "content-type": "application/json", ...(init.headers as Record<string, string>) };
    const response = await it.server.fetch(new Request(`${origin}/v1/keys`, { method: "POST", ...init, headers }), local);
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([status, code]);
  });

  test("that says no length and does not end is cut where the limit is", async () => {
    await using it = open({ limits: { body: 1000 } });
    let pulled = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(100).fill(32));
      },
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": "application/json" } };
    expect((await it.server.fetch(new Request(`${origin}/v1/keys`, init as RequestInit), local)).status).toBe(413);
    expect(pulled).toBeLessThan(20);
  });

  test("that does not come is waited for so long", async () => {
    await using it = open({ limits: { timeout: 30 } });
    let left = false;
    const body = new ReadableStream({
      cancel: () => {
        left = true;
      },
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": "application/json" } };
    const response = await it.server.fetch(new Request(`${origin}/v1/keys`, init as RequestInit), local);
    expect([response.status, await response.json()]).toMatchObject([408, { error: { code: "request.timeout" } }]);
    expect(left).toBe(true);
  });

  test("is read as it comes where all is well", async () => {
    await using it = open();
    expect((await call(it.server, make, { body: key })).status).toBe(201);
  });
});

describe("a stream", () => {
  const endless = (ended: () => void = () => {}) =>
    route({
      ...{ name: "endless", at: "GET /v1/endless", needs: "sessions:read", summary: "x", media: "text/event-stream", long: true },
      handle: async ({ signal }) => {
        signal.addEventListener("abort", ended);
        return new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(10)), cancel: ended }));
      },
    });

  test("beyond those a key may have, or all, is refused until another one ends", async () => {
    await using it = open({ limits: { streams: 2, allStreams: 3 } }, [endless()]);
    const [one, other] = [await keyFor(it.server, "viewer"), await keyFor(it.server, "viewer")];
    const at = "GET /v1/endless";
    const opened = [await call(it.server, at, { key: one }), await call(it.server, at, { key: one })];
    expect((await call(it.server, at, { key: one })).status).toBe(429);
    opened.push(await call(it.server, at, { key: other }));
    const full = await call(it.server, at, { key: other });
    expect([full.status, full.headers.get("retry-after")]).toEqual([429, "5"]);
    await opened[0]?.body?.cancel();
    expect((await call(it.server, at, { key: one })).status).toBe(200);
    // Whoever only wants the headers takes no place.
    await opened[1]?.body?.cancel();
    for (let n = 0; n < 5; n++) expect((await call(it.server, at.replace("GET", "HEAD"), { key: one })).status).toBe(200);
    expect((await call(it.server, at, { key: one })).status).toBe(200);
  });

  // Mutant: nobody tells the metrics.
  test("is counted for whoever watches the server", async () => {
    await using it = open({}, [endless()]);
    const count = async (): Promise<string | undefined> =>
      /openrath_streams_open (\d+)/.exec(await (await call(it.server, "GET /v1/metrics")).text())?.[1];
    expect(await count()).toBe("0");
    const response = await call(it.server, "GET /v1/endless");
    expect(await count()).toBe("1");
    await response.body?.cancel();
    expect(await count()).toBe("0");
  });

  // Mutant: they are counted with the streams, of which there may be many.
  test("is another thing than a question to everything on record, of which few are answered at once", async () => {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const long = route({
      ...{ name: "long", at: "GET /v1/long", needs: "sessions:read", summary: "x", answer: z.object({}), long: true },
      handle: async () => finished.then(() => ({})),
    });
    await using it = open({ limits: { questions: 1, allQuestions: 2 } }, [long, endless()]);
    const [one, other, third] = [await keyFor(it.server), await keyFor(it.server), await keyFor(it.server)];
    const asked = [one, other].map((key) => call(it.server, "GET /v1/long", { key }));
    await expect.poll(async () => (await call(it.server, "GET /v1/long", { key: third })).status).toBe(429);
    expect((await answer(it.server, "GET /v1/long", { key: one })).body).toMatchObject({
      error: { code: "request.limited", message: expect.stringContaining("This key has 1 long question open") },
    });
    await (await call(it.server, "GET /v1/endless", { key: one })).body?.cancel();
    finish();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await call(it.server, "GET /v1/long", { key: one })).status).toBe(200);
  });

  test("says what every answer says, and is told when the server stops", async () => {
    let ended = 0;
    const it = open({}, [endless(() => ended++)]);
    const response = await call(it.server, "GET /v1/endless");
    expect([response.headers.get("x-content-type-options"), response.headers.get("cache-control")]).toEqual([
      "nosniff",
      "no-store, no-transform",
    ]);
    await it[Symbol.asyncDispose]();
    expect(ended).toBe(1);
    const late = await call(it.server, "GET /v1/health");
    expect([late.status, await late.json()]).toMatchObject([503, { error: { code: "server.busy", retryable: true } }]);
  });

  test("keeps nothing between who writes and who reads, and ends once however it ends", async () => {
    const streams = new OpenStreams({ each: 1, all: 1, of: "stream" });
    const free = streams.take("a");
    free();
    free();
    expect(streams.all).toBe(0);
    let pulled = 0;
    let ended = 0;
    const source = new ReadableStream<Uint8Array>(
      { pull: (to) => (pulled++ < 2 ? to.enqueue(new Uint8Array(1)) : to.close()) },
      { highWaterMark: 0 },
    );
    const body = watched(source, () => ended++);
    await new Promise((resolve) => setImmediate(resolve));
    expect([pulled, ended]).toEqual([0, 0]);
    expect((await new Response(body).arrayBuffer()).byteLength).toBe(2);
    expect(ended).toBe(1);
    const broken = watched(new ReadableStream({ pull: (to) => to.error(new Error("broken")) }), () => ended++);
    await expect(new Response(broken).text()).rejects.toThrow("broken");
    expect(ended).toBe(2);
  });
});

describe("a call that takes too long", () => {
  test("is answered so, told so, and holds its project until it has really ended", async () => {
    let finish = (): void => {};
    let told = false;
    const slow = route({
      ...{ name: "slow", at: "GET /v1/slow", needs: "sessions:read", summary: "x", answer: z.object({}) },
      handle: async ({ signal }) => {
        signal.addEventListener("abort", () => {
          told = true;
        });
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return {};
      },
    });
    await using it = open({ limits: { timeout: 20 } }, [slow]);
    const response = await call(it.server, "GET /v1/slow");
    expect([response.status, await response.json(), told]).toMatchObject([503, { error: { code: "server.busy" } }, true]);
    finish();
  });
});

describe("a secret", () => {
  const failing = (name: string, thrown: unknown) =>
    route({
      ...{ name, at: `GET /v1/${name}`, needs: "sessions:read", summary: "x", answer: z.object({}) },
      handle: async () => {
        throw thrown;
      },
    });

  test("is in no answer and no log, whatever is thrown", async () => {
    const token = `rath_${"a".repeat(10)}_${"b".repeat(43)}`;
    const details = { at: `here ${secret}`, nested: [{ [secret]: secret, token }] };
    const cause = new Error(secret);
    const said: string[] = [];
    const warn = process.emitWarning;
    process.emitWarning = (message: string | Error) => void said.push(String(message));
    try {
      const thrown = {
        ours: new RathError("run.failed", `It failed: ${secret} ${token}`, { details, cause }),
        strange: new Error(`secret ${secret}`, { cause }),
        text: secret,
        circular: new RathError("run.failed", "x", { details: circular() }),
      };
      await using it = open(
        {},
        Object.entries(thrown).map(([name, one]) => failing(name, one)),
      );
      for (const [name, status] of [
        ["ours", 422],
        ["strange", 500],
        ["text", 500],
        ["circular", 422],
      ] as const) {
        const response = await call(it.server, `GET /v1/${name}`);
        const text = await response.text();
        expect(response.status).toBe(status);
        for (const hidden of [secret, JSON.stringify(secret).slice(1, -1), token, "hunter2"])
          expect(text + [...response.headers].join()).not.toContain(hidden);
        expect(JSON.parse(text)).toMatchObject({
          error: { code: expect.any(String), message: expect.any(String), details: {}, retryable: false },
        });
      }
      const missing = await call(it.server, `GET /v1/${encodeURIComponent(secret)}/${token}`);
      expect(await missing.text()).not.toMatch(/hunter2|bbbbb/);
    } finally {
      process.emitWarning = warn;
    }
    expect(said.join()).not.toContain("hunter2");
  });

  // Mutants: what a path names is logged as it came; it is cut and not cleaned; cleaned and not cut.
  test("is in no line of the log that its path named it in, and neither is all of a long path or what acts on a terminal", async () => {
    const lines: object[] = [];
    const hear = (fields: object): void => void lines.push(fields);
    await using it = open({ log: { info: hear, warn: hear, error: hear } });
    const odd = encodeURIComponent(`${secret}\u001b[2J${"x".repeat(1000)}`);
    for (const path of [`memories/${odd}`, `sessions/${odd}`, `runs/${odd}`]) await call(it.server, `GET /v1/${path}`);
    for (const line of lines)
      for (const value of Object.values(line).filter((one) => typeof one === "string")) {
        for (const hidden of ["hunter2", "\u001b"]) expect(value).not.toContain(hidden);
        expect(value.length).toBeLessThanOrEqual(300);
      }
    expect(lines.map((line) => Object.keys(line).filter((name) => /^(?:about|session|run)$/.test(name)))).toEqual([
      ["about"],
      ["about", "session"],
      ["about", "run"],
    ]);
  });

  function circular(): Record<string, unknown> {
    const one: Record<string, unknown> = { secret };
    one["one"] = one;
    return one;
  }

  test("takes nothing from an error that has none", () => {
    const error = new RathError("run.busy", "It is busy.", { details: { run: "a", n: 1 }, retryable: true });
    expect(answerTo(error, (text) => text).body).toEqual({
      error: { code: "run.busy", message: "It is busy.", details: { run: "a", n: 1 }, retryable: true },
    });
  });
});

describe("the access log", () => {
  const seen = { request: "r", method: "POST", route: "/v1/keys", status: 201, ms: 1 };
  const limits = { accessEntries: Number.POSITIVE_INFINITY, accessDays: Number.POSITIVE_INFINITY };

  test("neither grows without end nor loses what its store takes later", async () => {
    const access = volatileAccess();
    let away = true;
    const noted: number[] = [];
    const warned: string[] = [];
    const store = {
      ...access,
      note: async (entries: readonly { readonly status: number }[]) => {
        if (away) throw new Error("away");
        for (const { status } of entries) noted.push(status);
      },
    };
    const log = new AccessLog({ access: async () => store, clean: (text) => text, warn: (message) => warned.push(message), limits });
    for (let n = 0; n < 20_010; n++) log.seen({ ...seen, status: 1000 + n }, new Date());
    await log.flush();
    expect(noted).toEqual([]);
    away = false;
    await log.flush();
    expect([noted.length, noted[0], noted.at(-1)]).toEqual([20_000, 1010, 21_009]);
    expect(warned).toEqual([
      "The access log could not be written: away",
      "The access log lost 10 entries: its store took none for too long.",
    ]);
  });

  // Mutants: nothing is trimmed; it is trimmed once, and never again.
  test("keeps so many entries, for so long", async () => {
    const access = volatileAccess();
    const count = async (): Promise<number> => (await collect(access.entries({ limit: 10_000 }))).length;
    const few = { accessEntries: 100, accessDays: 1 };
    const log = new AccessLog({ access: async () => access, clean: (text) => text, warn: () => {}, limits: few });
    for (let n = 0; n < 150; n++) log.seen({ ...seen, status: 201 }, new Date());
    await log.flush();
    expect(await count()).toBe(100);
    for (let n = 0; n < 50; n++) log.seen({ ...seen, status: 201 }, new Date(Date.now() - 2 * 86_400_000));
    for (let n = 0; n < 60; n++) log.seen({ ...seen, status: 201 }, new Date());
    await log.flush();
    expect(await count()).toBe(100);
    const all = new AccessLog({
      ...{ access: async () => access, clean: (text: string) => text, warn: () => {} },
      limits: { accessEntries: Number.POSITIVE_INFINITY, accessDays: Number.POSITIVE_INFINITY },
    });
    for (let n = 0; n < 50; n++) all.seen({ ...seen, status: 201 }, new Date(0));
    await all.flush();
    expect(await count()).toBe(150);
  });

  test("notes of calls that were too many only that there were some", async () => {
    const access = volatileAccess();
    const log = new AccessLog({ access: async () => access, clean: (text) => text, warn: () => {}, limits });
    for (let n = 0; n < 500; n++) log.seen({ ...seen, status: 429, key: n % 2 === 0 ? "rath_a" : undefined }, new Date(n));
    await log.flush();
    let count = 0;
    for await (const _ of access.entries({ limit: 1000 })) count++;
    expect(count).toBe(2);
  });
});

test("behind Node's own server a call from this machine is known as one", async () => {
  const { getRequestListener } = await import("@hono/node-server");
  await using it = open();
  const http = createHttpServer(getRequestListener((request, env) => it.server.fetch(request, env), { overrideGlobalObjects: false }));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as { readonly port: number };
  try {
    expect((await fetch(`http://127.0.0.1:${port}/v1/keys`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/v1/keys`, { headers: { "x-forwarded-for": "8.8.8.8" } })).status).toBe(401);
    expect(await answer(it.server, "GET /v1/health")).toEqual({ status: 200, body: { status: "ok" } });
  } finally {
    http.close();
    http.closeAllConnections();
  }
});

/** Who is turned away before anybody asks what they want. */
import { describe, expect, test } from "vitest";
import { answer, call, keyFor } from "../../test/support/guarded.ts";
import { callFrom, local } from "../../test/support/local-call.ts";
import { openrath } from "../openrath.ts";
import { createServer, type ServerOptions } from "./server.ts";

async function open(options: ServerOptions = {}) {
  const rath = openrath({ store: "memory" });
  const server = createServer(rath, options);
  const close = async (): Promise<void> => {
    await server.close();
    await rath.close();
  };
  return { rath, server, [Symbol.asyncDispose]: close };
}

describe("without a key on this machine", () => {
  const read = "GET /v1/keys";

  test.each<readonly [string, unknown, Readonly<Record<string, string>>, number]>([
    ["from loopback", local, {}, 200],
    ["from loopback by IPv6", callFrom("::1"), {}, 200],
    ["from loopback as IPv6 says IPv4", callFrom("::ffff:127.0.0.9"), {}, 200],
    ["from the network", callFrom("192.168.1.7"), {}, 401],
    ["from the network as IPv6 says IPv4", callFrom("::ffff:10.0.0.1"), {}, 401],
    ["from nobody knows where", undefined, {}, 401],
    ["from an address that is none", callFrom("localhost"), {}, 401],
    ["through a proxy", local, { "x-forwarded-for": "127.0.0.1" }, 401],
    ["through a proxy that says so by the book", local, { forwarded: "for=127.0.0.1" }, 401],
    ["through a proxy of any kind", local, { via: "1.1 cache" }, 401],
    ["with a key that is none", local, { authorization: "Bearer rath_aaaaaaaaaa_x" }, 401],
  ])("a call %s", async (_, env, headers, status) => {
    await using it = await open({ auth: "none-on-loopback" });
    // Not `env`, which has a default that undefined would take.
    expect((await call(it.server, read, { headers, env: env ?? {} })).status).toBe(status);
  });

  test("a call needs one all the same unless it was said that none does", async () => {
    await using it = await open();
    expect((await call(it.server, read)).status).toBe(401);
  });
});

describe("a name that is not the server's", () => {
  const withHost = (host: string) => ({ headers: { host } });

  test.each(["localhost", "localhost:7284", "LOCALHOST:1", "app.localhost:80", "127.0.0.1:9", "127.8.8.8", "[::1]:7284"])(
    "%s is its own",
    async (host) => {
      await using it = await open({ auth: "none-on-loopback" });
      expect((await call(it.server, "GET /v1/keys", withHost(host))).status).toBe(200);
    },
  );

  test.each([
    "evil.example",
    "evil.example:7284",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "evil.example#localhost",
    "0.0.0.0",
    "[::]:7284",
    "10.0.0.1",
    "",
    "localhost:x",
    "xlocalhost",
    "a b",
  ])("%j is turned away, with a key too", async (host) => {
    await using it = await open({ auth: "none-on-loopback" });
    const key = await keyFor(it.server);
    for (const asked of [withHost(host), { ...withHost(host), key }]) {
      const { status, body } = await answer(it.server, "GET /v1/keys", asked);
      expect([status, body]).toMatchObject([403, { error: { code: "access.forbidden", message: expect.stringContaining("hosts: [") } }]);
    }
  });

  test("counts in the line of the call as in its header", async () => {
    await using it = await open({ auth: "none-on-loopback" });
    const request = new Request("http://evil.example/v1/keys", { headers: { host: "localhost" } });
    expect((await it.server.fetch(request, local)).status).toBe(403);
  });

  test("is its own once it was named, or when any is", async () => {
    await using named = await open({ auth: "none-on-loopback", hosts: ["API.example.com"] });
    expect((await call(named.server, "GET /v1/keys", withHost("api.example.com:443"))).status).toBe(200);
    expect((await call(named.server, "GET /v1/keys", withHost("other.example.com"))).status).toBe(403);
    await using any = await open({ hosts: ["*"] });
    const key = await keyFor(any.server);
    expect((await call(any.server, "GET /v1/keys", { ...withHost("whatever.example"), key })).status).toBe(200);
  });
});

describe("a page of another origin", () => {
  test.each<readonly [string, string, Readonly<Record<string, string>>, number]>([
    ["its own", "POST /v1/keys", { origin: "http://localhost:7284" }, 201],
    ["another port", "POST /v1/keys", { origin: "http://localhost:3000" }, 403],
    ["another site", "POST /v1/keys", { origin: "https://evil.example" }, 403],
    ["a file or a sandboxed frame", "POST /v1/keys", { origin: "null" }, 403],
    ["what is no origin", "POST /v1/keys", { origin: "localhost:7284" }, 403],
    ["another site that reads", "GET /v1/keys", { origin: "https://evil.example" }, 403],
    ["a picture or a script", "GET /v1/keys", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }, 403],
    ["a picture of another port", "GET /v1/keys", { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" }, 403],
    [
      "a form without an origin",
      "POST /v1/keys",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
      403,
    ],
    ["a frame", "GET /v1/keys", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }, 403],
    [
      "a link somebody follows",
      "GET /v1/keys",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
      200,
    ],
    ["nobody's: an address typed in", "GET /v1/keys", { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }, 200],
    ["a program", "POST /v1/keys", {}, 201],
  ])("is let in or not: %s, %s", async (_, at, headers, status) => {
    await using it = await open({ auth: "none-on-loopback" });
    const body = at.startsWith("POST") ? { identity: "human:ada", roles: ["viewer"] } : undefined;
    const response = await call(it.server, at, { headers, body });
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(null);
  });

  test("cannot make a browser send JSON without asking, and asking is refused", async () => {
    await using it = await open({ auth: "none-on-loopback" });
    const simple = { headers: { "content-type": "text/plain" }, body: '{"identity":"human:x","roles":["admin"]}' };
    expect((await call(it.server, "POST /v1/keys", simple)).status).toBe(400);
    const headers = {
      origin: "https://evil.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    };
    expect((await call(it.server, "OPTIONS /v1/keys", { headers })).status).toBe(403);
  });

  test("that may call is told so, and so is its browser before it calls", async () => {
    const page = "https://app.example.com";
    await using it = await open({ origins: [page] });
    const key = await keyFor(it.server);
    const asks = await call(it.server, "OPTIONS /v1/keys", { headers: { origin: page, "access-control-request-method": "POST" } });
    expect([asks.status, asks.headers.get("access-control-allow-origin"), asks.headers.get("access-control-allow-methods")]).toEqual([
      204,
      page,
      "GET, POST, HEAD, OPTIONS",
    ]);
    expect(asks.headers.get("access-control-allow-headers")).toContain("authorization");
    const read = await call(it.server, "GET /v1/keys", { key, headers: { origin: page } });
    expect([read.status, read.headers.get("access-control-allow-origin"), read.headers.get("vary")]).toEqual([200, page, "Origin"]);
    expect(read.headers.get("access-control-allow-credentials")).toBe(null);
    const other = await call(it.server, "GET /v1/keys", { key, headers: { origin: "https://app.example.com.evil.example" } });
    expect([other.status, other.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });

  test("may be any page only where every call needs a key", () => {
    const rath = openrath({ store: "memory" });
    expect(() => createServer(rath, { origins: ["*"], auth: "none-on-loopback" })).toThrow(/any page could do everything/);
    expect(() => createServer(rath, { origins: ["app.example.com"] })).toThrow(/give origins like/);
    expect(() => createServer(rath, { hosts: ["http://x"] })).toThrow(/without a port/);
    // A page whose name was made to mean this machine is of the server's own origin.
    expect(() => createServer(rath, { hosts: ["*"], auth: "none-on-loopback" })).toThrow(/any page could do everything/);
    createServer(rath, { origins: ["*"] });
  });
});

describe("every answer", () => {
  test.each([
    "GET /v1/health",
    "GET /v1/keys",
    "GET /nothing",
    "DELETE /v1/health",
    "OPTIONS /v1/health",
    "GET /openapi.json",
    "HEAD /v1/health",
  ])("to %s says the same to browsers", async (at) => {
    await using it = await open();
    const { headers } = await call(it.server, at);
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("set-cookie")).toBe(null);
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("has the id its caller gave it, if that is one", async () => {
    await using it = await open();
    const idOf = async (given: string) =>
      (await call(it.server, "GET /v1/health", { headers: { "x-request-id": given } })).headers.get("x-request-id");
    expect(await idOf("trace-1.a:b_c")).toBe("trace-1.a:b_c");
    for (const odd of ["a b", "x".repeat(65), "ü", "<script>", "", '"']) expect(await idOf(odd)).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("to a method that is not there names those that are", async () => {
    await using it = await open();
    const response = await call(it.server, "DELETE /v1/keys");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, POST, HEAD, OPTIONS"]);
    expect(await response.json()).toMatchObject({ error: { code: "request.not-allowed" } });
    const options = await call(it.server, "OPTIONS /v1/health");
    expect([options.status, options.headers.get("allow"), options.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "GET, HEAD, OPTIONS",
      null,
    ]);
    const head = await call(it.server, "HEAD /v1/health");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await call(it.server, "PATCH /v1/health")).status).toBe(405);
    expect((await call(it.server, "GET /v1/nothing")).status).toBe(404);
  });
});

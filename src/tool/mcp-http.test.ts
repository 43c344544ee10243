import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { call, errorOf, toolOf } from "../../test/support/mcp/calls.ts";
import { answer, WebServer } from "../../test/support/mcp/web.ts";
import { type Mcp, mcp } from "./mcp.ts";

let web: WebServer;
let url = "";
let open: Mcp | undefined;

beforeEach(async () => {
  web = new WebServer();
  url = await web.start();
});
afterEach(async () => {
  await open?.[Symbol.asyncDispose]();
  open = undefined;
  await web[Symbol.asyncDispose]();
});

test("headers go with every request, and closing ends the session", async () => {
  open = await mcp({ url, headers: { authorization: "Bearer token" } });
  expect(await call(open, "act")).toBe("done");
  expect(new Set(web.headers.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer token"]));
  await open[Symbol.asyncDispose]();
  expect(web.ended).toBe(1);
});

test.each([
  ["an internal error", (web: WebServer) => (web.onCall = (response) => response.writeHead(500).end("oops"))],
  ["a cut connection", (web: WebServer) => (web.onCall = (response) => response.destroy())],
  [
    "a stream that ends without an answer",
    (web: WebServer) => (web.onCall = (response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(": nothing\n\n")),
  ],
  [
    "a stream that is cut",
    (web: WebServer) =>
      (web.onCall = (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": wait\n\n", () => response.destroy());
      }),
  ],
  ["a page", (web: WebServer) => (web.onCall = (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"))],
])("after %s the outcome is not known, nothing is sent twice, and the next call works", async (_, misbehave) => {
  open = await mcp({ url });
  const behave = web.onCall;
  misbehave(web);
  expect(await errorOf(call(open, "act"))).toMatchObject({ name: "McpLost", message: expect.stringContaining("outcome is not known") });
  expect(web.calls).toBe(1);
  web.onCall = behave;
  expect(await call(open, "act")).toBe("done");
});

test("a call that is refused or lost leaves the others alone", async () => {
  open = await mcp({ url });
  const held: (() => void)[] = [];
  web.onCall = (response, { id }) => void held.push(() => answer(response, id, { content: [{ type: "text", text: "held" }] }));
  const waiting = call(open, "act");
  await vi.waitFor(() => expect(held).toHaveLength(1));
  web.onCall = (response) => response.writeHead(500).end();
  expect((await errorOf(call(open, "act"))).name).toBe("McpLost");
  web.onCall = (response) => response.writeHead(404).end();
  expect(await errorOf(call(open, "act"))).toMatchObject({ code: "mcp.failed" });
  held[0]?.();
  expect(await waiting).toBe("held");
});

test("a session that is over is opened again and the refused call made in the new one", async () => {
  open = await mcp({ url });
  web.onCall = (response, { id }) =>
    web.sessions === 1 ? response.writeHead(404).end("no session") : answer(response, id, { content: [{ type: "text", text: "done" }] });
  expect(await call(open, "act")).toBe("done");
  expect([web.calls, web.sessions]).toEqual([2, 2]);
});

test("a server that refuses again is not asked a third time", async () => {
  open = await mcp({ url });
  web.onCall = (response) => response.writeHead(404).end("no session");
  expect(await errorOf(call(open, "act"))).toMatchObject({ code: "mcp.failed", message: expect.stringContaining("HTTP 404") });
  expect(web.calls).toBe(2);
});

test("a refusal keeps the connection and is told in short", async () => {
  open = await mcp({ url });
  web.onCall = (response) => response.writeHead(429).end("slow down ".repeat(1000));
  const error = await errorOf(call(open, "act"));
  expect(error).toMatchObject({ code: "mcp.failed", message: expect.stringContaining("HTTP 429") });
  expect(error.message.length).toBeLessThan(1000);
  expect([web.calls, web.sessions]).toEqual([1, 1]);
});

test("closing ends calls also on a connection that was given up", async () => {
  open = await mcp({ url });
  const held: unknown[] = [];
  web.onCall = () => void held.push(1);
  const waiting = errorOf(call(open, "act"));
  await vi.waitFor(() => expect(held).toHaveLength(1));
  web.onCall = (response) => response.writeHead(404).end();
  await errorOf(call(open, "act"));
  await open[Symbol.asyncDispose]();
  expect((await waiting).name).toBe("McpLost");
});

test.each([401, 403])("a server that answers %i is said to want authorization", async (status) => {
  web.before = (_, response) => {
    response.writeHead(status).end();
    return true;
  };
  expect((await errorOf(mcp({ url }))).message).toContain(`it wants authorization (HTTP ${status})`);
});

test("a server that never answers is given up in time", async () => {
  web.before = () => true;
  expect((await errorOf(mcp({ url }, { timeout: "500ms" }))).message).toContain("did not answer within 0.5 s");
});

test("a list is asked for again even if reading it was cut off once", async () => {
  open = await mcp({ url });
  let cut = 0;
  web.before = (_, response) => {
    cut += 1;
    if (cut === 1) response.destroy();
    return cut === 1;
  };
  expect((await toolOf(open, "act")["~tool"].source?.describe())?.tools).toHaveLength(1);
});

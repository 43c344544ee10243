/** A server on a port answers as its `fetch` does: what is written to sockets without a Response is the same answer. */
import { connect } from "node:net";
import { afterAll, expect, test } from "vitest";
import { callFrom } from "../../test/support/local-call.ts";
import { openrath } from "../openrath.ts";
import { listen } from "./listen.ts";
import { createServer } from "./server.ts";

const rath = openrath({ store: "memory" });
const server = createServer(rath, { auth: "none-on-loopback", origins: ["https://app.example.com"] });
const listening = await listen(server);
const { id } = await rath.save(rath.session("Grüße, 世界", { title: "Ein Titel" }));
afterAll(async () => {
  await listening.close(0);
  await rath.close();
});

const json = { "content-type": "application/json" };
const calls: readonly (readonly [string, RequestInit])[] = [
  ["/v1/health", {}],
  ["/v1/health", { method: "HEAD" }],
  ["/v1/health", { method: "OPTIONS", headers: { origin: "https://app.example.com" } }],
  ["/v1/health", { method: "DELETE" }],
  ["/v1/health?more=1", {}],
  ["/", {}],
  ["/openapi.json", {}],
  ["/nothing", {}],
  ["/nothing", { method: "HEAD" }],
  [`/v1/sessions/${id}`, { headers: { origin: "https://app.example.com" } }],
  [`/v1/sessions/${id}`, { headers: { origin: "https://evil.example.com" } }],
  [`/v1/sessions/${id}`, { headers: { authorization: "Bearer wrong" } }],
  [`/v1/sessions/${id}/events`, {}],
  [`/v1/sessions/${id}/diff/${id}?format=text`, {}],
  ["/v1/sessions?limit=1&fields=index", {}],
  ["/v1/sessions", { method: "POST", headers: json, body: '{"unknown":1}' }],
];

test.each(calls)("%s %o", async (path, init) => {
  const headers = { "x-request-id": "the-same", ...(init.headers as Record<string, string>) };
  const [sent, given] = await Promise.all([
    fetch(`${listening.url}${path}`, { ...init, headers }),
    server.fetch(new Request(`${listening.url}${path}`, { ...init, headers }), callFrom("127.0.0.1")),
  ]);
  expect(sent.status).toBe(given.status);
  const said = Object.fromEntries(sent.headers);
  expect(said).toMatchObject(Object.fromEntries(given.headers));
  const own = Object.keys(said).filter((name) => !given.headers.has(name));
  expect(own.filter((name) => !/^(?:connection|keep-alive|date|content-length|transfer-encoding)$/.test(name))).toEqual([]);
  const body = await sent.text();
  expect(body).toBe(await given.text());
  if (said["content-length"] !== undefined && init.method !== "HEAD") expect(Number(said["content-length"])).toBe(Buffer.byteLength(body));
});

test("a host that is none is refused by name", async () => {
  const socket = connect(Number(new URL(listening.url).port), "127.0.0.1");
  socket.write("GET /v1/health HTTP/1.1\r\nhost: 256.0.0.1\r\nconnection: close\r\n\r\n");
  let heard = "";
  for await (const piece of socket) heard += String(piece);
  expect(heard).toMatch(/^HTTP\/1\.1 403 /);
  expect(heard).toContain('"code":"access.forbidden"');
});

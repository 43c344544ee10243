/** The server end to end, through `fetch`: a key lets in, and sees its own project alone. */
import { expect, test } from "vitest";
import { local } from "../../test/support/local-call.ts";
import { openrath } from "../openrath.ts";
import { createServer } from "./server.ts";

const origin = "http://localhost";

test("a session is read with a key, and not without one", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, { auth: "none-on-loopback" });
  const session = await rath.save(rath.session("Hello"));
  const answer = await server.fetch(new Request(`${origin}/v1/sessions/${session.id}`), local);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ id: session.id, head: session.head, status: "idle" });
});

test("without a key a call is refused, and told how to send one", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath);
  const answer = await server.fetch(new Request(`${origin}/v1/sessions/abc`));
  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({ error: { code: "access.unauthenticated", retryable: false } });
});

test("the document describes every route", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath);
  const document = (await (await server.fetch(new Request(`${origin}/openapi.json`))).json()) as { openapi: string; paths: object };
  expect(document.openapi).toBe("3.1.0");
  expect(Object.keys(document.paths)).toContain("/v1/sessions/{session}");
});

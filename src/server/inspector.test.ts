import { expect, test } from "vitest";
import { openrath } from "../openrath.ts";
import { inspectorFile } from "./inspector.ts";
import { createServer } from "./server.ts";

test("the page is handed out under a policy that runs and asks nothing else, and lasting files may be kept", async () => {
  const page = await inspectorFile("index.html");
  expect(page?.headers.get("content-security-policy")).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
  expect(page?.headers.get("cache-control")).toBe("no-cache");
  const text = (await page?.text()) ?? "";
  const script = /assets\/[\w.-]+\.js/.exec(text)?.[0] ?? "";
  const file = await inspectorFile(script);
  expect(file?.headers.get("content-type")).toMatch(/^text\/javascript/);
  expect(file?.headers.get("cache-control")).toMatch(/immutable/);
  // Nothing in the page itself that the policy would have to allow.
  expect(text).not.toMatch(/<script(?![^>]*src=)|<style|style=/);
});

test.each([
  "../package.json",
  "assets/../../package.json",
  "assets/..%2f..%2fpackage.json",
  "assets/",
  "package.json",
  "assets/none.js",
  "index.html\0.js",
])("%j is no file of it", async (name) => {
  expect(await inspectorFile(name)).toBeUndefined();
});

test("a server hands it out to everybody, wherever it is mounted, and says what is not there", async () => {
  await using rath = openrath({ store: "memory" });
  await using server = createServer(rath, { basePath: "/rath" });
  const get = (path: string): Promise<Response> => server.fetch(new Request(`http://localhost${path}`));
  const beside = await get("/rath");
  expect([beside.status, beside.headers.get("location")]).toEqual([308, "/rath/"]);
  const page = await get("/rath/");
  expect([page.status, page.headers.get("x-content-type-options")]).toEqual([200, "nosniff"]);
  const script = /assets\/[\w.-]+\.js/.exec(await page.text())?.[0] ?? "";
  expect((await get(`/rath/${script}`)).status).toBe(200);
  expect((await get("/rath/assets/none.js")).status).toBe(404);
  expect((await get("/rath/assets/..%2f..%2fpackage.json")).status).toBe(404);
});

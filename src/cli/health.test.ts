/** The health endpoint, asked over real HTTP. */
import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { WorkState } from "../runtime/worker.ts";
import { type HealthServer, parseAddress, serveHealth } from "./health.ts";
import { WorkStates } from "./work-states.ts";

const at = "2026-01-01T00:00:00.000Z";
const works: WorkState = { worker: "host:1:abc", status: "working", executing: 2, taken: 7, looked: at, problem: undefined };
let server: HealthServer | undefined;
afterEach(() => server?.[Symbol.asyncDispose]());

const own = { tenant: "default", project: "default" };

/** Of the own project, and of others. */
function statesOf(...[state, ...others]: readonly (WorkState | undefined)[]): WorkStates {
  const states = new WorkStates(own, 4);
  others.forEach((other, index) => {
    if (other !== undefined) states.tell({ ...own, project: `other ${index}` }, other);
  });
  if (state !== undefined) states.tell(own, state);
  return states;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function ask(state: WorkState | undefined, path = "/health", { method = "GET", afterMs = 1000, body = "" } = {}): Promise<Answer> {
  const now = (): Date => new Date(Date.parse(at) + afterMs);
  server = await serveHealth("0", { states: statesOf(state), now });
  const url = new URL(path, server.url);
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { host: "elsewhere.example" } }, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, body: text === "" ? undefined : JSON.parse(text) });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

describe("/health", () => {
  test("is 200 and says how it goes while the worker has just looked", async () => {
    expect(await ask(works)).toEqual({
      status: 200,
      body: { status: "working", worker: "host:1:abc", executing: 2, taken: 7, looked: at },
    });
  });

  test("is 503 once it has not looked for seconds, unless it has all it can do", async () => {
    expect(await ask(works, "/health", { afterMs: 5001 })).toMatchObject({ status: 503, body: { status: "failing" } });
    await server?.[Symbol.asyncDispose]();
    expect(await ask({ ...works, executing: 4 }, "/health", { afterMs: 60_000 })).toMatchObject({ status: 200 });
  });

  test("is 503 with the reason when the store does not answer", async () => {
    const problem = "PostgreSQL at db:5432/app cannot be reached";
    expect(await ask({ ...works, executing: 4, problem })).toMatchObject({ status: 503, body: { status: "failing", problem } });
  });

  test("is 503 before it begins and after it ended, and 200 while it finishes what it has", async () => {
    expect(await ask(undefined)).toMatchObject({ status: 503, body: { status: "starting", worker: null } });
    await server?.[Symbol.asyncDispose]();
    expect(await ask({ ...works, status: "stopped" })).toMatchObject({ status: 503 });
    await server?.[Symbol.asyncDispose]();
    expect(await ask({ ...works, status: "draining" }, "/health", { afterMs: 60_000 })).toMatchObject({
      status: 200,
      body: { status: "draining" },
    });
  });
});

// Mutants: the worker of one project speaks for all; one that is busy in one project counts as busy in another.
test("several projects are one worker: runs are added up, and one that cannot be worked for is enough to be failing", () => {
  const now = new Date(Date.parse(at) + 1000);
  const [later, problem] = ["2026-01-01T00:00:00.900Z", "the database is away"];
  const two = statesOf(works, { ...works, worker: "host:1:def", executing: 1, taken: 3, looked: later });
  expect([two.sum, two.workWell(now)]).toEqual([{ ...works, executing: 3, taken: 10 }, true]);
  const failing = statesOf(works, { ...works, problem });
  expect([failing.sum, failing.workWell(now)]).toMatchObject([{ worker: "host:1:abc", problem }, false]);
  const stale = new Date(Date.parse(at) + 6000);
  expect(statesOf({ ...works, executing: 4 }, works).workWell(stale)).toBe(false);
  expect(statesOf({ ...works, executing: 4 }, { ...works, executing: 4 }).workWell(stale)).toBe(true);
  const begins = statesOf(undefined, works);
  expect([begins.sum, begins.workWell(now)]).toEqual([undefined, false]);
  expect(statesOf({ ...works, status: "stopped" }, { ...works, status: "draining" }).sum).toMatchObject({ status: "draining", taken: 14 });
  const ended = statesOf({ ...works, status: "stopped" }, { ...works, status: "stopped" });
  expect([ended.sum?.status, ended.workWell(now)]).toEqual(["stopped", false]);
  // One that could not be worked for is tried again; the rest goes on.
  expect(statesOf(works, { ...works, status: "stopped" }).workWell(now)).toBe(true);
});

test("/ready is 200 only while new runs are taken", async () => {
  expect(await ask(works, "/ready?probe=1")).toMatchObject({ status: 200 });
  await server?.[Symbol.asyncDispose]();
  expect(await ask({ ...works, status: "draining" }, "/ready")).toMatchObject({ status: 503 });
});

test("other paths are 404, other methods 405; HEAD has no body; what is sent along is not read", async () => {
  expect(await ask(works, "/")).toMatchObject({ status: 404 });
  await server?.[Symbol.asyncDispose]();
  expect(await ask(works, "/health", { method: "POST", body: "x".repeat(100_000) })).toMatchObject({ status: 405 });
  await server?.[Symbol.asyncDispose]();
  expect(await ask(works, "/health", { method: "HEAD" })).toEqual({ status: 200, body: undefined });
});

test("a connection that asks for nothing does not keep it from closing", async () => {
  server = await serveHealth("0", { states: statesOf(works), now: () => new Date(at) });
  const idle = connect(Number(new URL(server.url).port), "127.0.0.1");
  await new Promise((resolve) => idle.once("connect", resolve));
  const closed = new Promise((resolve) => idle.once("close", resolve));
  idle.on("error", () => {});
  await server[Symbol.asyncDispose]();
  await closed;
});

test("an address is a port on loopback, or a host and a port", () => {
  expect(parseAddress("8080")).toEqual({ host: "127.0.0.1", port: 8080 });
  expect(parseAddress("0.0.0.0:80")).toEqual({ host: "0.0.0.0", port: 80 });
  expect(parseAddress("[::1]:80")).toEqual({ host: "::1", port: 80 });
  for (const wrong of ["", "http", "70000", "a:b:80", "host:", "-1"]) expect(() => parseAddress(wrong)).toThrow("--health takes");
});

test("a port that is taken is named", async () => {
  server = await serveHealth("0", { states: statesOf(works), now: () => new Date(at) });
  const { port } = new URL(server.url);
  await expect(serveHealth(port, { states: statesOf(works), now: () => new Date(at) })).rejects.toThrow(`127.0.0.1:${port}`);
});

test("whoever takes his time to ask, or says nothing, holds no place for long", async () => {
  server = await serveHealth("0", { states: statesOf(works), now: () => new Date(at) });
  const { port } = new URL(server.url);
  const ended = (said: string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(said));
      socket.on("error", () => {});
      socket.on("close", () => resolve());
      socket.resume();
    });
  const began = performance.now();
  await Promise.all([ended(""), ended("GET /health HTTP/1.1\r\nx: ")]);
  expect(performance.now() - began).toBeLessThan(4500);
}, 10_000);

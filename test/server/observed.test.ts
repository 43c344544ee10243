/** What whoever runs a server sees of it: a trace from the call to the run, numbers for Prometheus, and a line a call without secrets. */
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, expect, test } from "vitest";
import { openrath, type Session, Workflow } from "../../src/index.ts";
import type { Telemetry } from "../../src/runtime/telemetry.ts";
import { Metrics } from "../../src/server/metrics.ts";
import { createServer } from "../../src/server/server.ts";
import { workBeside } from "../../src/server/work.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { answer, call, keyFor } from "../support/guarded.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
afterAll(() => provider.shutdown());

class Quick extends Workflow {
  forward(session: Session) {
    return session.do("witness", () => 42);
  }
}

// Mutant: the last project that says something is all there is.
test("the runs of the workers of all projects are added up", async () => {
  const metrics = new Metrics(() => 0);
  const state = { worker: "w", status: "working", looked: undefined, problem: undefined } as const;
  metrics.worker("a", { ...state, executing: 1, taken: 2 });
  metrics.worker("b", { ...state, executing: 3, taken: 40 });
  metrics.worker("a", { ...state, executing: 0, taken: 3 });
  const text = await metrics.ofServer();
  expect(text.match(/^openrath_worker_runs.*$/gm)).toEqual([
    'openrath_worker_runs{what="executing"} 3',
    'openrath_worker_runs{what="taken"} 43',
  ]);
});

// Mutants: what the telemetry rejects with is thrown; the work is done again after it.
test.each(["throws", "rejects", "rejects after the work", "answers something else"])("a telemetry that %s changes no call", async (how) => {
  const broken: Telemetry = {
    ...telemetry(),
    call: (_, work) => {
      if (how === "throws") throw new Error("no collector");
      if (how === "rejects") return Promise.reject(new Error("no collector"));
      return work().then(() => {
        if (how === "answers something else") return new Response("mine") as never;
        throw new Error("no collector");
      });
    },
  };
  await using rath = openrath({ store: "memory", telemetry: broken });
  await using server = createServer(rath);
  const key = await keyFor(server);
  const warned: unknown[] = [];
  const hear = (warning: Error): void => void warned.push(warning.message);
  process.on("warning", hear);
  expect(await answer(server, "POST /v1/sessions", { key, body: { title: "one" } })).toMatchObject({ status: 201, body: { title: "one" } });
  expect((await answer(server, "GET /v1/sessions", { key })).body).toMatchObject({ items: [{ title: "one" }] });
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", hear);
  expect(warned.some((message) => String(message).includes("no collector"))).toBe(how !== "answers something else");
});

test("a call is followed to its run by its trace, its log line and its numbers", async () => {
  const lines: { readonly fields: Record<string, unknown>; readonly message: string }[] = [];
  const hear = (fields: object, message: string): void => void lines.push({ fields: fields as Record<string, unknown>, message });
  await using rath = openrath({ store: "memory", workflows: { quick: new Quick() }, telemetry: telemetry() });
  const server = createServer(rath, { log: { info: hear, warn: hear, error: hear } });
  const stop = new AbortController();
  const working = workBeside(server, { signal: stop.signal });
  const key = await keyFor(server, ["operator", "admin"]);
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, "x-request-id": "call-1" };
  const started = await answer(server, "POST /v1/runs", { key, headers, body: { workflow: "quick", message: "a secret wish" } });
  const { id, session } = started.body as { readonly id: string; readonly session: string };
  expect((await answer(server, `GET /v1/runs/${id}/result?wait=10`, { key })).body).toMatchObject({ status: "done" });
  stop.abort();
  await working;

  const spans = exporter.getFinishedSpans();
  const named = (name: string) => spans.find((span) => span.name === name);
  const [http, run] = [named("POST /v1/runs"), named("run quick")];
  expect(http?.spanContext().traceId).toBe(traceId);
  expect(http?.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
  expect(http?.attributes).toMatchObject({ "http.request.method": "POST", "http.route": "/v1/runs", "http.response.status_code": 201 });
  expect(run?.parentSpanContext?.spanId).toBe(http?.spanContext().spanId);
  expect(run?.attributes).toMatchObject({ "openrath.run.id": id, "gen_ai.conversation.id": session });

  expect(lines.find(({ message }) => message === "POST /v1/runs 201")?.fields).toMatchObject({ request: "call-1", identity: "human:ada" });
  expect(lines.find(({ message }) => message === "GET /v1/runs/{run}/result 200")?.fields).toMatchObject({ run: id });
  await answer(server, `GET /v1/sessions/${session}`, { key });
  expect(lines.at(-1)?.fields).toMatchObject({ session, status: 200 });
  await call(server, "GET /v1/runs", { key: `${key.slice(0, -1)}!` });
  const said = JSON.stringify(lines) + JSON.stringify(spans.map(({ attributes }) => attributes));
  for (const secret of [key.slice(16), "a secret wish"]) expect(said).not.toContain(secret);

  const response = await call(server, "GET /v1/metrics", { key });
  const text = await response.text();
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (counter|gauge|histogram|summary)$/gm)].map(([, name, type]) => [name, type]));
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  for (const sample of samples) {
    const [, name = ""] =
      /^([a-zA-Z_:][\w:]*)(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? (?:[+-]?[\d.]+(?:e[+-]?\d+)?|Na[Nn]|[+-]Inf)$/.exec(sample) ??
      [];
    expect(types.has(name) || types.has(name.replace(/_(?:bucket|sum|count)$/, "")), sample).toBe(true);
  }
  expect(text).toContain('openrath_http_requests_total{method="POST",route="/v1/runs",status="201"} 1');
  expect(text).toMatch(/openrath_worker_runs\{what="taken"\} 1/);
  expect(text).toMatch(/openrath_runs\{status="queued"\} 0/);
  await server.close();
});

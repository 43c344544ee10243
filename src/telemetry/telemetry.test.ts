/** Live spans with OpenTelemetry's own SDK: who is under whom, what they say, and which trace a run belongs to. */
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { contentsOf } from "../../test/support/contents.ts";
import { spansOf } from "../audit/export/otlp-spans.ts";
import { Agent, openrath, type Session, scripted, tool, Workflow } from "../index.ts";
import { telemetry } from "./telemetry.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
beforeEach(() => exporter.reset());
afterAll(() => provider.shutdown());

const named = (name: string): ReadableSpan => {
  const found = exporter.getFinishedSpans().filter((span) => span.name === name);
  if (found.length !== 1) throw new Error(`${found.length} spans ${name} among ${exporter.getFinishedSpans().map((span) => span.name)}`);
  return found[0] as ReadableSpan;
};
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;

class Desk extends Workflow {
  clerk = new Agent({
    name: "clerk",
    model: scripted({ calls: [{ tool: "look", input: { at: "the till" } }] }, "All is well."),
    tools: [
      tool({
        name: "look",
        description: "Looks at something.",
        input: z.object({ at: z.string() }),
        run: () => {
          trace.getTracer("app").startSpan("inside the tool").end();
          return "seen";
        },
      }),
    ],
  });
  forward(session: Session) {
    return this.clerk.forward(session);
  }
}

test("a run has its workflow, models and tools under it, and what a tool does is under the tool", async () => {
  const desk = new Desk();
  await using rath = openrath({ store: "memory", workflows: { desk }, telemetry: telemetry() });
  const run = await rath.run(desk, rath.session("Look around"));
  const session = await run.result();
  const spans = exporter.getFinishedSpans();
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  const outer = named("run desk");
  const agent = named("invoke_agent clerk");
  const looking = named("execute_tool look");
  expect(parentOf(outer)).toBeUndefined();
  expect(parentOf(agent)).toBe(named("invoke_workflow desk").spanContext().spanId);
  expect(parentOf(looking)).toBe(agent.spanContext().spanId);
  expect(parentOf(named("inside the tool"))).toBe(looking.spanContext().spanId);
  expect(outer.attributes).toMatchObject({ "openrath.run.id": run.id, "gen_ai.conversation.id": session.id });
  expect(spans.filter((span) => span.name.startsWith("chat ")).map((span) => span.attributes["gen_ai.operation.name"])).toEqual([
    "chat",
    "chat",
  ]);
  expect(JSON.stringify(spans.map((span) => span.attributes))).not.toContain("the till");
});

// Mutants: every workflow is told as one that is no agent; attributes of events have other names here.
test("live spans of agents and effects say what the export of the record says", async () => {
  const desk = new Desk();
  await using rath = openrath({ store: "memory", workflows: { desk }, telemetry: telemetry() });
  const session = await (await rath.run(desk, rath.session("Look around"))).result();
  const live = new Map(exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes]));
  const exported = (await spansOf(session, false)).filter(({ name }) => /^(?:invoke_agent|execute_tool) /.test(name));
  expect(exported.map(({ name }) => name)).toEqual(["invoke_agent clerk", "execute_tool look"]);
  for (const { name, attributes } of exported) {
    // An agent is told with its model only once all is on record.
    const { "gen_ai.provider.name": _, "gen_ai.request.model": __, "openrath.agent.stop": ___, ...same } = attributes;
    const said = Object.fromEntries(Object.entries(same).filter(([, value]) => value !== undefined));
    expect(live.get(name)).toEqual(said);
  }
});

test("a run is under the trace it was started in, also when somebody else takes it up", async () => {
  const desk = new Desk();
  await using rath = openrath({ store: "memory", workflows: { desk }, telemetry: telemetry() });
  const run = await trace.getTracer("app").startActiveSpan("request", async (span) => {
    const started = await rath.run("desk", rath.session("Look around"), { queue: true });
    span.end();
    return started;
  });
  const stop = new AbortController();
  const working = rath.work({ signal: stop.signal });
  await run.result();
  stop.abort();
  await working;
  expect(parentOf(named("run desk"))).toBe(named("request").spanContext().spanId);
});

test("what fails is an error, without its content", async () => {
  await using rath = openrath({ store: "memory", telemetry: telemetry() });
  const failing = rath.session().do("pay", () => {
    throw new TypeError("card 4711 is broken");
  });
  await expect(failing).rejects.toThrow("4711");
  const { status, attributes } = named("do pay");
  expect(status).toEqual({ code: 2 });
  expect(attributes["error.type"]).toBe("TypeError");
  expect(contentsOf(JSON.stringify(attributes))).not.toContain("4711");
});

/** Traces as a collector receives them: real sessions over real HTTP, read with OpenTelemetry's own definitions. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { write } from "../../src/audit/audit.ts";
import { headersFrom, sendOtlp } from "../../src/audit/export/otlp-send.ts";
import { Agent, openrath, type Rath, type Session, tool, Workflow } from "../../src/index.ts";
import { scripted } from "../../src/model/scripted.ts";
import { testRath } from "../../src/testing/testing.ts";
import { call, lastingStore, rathOn } from "../golden-cli/world.ts";
import { collector, decoded, type ExportRequest, type WireSpan } from "../support/collector.ts";

const golden = fileURLToPath(new URL("../golden/", import.meta.url));
const names = (await readdir(golden, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-otlp-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function traceOf(session: Session, options: { readonly content?: boolean } = {}): Promise<string> {
  const file = join(folder, "trace.json");
  await write(session, file, { format: "otlp", ...options });
  return readFile(file, "utf8");
}
const spansIn = (request: ExportRequest): readonly WireSpan[] =>
  request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
const attribute = ({ attributes }: WireSpan, key: string): unknown => {
  const value = attributes.find((one) => one.key === key)?.value;
  return value === undefined ? undefined : Object.values(value)[0];
};
const named = (spans: readonly WireSpan[], name: string): WireSpan => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(", ")}`);
  return found;
};

/** What holds of every trace. */
function checkTrace(spans: readonly WireSpan[]): void {
  const byId = new Map(spans.map((span) => [`${span.traceId} ${span.spanId}`, span]));
  expect(byId.size).toBe(spans.length);
  for (const span of spans) {
    expect(span.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(span.spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    for (const { traceId, spanId } of span.links ?? []) expect(byId.has(`${traceId} ${spanId}`)).toBe(true);
    // Parents are before children in the list, so there is no circle.
    if (span.parentSpanId !== undefined && span.parentSpanId !== "") {
      const parent = byId.get(`${span.traceId} ${span.parentSpanId}`) as WireSpan;
      expect(spans.indexOf(parent)).toBeLessThan(spans.indexOf(span));
      expect(BigInt(parent.startTimeUnixNano)).toBeLessThanOrEqual(BigInt(span.startTimeUnixNano));
      expect(BigInt(parent.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.endTimeUnixNano));
    }
    checkConventions(span);
  }
}

function checkConventions(span: WireSpan): void {
  const operation = attribute(span, "gen_ai.operation.name");
  if (span.status.code === 2) expect(attribute(span, "error.type")).toBeTypeOf("string");
  switch (operation) {
    case "chat":
      expect(span.kind).toBe(3);
      expect(span.name).toBe(`chat ${String(attribute(span, "gen_ai.request.model"))}`);
      expect(attribute(span, "gen_ai.provider.name")).toBeTypeOf("string");
      expect(attribute(span, "gen_ai.conversation.id")).toBeTypeOf("string");
      break;
    case "execute_tool":
      expect(span.name).toBe(`execute_tool ${String(attribute(span, "gen_ai.tool.name"))}`);
      break;
    case "invoke_agent":
      expect(span.name).toBe(`invoke_agent ${String(attribute(span, "gen_ai.agent.name"))}`);
      break;
    case "invoke_workflow":
      expect(span.name).toBe(`invoke_workflow ${String(attribute(span, "gen_ai.workflow.name"))}`);
      break;
    default:
  }
}

/** A desk whose agent uses a tool, which has another agent inside; two ways are tried, one is rejected, and it is checked. */
const weather = tool({
  name: "weather",
  description: "The weather.",
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, degrees: 20 }),
});
class Desk extends Workflow {
  readonly name = "desk";
  readonly clerk = new Agent({
    name: "clerk",
    instructions: "Be brief.",
    tools: [weather],
    settings: { temperature: 0.5, maxOutputTokens: 100 },
    model: scripted(
      {
        calls: [
          { tool: "weather", input: { city: "Faro SECRET" } },
          { tool: "weather", input: "not json" },
        ],
        usage: { input: 10, output: 5, cached: 4, reasoning: 2 },
      },
      { text: "Warm. SECRET", reasoning: "SECRET thoughts" },
    ),
  });
  async forward(session: Session): Promise<Session> {
    const answered = await this.clerk.forward(session);
    const left = await answered.fork("left").do("try", () => 1);
    const bad = (await answered.fork("right").do("try", () => 2)).reject("SECRET reason");
    const merged = await left.merge(bad);
    return merged.check("is warm", () => ({ passed: true, score: 0.9 }));
  }
}
async function desk(rath: Rath): Promise<Session> {
  const done = await rath.run(new Desk(), rath.session("How is it in Faro? SECRET"));
  return done.result();
}

describe("a session as a trace", () => {
  test("has spans for runs, agents, model calls, tools, branches and checks, as the conventions name them", async () => {
    await using rath = testRath();
    const session = await desk(rath);
    const text = await traceOf(session);
    const spans = spansIn(decoded(text));
    checkTrace(spans);
    const run = named(spans, "invoke_workflow desk");
    const agent = named(spans, "invoke_agent clerk");
    const chats = spans.filter(({ name }) => name === "chat scripted");
    expect(agent.parentSpanId).toBe(run.spanId);
    expect(chats.map(({ parentSpanId }) => parentSpanId)).toEqual([agent.spanId, agent.spanId]);
    expect(Object.fromEntries((chats[0] as WireSpan).attributes.map(({ key, value }) => [key, value]))).toMatchObject({
      "gen_ai.request.temperature": { doubleValue: 0.5 },
      "gen_ai.request.max_tokens": { intValue: "100" },
      "gen_ai.usage.input_tokens": { intValue: "10" },
      "gen_ai.usage.output_tokens": { intValue: "5" },
      "gen_ai.usage.cache_read.input_tokens": { intValue: "4" },
      "gen_ai.usage.reasoning.output_tokens": { intValue: "2" },
      "gen_ai.response.finish_reasons": { arrayValue: { values: [{ stringValue: "tool_call" }] } },
    });
    const tools = spans.filter(({ name }) => name === "execute_tool weather");
    expect(tools.map((span) => [attribute(span, "gen_ai.tool.call.id"), span.status.code, attribute(span, "error.type")])).toEqual([
      ["call_desk_clerk_0_0", undefined, undefined],
      ["call_desk_clerk_0_1", 2, "invalid-input"],
    ]);
    const [left, right] = [named(spans, "fork left"), named(spans, "fork right")];
    expect(attribute(right, "openrath.status")).toBe("rejected");
    expect(left.links).toHaveLength(1);
    expect(named(spans, "merge").links?.[0]?.spanId).toBe(right.spanId);
    expect(named(spans, "check is warm").events?.map(({ name }) => name)).toEqual(["gen_ai.evaluation.result"]);
    expect(text).not.toContain("SECRET");
    expect(await traceOf(session)).toBe(text);
  });

  test("has what was said only where that was asked for", async () => {
    await using rath = testRath();
    const spans = spansIn(decoded(await traceOf(await desk(rath), { content: true })));
    const chats = spans.filter(({ name }) => name === "chat scripted");
    const last = chats.at(-1) as WireSpan;
    expect(JSON.parse(String(attribute(last, "gen_ai.input.messages")))).toMatchObject([
      { role: "user", parts: [{ type: "text", content: "How is it in Faro? SECRET" }] },
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: "call_desk_clerk_0_0", arguments: { city: "Faro SECRET" } }, { type: "tool_call" }],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_desk_clerk_0_0" }, { type: "tool_call_response" }] },
    ]);
    expect(JSON.parse(String(attribute(last, "gen_ai.output.messages")))).toEqual([
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "SECRET thoughts" },
          { type: "text", content: "Warm. SECRET" },
        ],
        finish_reason: "stop",
      },
    ]);
    expect(JSON.parse(String(attribute(last, "gen_ai.system_instructions")))).toEqual([{ type: "text", content: "Be brief." }]);
    expect(JSON.parse(String(attribute(named(spans, "execute_tool weather"), "gen_ai.tool.call.arguments")))).toEqual({
      city: "Faro SECRET",
    });
  });

  test.each(names)("of the golden session %s is well-formed, with content and without", async (name) => {
    await using rath = openrath({ store: "memory" });
    const session = await rath.import(join(golden, name, "session.jsonl"));
    for (const content of [false, true]) {
      const text = await traceOf(session, { content });
      const request = decoded(text);
      checkTrace(spansIn(request));
      // Nothing was lost on the way through bytes: every field is one that the definitions know.
      expect(spansIn(request)).toEqual(spansIn(JSON.parse(text) as ExportRequest));
    }
  });
});

describe("sending a trace", () => {
  const options = { wait: async () => {} };

  test("goes in batches, with the headers, to /v1/traces, and has the same ids each time", async () => {
    await using rath = testRath();
    await using there = await collector();
    const session = await desk(rath);
    const headers = headersFrom("authorization=Bearer%20abc, x-tenant=a=b");
    const sent = await sendOtlp(session, { ...options, to: there.url, headers, batch: 3 });
    const spans = there.received.flatMap(({ request }) => spansIn(request));
    expect(sent).toEqual({ sent: spans.length, rejected: 0, messages: [] });
    expect(there.received).toHaveLength(Math.ceil(spans.length / 3));
    expect(there.received[0]?.headers).toMatchObject({ authorization: "Bearer abc", "x-tenant": "a=b" });
    await sendOtlp(session, { ...options, to: `${there.url}/v1/traces` });
    expect(spansIn((there.received.at(-1) as (typeof there.received)[0]).request)).toEqual(spans);
  });

  test("waits as long as a busy collector says, and then goes on", async () => {
    await using rath = testRath();
    await using there = await collector({ status: 429, headers: { "retry-after": "7" } }, { status: 503 }, { status: 502 });
    const waits: number[] = [];
    await sendOtlp(rath.session("hi"), { to: there.url, wait: async (ms) => void waits.push(ms) });
    expect(waits).toEqual([7000, 1000, 2000]);
    expect(there.received).toHaveLength(1);
  });

  test("says what the collector did not take", async () => {
    await using rath = testRath();
    await using there = await collector({ status: 200, body: '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}' });
    expect(await sendOtlp(rath.session("hi"), { ...options, to: there.url })).toEqual({ sent: 1, rejected: 1, messages: ["too old"] });
  });

  test.each([
    ["a refusal", { status: 400, body: '{"code":3,"message":"no such thing"}' }, /answered 400: no such thing/],
    ["a redirect, which is not followed", { status: 307, headers: { location: "http://127.0.0.1:1/" } }, /answered 307/],
    ["not being let in", { status: 401, body: "" }, /answered 401/],
  ])("fails for good at %s, and never names a header", async (_, answer, message) => {
    await using rath = testRath();
    await using there = await collector(answer);
    const error: unknown = await sendOtlp(rath.session("hi"), { ...options, to: there.url, headers: { authorization: "hunter2" } }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "export.failed", message: expect.stringMatching(message) });
    expect(JSON.stringify([error, (error as Error).message, String((error as Error).cause)])).not.toContain("hunter2");
  });

  test("from the command line, with the headers of the environment", async () => {
    const store = lastingStore();
    const rath = rathOn(store);
    const session = await rath.session("hi").do("work", () => 1);
    await rath.close();
    await using there = await collector();
    const argv = ["export", session.id, "--format", "otlp", "--to", there.url];
    const env = { NO_COLOR: "1", OTEL_EXPORTER_OTLP_HEADERS: "authorization=hunter2", OTEL_SERVICE_NAME: "desk" };
    expect(await call(store, argv, { terminal: false, env })).toMatchObject({ exit: 0, out: "2 spans sent\n", err: "" });
    expect(there.received[0]?.headers["authorization"]).toBe("hunter2");
    expect(JSON.stringify(there.received[0]?.request.resourceSpans[0]?.resource)).toContain('"stringValue":"desk"');
    await using picky = await collector({ status: 200, body: '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}' });
    const some = await call(store, [...argv.slice(0, -1), picky.url], { terminal: false, env });
    expect(some).toMatchObject({ exit: 4, out: "1 span sent\n", err: expect.stringMatching(/did not take 1 span[\s\S]*too old/) });
    await using shut = await collector({ status: 403, body: "who are you?" });
    const refused = await call(store, [...argv.slice(0, -1), shut.url], { terminal: false, env });
    expect(refused).toMatchObject({ exit: 1, out: "", err: expect.stringContaining("answered 403: who are you?") });
    expect(refused.err).not.toContain("hunter2");
  });

  test("gives up on a collector that is always busy, or not there", async () => {
    await using rath = testRath();
    await using there = await collector(...Array.from({ length: 9 }, () => ({ status: 503 })));
    await expect(sendOtlp(rath.session("hi"), { ...options, to: there.url })).rejects.toMatchObject({
      code: "export.failed",
      retryable: true,
    });
    await expect(sendOtlp(rath.session("hi"), { ...options, to: "http://127.0.0.1:1" })).rejects.toThrow(
      /cannot be reached after 5 attempts/,
    );
    await expect(sendOtlp(rath.session("hi"), { ...options, to: there.url, headers: { "a b": "hunter2\n" } })).rejects.toThrow(
      /headers for the collector are not valid/,
    );
    await expect(sendOtlp(rath.session("hi"), { ...options, to: "nowhere" })).rejects.toThrow(/no URL/);
    const named = there.url.replace("//", "//ada:hunter2@");
    const refused = sendOtlp(rath.session("hi"), { ...options, to: named });
    await expect(refused).rejects.toThrow(/holds a user or a password.*OTEL_EXPORTER_OTLP_HEADERS/);
    await expect(refused).rejects.not.toThrow(/hunter2/);
  });
});

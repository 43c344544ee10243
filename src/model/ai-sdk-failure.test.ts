import { APICallError, JSONParseError, LoadAPIKeyError, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { callModel, failureFrom, fakeModel } from "../../test/support/model-call.ts";
import { aiSdkModel } from "./ai-sdk.ts";
import { modelFailed } from "./failure.ts";

const api = (
  statusCode: number | undefined,
  fields: { message?: string; headers?: Record<string, string>; body?: string; data?: unknown; isRetryable?: boolean } = {},
) =>
  new APICallError({
    message: fields.message ?? "It failed.",
    url: "http://127.0.0.1/v1",
    requestBodyValues: {},
    ...(statusCode === undefined ? {} : { statusCode }),
    responseHeaders: fields.headers ?? {},
    responseBody: fields.body ?? "",
    data: fields.data,
    ...(fields.isRetryable === undefined ? {} : { isRetryable: fields.isRetryable }),
  });

/** The failure a provider's error becomes when the call is refused, or when it arrives in the stream. */
const refused = async (error: unknown) =>
  await failureFrom(
    callModel(
      aiSdkModel({
        ...fakeModel([]),
        doStream: async () => {
          throw error;
        },
      }),
    ),
  );
const streamed = async (error: unknown) => await failureFrom(callModel(aiSdkModel(fakeModel([{ type: "error", error }]))));
const broken = async (error: unknown) =>
  await failureFrom(callModel(aiSdkModel(fakeModel([{ type: "text-delta", id: "0", delta: "a" }], { error }))));

describe("an answer with a status", () => {
  test.each([
    [400, false],
    [401, false],
    [403, false],
    [404, false],
    [408, true],
    [409, true],
    [422, false],
    [429, true],
    [500, true],
    [503, true],
    [529, true],
  ])("%i is retryable: %s", async (status, retryable) => {
    expect(await refused(api(status))).toMatchObject({
      code: "model.failed",
      retryable,
      details: { status },
      message: `test/model: It failed. (HTTP ${status})`,
    });
  });

  test("an answer that began well and could not be read has no status to report, and is tried again", async () => {
    const failure = await refused(api(200, { message: "Invalid JSON response" }));
    expect(failure).toMatchObject({ retryable: true, message: "test/model: Invalid JSON response" });
    expect(failure.details).toEqual({});
    expect(await broken(api(200))).toMatchObject({ retryable: true, message: "test/model: the stream was cut. It failed." });
  });

  test("a quota that is used up, or a server that says so, is not tried again", async () => {
    expect(await refused(api(429, { data: { error: { code: "insufficient_quota" } } }))).toMatchObject({ retryable: false });
    expect(await refused(api(429, { headers: { "x-should-retry": "false" } }))).toMatchObject({ retryable: false });
    expect(await refused(api(400, { headers: { "X-Should-Retry": "true" } }))).toMatchObject({ retryable: true });
  });

  test("says how long to wait, in whichever way the provider says it", async () => {
    const wait = async (headers: Record<string, string>, body?: string) =>
      (await refused(api(429, { headers, ...(body === undefined ? {} : { body }) }))).details["retryAfterMs"];
    expect(await wait({ "retry-after": "7" })).toBe(7000);
    expect(await wait({ "Retry-After": "0.5" })).toBe(500);
    expect(await wait({ "retry-after-ms": "1500", "retry-after": "7" })).toBe(1500);
    const inAMinute = (await wait({ "retry-after": new Date(Date.now() + 60_000).toUTCString() })) as number;
    expect(inAMinute).toBeGreaterThan(50_000);
    expect(inAMinute).toBeLessThanOrEqual(60_000);
    expect(await wait({ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })).toBe(0);
    expect(await wait({}, '{"error":{"details":[{"retryDelay": "34.5s"}]}}')).toBe(34_500);
    expect(await wait({ "retry-after": "soon" })).toBeUndefined();
    expect((await refused(api(400, { headers: { "retry-after": "7" } }))).details["retryAfterMs"]).toBeUndefined();
  });

  test.each([
    "This model's maximum context length is 128000 tokens.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed",
    "Your input exceeds the context window of this model.",
  ])("a request that is too long says so: %s", async (message) => {
    expect(await refused(api(400, { message }))).toMatchObject({
      retryable: false,
      details: { status: 400, overflow: true },
      message: expect.stringContaining("does not fit"),
    });
  });

  test("an overflow is known by its code too, and a failing server is none", async () => {
    expect(await refused(api(400, { data: { error: { code: "context_length_exceeded" } } }))).toMatchObject({
      details: { overflow: true },
    });
    expect((await refused(api(503, { message: "context window service down" }))).details).toEqual({ status: 503 });
  });
});

describe("an error without a status", () => {
  test("of the network is retryable", async () => {
    expect(await refused(api(undefined, { isRetryable: true, message: "Cannot connect to API: ECONNREFUSED" }))).toMatchObject({
      retryable: true,
    });
    expect(
      await refused(Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("x"), { code: "ENOTFOUND" }) })),
    ).toMatchObject({ retryable: true });
    expect(await broken(new TypeError("terminated"))).toMatchObject({
      retryable: true,
      message: expect.stringContaining("the stream was cut"),
    });
    expect(await broken(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }))).toMatchObject({ retryable: true });
  });

  test("about what was asked is not", async () => {
    expect(await refused(new UnsupportedFunctionalityError({ functionality: "video" }))).toMatchObject({ retryable: false });
    expect(await refused(new LoadAPIKeyError({ message: "OPENAI_API_KEY is missing" }))).toMatchObject({
      retryable: false,
      message: expect.stringContaining("OPENAI_API_KEY"),
    });
    expect(await refused(new Error("a bug"))).toMatchObject({ retryable: false, message: "test/model: a bug" });
  });

  test("about an answer that cannot be read is", async () => {
    expect(await streamed(new JSONParseError({ text: "{malformed", cause: new Error("x") }))).toMatchObject({ retryable: true });
    expect(await refused(new JSONParseError({ text: "{malformed", cause: new Error("x") }))).toMatchObject({ retryable: true });
  });

  test("in a stream is retryable, unless another attempt cannot mend it", async () => {
    expect(await streamed({ type: "overloaded_error", message: "Overloaded" })).toMatchObject({
      retryable: true,
      message: "test/model: the stream was cut. Overloaded",
    });
    expect(await streamed("boom")).toMatchObject({ retryable: true, message: expect.stringContaining("boom") });
    expect(await streamed(undefined)).toMatchObject({ retryable: true });
    expect(await streamed({ error: { type: "invalid_request_error", message: "Bad." } })).toMatchObject({
      retryable: false,
      message: "test/model: Bad.",
    });
    expect(await streamed({ type: "error", code: "insufficient_quota", message: "Pay." })).toMatchObject({ retryable: false });
  });

  test("keeps its cause, and a failure of ours stays as it is", async () => {
    const error = api(500);
    expect(await refused(error)).toMatchObject({ cause: error });
    const ours = modelFailed("mine", { retryable: false });
    expect(await refused(ours)).toBe(ours);
    expect(await refused({ lastError: api(429), message: "Failed after 3 attempts." })).toMatchObject({ details: { status: 429 } });
  });
});

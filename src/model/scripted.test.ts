import { describe, expect, test } from "vitest";
import { callModel, failureFrom, optionsOf, requestOf } from "../../test/support/model-call.ts";
import { Agent } from "../agent/agent.ts";
import { testRath } from "../testing/test-rath.ts";
import { scripted } from "./scripted.ts";

const session = testRath().session("Hello");
const at = (turn: number, by = "agent") => optionsOf({ session, turn, by });

describe("scripted", () => {
  test("the n-th reply answers the n-th call, whoever asked in between", async () => {
    const model = scripted("first", "second");
    expect((await callModel(model, requestOf(), at(1))).reply.parts).toEqual([{ type: "text", text: "second" }]);
    expect((await callModel(model, requestOf(), at(0, "other"))).reply.parts).toEqual([{ type: "text", text: "first" }]);
    expect((await callModel(model, requestOf(), at(0))).reply.parts).toEqual([{ type: "text", text: "first" }]);
    expect(model).toMatchObject({ id: "scripted", free: true });
  });

  test("a function sees the request and the session", async () => {
    const model = scripted((request, given) => `${request.messages.length} ${given.id === session.id}`);
    expect((await callModel(model, requestOf(), at(0))).reply.parts).toEqual([{ type: "text", text: "1 true" }]);
  });

  test("a function that is given alone answers every call; beside others it is one reply", async () => {
    const count = scripted((request) => `${request.messages.length} read`);
    const agent = new Agent({ model: count });
    const first = await agent.forward(session);
    expect([first.text, (await agent.forward(first.say("And now?"))).text]).toEqual(["1 read", "3 read"]);
    const list = scripted(
      () => "made",
      () => "made too",
    );
    expect((await callModel(list, requestOf(), at(1))).reply.parts).toEqual([{ type: "text", text: "made too" }]);
    for (const model of [list, scripted("a"), scripted(() => "made", "a")])
      expect(await failureFrom(callModel(model, requestOf(), at(2)))).toMatchObject({ message: expect.stringMatching(/^The script has/) });
  });

  test("calls have ids of their agent, turn and index, which stay apart in a conversation", async () => {
    const model = scripted({
      text: "I look.",
      reasoning: "Hm.",
      calls: [
        { tool: "a", input: { x: 1 } },
        { tool: "b", input: '{"bro' },
      ],
    });
    const { reply } = await callModel(model, requestOf(), at(0));
    const calls = [
      { type: "call", id: "call_agent_0_0", tool: "a", input: '{"x":1}' },
      { type: "call", id: "call_agent_0_1", tool: "b", input: '{"bro' },
    ] as const;
    expect(reply).toMatchObject({
      finish: "calls",
      parts: [{ type: "reasoning", text: "Hm." }, { type: "text", text: "I look." }, ...calls],
    });
    const other = await callModel(model, requestOf(), { ...at(0), by: "team/b" });
    expect(other.reply.parts.flatMap((part) => (part.type === "call" ? [part.id] : []))).toEqual(["call_team_b_0_0", "call_team_b_0_1"]);
  });

  test("text arrives in pieces that make the whole", async () => {
    const text = "Ein längerer Satz mit mehreren Wörtern 🙂, in\n\nzwei Absätzen. ";
    const { parts } = await callModel(scripted({ text, reasoning: "Let me think about it." }), requestOf(), at(0));
    const said = parts.flatMap((part) => (part.type === "text-delta" ? [part.text] : []));
    expect(said.length).toBeGreaterThan(1);
    expect(said.join("")).toBe(text);
    expect(parts.flatMap((part) => (part.type === "reasoning-delta" ? [part.text] : [])).join("")).toBe("Let me think about it.");
  });

  test("structured output is said as JSON", async () => {
    const { reply } = await callModel(scripted({ output: { ok: [1, null] } }), requestOf(), at(0));
    expect(reply.parts).toEqual([{ type: "text", text: '{"ok":[1,null]}' }]);
  });

  test("usage is estimated at four characters a token, unless given", async () => {
    const { reply } = await callModel(scripted({ text: "12345678", reasoning: "1234" }), requestOf({ instructions: "12345" }), at(0));
    // "Hello", "12345" and the empty list of tools are 12 characters.
    expect(reply.usage).toEqual({ input: 3, output: 3, cached: 0, cacheWrite: 0, reasoning: 1 });
    const given = await callModel(scripted({ text: "x", usage: { input: 100, cached: 90 }, finish: "length" }), requestOf(), at(0));
    expect(given.reply).toMatchObject({ finish: "length", usage: { input: 100, output: 1, cached: 90 } });
  });
});

describe("a scripted failure", () => {
  test.each([
    ["rate-limit", 429],
    ["server", 500],
  ] as const)("%s fails the first attempt of a turn and not the second", async (fail, status) => {
    const model = scripted({ fail, text: "at last" });
    const failure = await failureFrom(callModel(model, requestOf(), at(0)));
    expect(failure).toMatchObject({ code: "model.failed", retryable: true, details: { status, retryAfterMs: 0 } });
    expect((await callModel(model, requestOf(), at(0))).reply.parts).toEqual([{ type: "text", text: "at last" }]);
  });

  test("a cut stream shows the beginning of the text, and the retry all of it", async () => {
    const model = scripted({ fail: "cut", text: "one two three four" });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const part of model.stream(requestOf(), at(0))) if (part.type === "text-delta") seen.push(part.text);
    })();
    expect(await failureFrom(reading)).toMatchObject({ retryable: true, message: expect.stringContaining("cut") });
    expect(seen.join("")).toBe("one two ");
    expect((await callModel(model, requestOf(), at(0))).reply.parts).toEqual([{ type: "text", text: "one two three four" }]);
  });

  test("branches and agents fail apart", async () => {
    const model = scripted({ fail: "server", text: "x" });
    await failureFrom(callModel(model, requestOf(), at(0)));
    const fork = testRath().session("Other");
    expect(await failureFrom(callModel(model, requestOf(), optionsOf({ session: fork })))).toMatchObject({ retryable: true });
    expect(await failureFrom(callModel(model, requestOf(), at(0, "other")))).toMatchObject({ retryable: true });
    await callModel(model, requestOf(), at(0));
  });

  test("a script without a reply left says how many there are and who asks", async () => {
    const failure = await failureFrom(callModel(scripted("a", "b"), requestOf(), at(2, "fix.coder")));
    expect(failure).toMatchObject({
      code: "model.failed",
      retryable: false,
      message: expect.stringMatching(/2 replies.*"fix.coder".*turn 2/),
    });
  });

  test("an assertion in a function is not tried again and keeps its message", async () => {
    const model = scripted((request) => {
      expect(request.messages).toHaveLength(2);
      return "never";
    });
    const failure = await failureFrom(callModel(model, requestOf(), at(0)));
    expect(failure).toMatchObject({
      code: "model.failed",
      retryable: false,
      message: expect.stringMatching(/^The function for turn 0 of the script threw: .*length/is),
    });
  });
});

describe("a misspelt script", () => {
  test("is refused when it is made, or when its function gives it", async () => {
    const refused = (message: RegExp) => expect.objectContaining({ code: "value.unsupported", message: expect.stringMatching(message) });
    expect(() => scripted(["a", "b"] as never)).toThrow(refused(/^Reply 1 of the script is a list: .*scripted\(first, second\)/));
    expect(() => scripted("a", { call: [] } as never)).toThrow(refused(/^Reply 2 of the script has "call", which is not known: use text/));
    await expect(callModel(scripted((() => undefined) as never))).rejects.toEqual(refused(/^Reply 1 of the script is undefined/));
  });
});

describe("a scripted delay", () => {
  test("ends with the reason of the signal", async () => {
    const abort = new AbortController();
    const call = callModel(scripted({ delay: 60_000, text: "x" }), requestOf(), optionsOf({ signal: abort.signal }));
    abort.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
  });

  test("a call that was aborted before does not begin", async () => {
    await expect(callModel(scripted("x"), requestOf(), optionsOf({ signal: AbortSignal.abort(new Error("before")) }))).rejects.toThrow(
      "before",
    );
  });

  test("passes when nobody aborts", async () => {
    expect((await callModel(scripted({ delay: 1, text: "x" }))).reply.finish).toBe("stop");
  });
});

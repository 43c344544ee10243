import { describe, expect, test } from "vitest";
import { callModel, failureFrom, optionsOf, requestOf } from "../../test/support/model-call.ts";
import { link } from "../runtime/link.ts";
import { runtimeOf } from "../runtime/replay.ts";
import type { ReplyPart } from "../session/message.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { testRath } from "../testing/test-rath.ts";
import { recorded } from "./recorded.ts";

const usage = { input: 3, output: 2, cached: 1, cacheWrite: 0, reasoning: 0, usd: 0.5 };

/** The session after a call of a model that is on record, as an agent writes it. */
function answered(session: Session, by: string, parts: readonly ReplyPart[], outcome: "ok" | "error" = "ok"): Session {
  const runtime = runtimeOf(session);
  const { node } = placeOf(session);
  const { log } = node;
  const data = { model: "openai/x", configuration: "{}", request: "0".repeat(64) };
  const called = link(runtime, { log, parents: [node], kind: "model.called", data, by, facts: { started: true } });
  const result = outcome === "ok" ? { parts, finish: "stop", id: "resp" } : { message: "It failed." };
  return runtime.outside(
    link(runtime, { log, parents: [called], kind: "model.returned", data: result, by, facts: { attempts: 1, outcome, usage } }),
  );
}
const text = (words: string): readonly ReplyPart[] => [{ type: "text", text: words }];
const asks = (session: Session, turn: number, by = "agent") => optionsOf({ session, turn, by });
const parts = async (past: Session, options: ReturnType<typeof optionsOf>) =>
  (await callModel(recorded(past), requestOf(), options)).reply.parts;

describe("recorded", () => {
  test("an agent's n-th call gets the n-th reply of that agent, whole", async () => {
    const rath = testRath();
    let past = answered(rath.session("Hello"), "planner", text("plan"));
    past = answered(past, "coder", text("first"));
    past = answered(past, "coder", [
      { type: "reasoning", text: "Hm" },
      ...text("second"),
      { type: "call", id: "c", tool: "add", input: "{}" },
    ]);
    const now = testRath().session("Hello");
    expect(await parts(past, asks(now, 0, "planner"))).toEqual(text("plan"));
    expect(await parts(past, asks(now, 0, "coder"))).toEqual(text("first"));
    const model = recorded(past);
    expect(model).toMatchObject({ id: "recorded", free: true });
    const { parts: streamed, reply } = await callModel(model, requestOf(), asks(now, 1, "coder"));
    expect(streamed.map(({ type }) => type)).toEqual(["reasoning-delta", "text-delta", "call-delta", "reply"]);
    expect(reply).toMatchObject({ finish: "stop", id: "resp", usage: { input: 3, output: 2, cached: 1, cacheWrite: 0, reasoning: 0 } });
    expect(Object.keys(reply).sort()).toEqual(["finish", "id", "parts", "usage"]);
    expect(reply.usage).not.toHaveProperty("usd");
  });

  test("a call that failed counts as a turn and gives nothing", async () => {
    const past = answered(answered(testRath().session("Hello"), "agent", [], "error"), "agent", text("after"));
    const now = testRath().session("Hello");
    expect(await failureFrom(callModel(recorded(past), requestOf(), asks(now, 0)))).toMatchObject({
      code: "model.failed",
      retryable: false,
      message: expect.stringContaining("no reply on record"),
    });
    expect(await parts(past, asks(now, 1))).toEqual(text("after"));
  });

  test("of several branches the one is taken that reads the same, the same label, or as many messages", async () => {
    const tell = async (rath: ReturnType<typeof testRath>) => {
      const root = await rath.session("Hello").do("begin", () => 1);
      const [a, b] = [root.fork("a").say("small"), root.fork("b").say("thorough")];
      const [c, d] = [root.fork("c").say("same"), root.fork("d").say("same")];
      const e = root.fork("e").say("one").say("two");
      return { root, a, b, c, d, e };
    };
    const then = await tell(testRath());
    const done = await then.root.merge([
      answered(then.a, "agent", text("A")),
      answered(then.b, "agent", text("B")),
      answered(then.c, "agent", text("C")),
      answered(then.d, "agent", text("D")),
      answered(then.e, "agent", text("E")),
    ]);
    const now = await tell(testRath());
    expect(await parts(done, asks(now.b, 0))).toEqual(text("B"));
    expect(await parts(done, asks(now.a, 0))).toEqual(text("A"));
    expect(await parts(done, asks(now.root.fork("elsewhere").say("thorough"), 0))).toEqual(text("B"));
    expect(await parts(done, asks(now.root.fork("elsewhere").say("small"), 0))).toEqual(text("A"));
    expect(await parts(done, asks(now.d, 0))).toEqual(text("D"));
    expect(await parts(done, asks(now.c, 0))).toEqual(text("C"));
    expect(await parts(done, asks(now.root.fork("other").say("something").say("else"), 0))).toEqual(text("E"));
  });

  test("a call that is not on record says whose it is and which", async () => {
    const past = answered(testRath().session("Hello"), "agent", text("only"));
    const failure = await failureFrom(callModel(recorded(past), requestOf(), asks(past, 1, "fix.coder")));
    expect(failure).toMatchObject({
      code: "model.failed",
      retryable: false,
      message: expect.stringMatching(/call 2 of agent "fix.coder"/),
    });
    await expect(callModel(recorded(past), requestOf(), optionsOf({ signal: AbortSignal.abort(new Error("no")) }))).rejects.toThrow("no");
  });
});

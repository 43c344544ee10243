/** A request that is longer than its model reads: shortened by the policy, else refused before anybody is asked. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Script, scripted } from "../../model/scripted.ts";
import { replay } from "../../runtime/replay.ts";
import { stateOf } from "../../session/fold.ts";
import type { ModelRequest } from "../../session/message.ts";
import type { Model } from "../../session/model.ts";
import type { Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { testRath } from "../../testing/test-rath.ts";
import { tool } from "../../tool/tool.ts";
import { Agent } from "../agent.ts";
import type { AgentOptions } from "../options.ts";

/** A model that reads so many tokens, and counts how often it was asked. */
function small(contextWindow: number, ...script: readonly Script[]): { readonly model: Model; readonly sent: ModelRequest[] } {
  const sent: ModelRequest[] = [];
  const seen = script.map(
    (reply): Script =>
      (request, session) => {
        sent.push(JSON.parse(JSON.stringify(request)) as ModelRequest);
        return typeof reply === "function" ? reply(request, session) : reply;
      },
  );
  return { model: { ...scripted(...seen), id: "own/small", contextWindow }, sent };
}

const big = tool({
  name: "big",
  description: "x",
  input: z.object({ length: z.number() }),
  repeat: "safe",
  run: ({ length }) => "word ".repeat(length / 5),
});
const call = (length: number): Script => ({ calls: [{ tool: "big", input: { length } }] });
const reasonOf = (session: Session): string => {
  const { node, context } = placeOf(session);
  return stateOf(node).stopped?.data<"agent.stopped">(context.host.platform)?.reason ?? "";
};
const agent = (model: Model, more: Partial<AgentOptions> = {}) => new Agent({ name: "a", model, tools: [big], ...more });

describe("a request that is too long", () => {
  test("stops the agent with what, why and what next, and nobody is asked", async () => {
    const { model, sent } = small(1000, "hi");
    const session = await agent(model).forward(testRath().session("word ".repeat(2000)));
    expect([session.stop, session.status, sent.length, session.usage.input]).toEqual(["error", "failed", 0, 0]);
    expect(reasonOf(session)).toMatch(
      /the request has about 2\d{3} tokens, and own\/small reads 1000: give the agent context: \{ summariseAt: 500 \} or \{ window: 500 \}/,
    );
    // On record like other refusals, and what it would have read is there.
    const [returned] = [...session.events()].filter(({ kind }) => kind === "model.returned");
    expect(returned?.facts.outcome).toBe("denied");
    expect(JSON.stringify((await session.request()).messages)).toContain("word word");
    expect(String(await replay(session, agent(model)))).toMatch(/^identical/);
    expect(() => session.output).toThrow(/stopped as "error"/);
  });

  test("counts the answer that is asked for, and not what is not", async () => {
    const ask = async (maxOutputTokens: number | undefined) => {
      const { model, sent } = small(1000, "hi");
      await agent(model, { tools: [], settings: { maxOutputTokens } }).forward(testRath().session("word ".repeat(600)));
      return sent.length;
    };
    expect([await ask(undefined), await ask(100), await ask(400)]).toEqual([1, 1, 0]);
  });

  test("is asked where a model to fall back on reads it, or where nobody knows", async () => {
    const first = small(10, () => {
      throw new Error("too long for me");
    });
    const second = small(10_000, "read");
    const session = await agent(first.model, { model: [first.model, second.model] }).forward(testRath().session("word ".repeat(100)));
    expect([session.stop, session.text]).toEqual(["finished", "read"]);
    const { contextWindow: _, ...unknown } = small(10, "read").model;
    expect((await agent(unknown).forward(testRath().session("word ".repeat(100)))).text).toBe("read");
  });

  test("in the middle: one enormous result", async () => {
    const { model, sent } = small(1000, call(20), call(20_000), "never");
    const session = await agent(model).forward(testRath().session("go"));
    expect([session.stop, sent.length]).toEqual(["error", 2]);
    expect(session.messages.at(-1)?.text.length).toBe(20_000);
  });

  test("by what a hook sends", async () => {
    const { model, sent } = small(1000, "hi");
    const longer = (request: ModelRequest): ModelRequest => ({
      ...request,
      messages: [{ role: "user", parts: [{ type: "text", text: "word ".repeat(2000) }] }],
    });
    const session = await agent(model, { hooks: { beforeModel: longer } }).forward(testRath().session("go"));
    expect([session.stop, sent.length]).toEqual(["error", 0]);
  });

  test("that a policy makes fit is asked, also where its threshold lies beyond the model", async () => {
    const summary = scripted("Short.");
    for (const context of [{ window: 1_000_000 }, { summariseAt: 1_000_000, model: summary }]) {
      const { model, sent } = small(1500, call(2000), call(2000), call(2000), call(2000), "done");
      const session = await agent(model, { context }).forward(testRath().session("go"));
      expect([session.stop, session.text, sent.length]).toEqual(["finished", "done", 5]);
      expect(session.compressions.length).toBeGreaterThan(0);
    }
  });

  test("because of an enormous result is shortened where results are, and refused elsewhere with the way out", async () => {
    const trimmed = small(1000, call(20_000), "done");
    const done = await agent(trimmed.model, { context: { trimResults: 200 } }).forward(testRath().session("go"));
    expect([done.stop, done.compressions[0]?.shortened.length]).toEqual(["finished", 1]);
    const { model } = small(1000, call(20_000), "never");
    const stopped = await agent(model, { context: { window: 500 } }).forward(testRath().session("go"));
    expect([stopped.stop, reasonOf(stopped)]).toEqual(["error", expect.stringMatching(/use context: \{ trimResults \}/)]);
  });

  test("that could not be summarised says so", async () => {
    const broken = scripted(() => {
      throw new Error("no summary today");
    });
    const { model, sent } = small(1500, call(2000), call(2000), call(2000), call(2000), "never");
    const session = await agent(model, { context: { summariseAt: 1200, model: broken } }).forward(testRath().session("go"));
    expect([session.stop, reasonOf(session)]).toEqual(["error", expect.stringMatching(/could not be summarised: .*no summary today/)]);
    expect(sent.length).toBeLessThan(4);
  });

  test("for the model that summarises is cut for it", async () => {
    const reader = small(600, (request) => `I read ${request.messages.length} messages.`);
    const { model } = small(100_000, call(2000), call(2000), call(2000), call(2000), "done");
    const context = { summariseAt: 1500, keep: 100, model: reader.model };
    const session = await agent(model, { context }).forward(testRath().session("go"));
    expect([session.stop, session.compressions.length > 0]).toEqual(["finished", true]);
    expect(JSON.stringify(reader.sent[0]?.messages)).toMatch(/not shown/);
  });
});

describe("the estimate", () => {
  test("uses what the provider counted, and only where that is still what is read", async () => {
    // The provider says that it is far more than it looks.
    const heavy: Script = { calls: [{ tool: "big", input: { length: 20 } }], usage: { input: 5000, output: 10 } };
    const { model, sent } = small(100_000, heavy, heavy, heavy, "done");
    const session = await agent(model, { context: { window: 4000 } }).forward(testRath().session("go"));
    expect(session.stop).toBe("finished");
    // After each reply it is too much; once compressed, the count of that reply says nothing any more.
    expect(session.compressions.map(({ tokens }) => tokens.before > 5000)).toEqual(session.compressions.map(() => true));
    expect(session.compressions.length).toBe(2);
    expect(sent).toHaveLength(4);
  });

  test("of what a budget must hold is of what is read now, not of what was read before", async () => {
    const heavy: Script = { calls: [{ tool: "big", input: { length: 20 } }], usage: { input: 5000, output: 10 } };
    const { model } = small(100_000, heavy, heavy, heavy, "done");
    const context = { window: 4000 };
    const session = await agent(model, { context, limits: { tokens: 18_000 } }).forward(testRath().session("go"));
    expect([session.stop, session.text]).toEqual(["finished", "done"]);
  });
});

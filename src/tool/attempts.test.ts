import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Given, made, never, rathOn, rejected, sleep } from "../../test/support/one-tool.ts";
import { until } from "../../test/support/other-process.ts";
import { Agent } from "../agent/agent.ts";
import { verify } from "../audit/verify.ts";
import { type Script, scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import type { Repeat, Session, ToolContext } from "../session/session.ts";
import { tool } from "./tool.ts";

const returned = (session: Session) => [...session.events()].flatMap((event) => (event.kind === "tool.returned" ? [event] : []));

describe("a tool that takes too long", () => {
  test.each(["safe", "keyed"] as const)("and may be repeated (%s) is an error that the model reads; it is told to stop", async (repeat) => {
    await using rath = rathOn();
    let signal: AbortSignal | undefined;
    const slow = made(
      (context) => {
        signal = context.signal;
        return never();
      },
      { repeat, timeout: "20ms" },
    );
    let read: unknown;
    const look: Script = (request) => {
      read = request.messages.at(-1);
      return "done";
    };
    const agent = new Agent({ model: scripted({ calls: [{ tool: "t", input: {} }] }, look), tools: [slow] });
    const session = await agent.forward(rath.session("go"));
    expect(read).toMatchObject({ results: [{ outcome: "error", value: expect.stringMatching(/timed out after 20 ms/) }] });
    expect([signal?.aborted, session.stop]).toEqual([true, "finished"]);
    expect(returned(session)[0]?.data).toMatchObject({ problem: "timeout" });
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test("and comes back after that changes nothing", async () => {
    await using rath = rathOn();
    let back = false;
    const late = made(
      async () => {
        await sleep(40);
        back = true;
        return "late";
      },
      { timeout: "10ms" },
    );
    const { session } = await rejected(rath.session().call(late, {}));
    await until("the late result", () => back);
    await sleep(5);
    expect((await rath.open(session!.id)).calls).toMatchObject([{ outcome: { type: "error", message: "timed out after 10 ms" } }]);
  });

  test("is not one that was given more time than a timer can hold", async () => {
    await using rath = rathOn();
    const patient = made(
      async () => {
        await sleep(10);
        return "in time";
      },
      { timeout: "60d" },
    );
    expect((await rath.session().call(patient, {})).output).toBe("in time");
  });

  test("and may not be repeated is unknown: a person says what happened, or lets it run again", async () => {
    await using rath = rathOn();
    let runs = 0;
    const once = made(() => (++runs === 1 ? never() : "second"), { repeat: "once", timeout: "15ms" });
    const decided = async (decision: object): Promise<Session> => {
      runs = 0;
      const result = rath.session().call(once, {});
      const pending = await until("what is pending", async () => (await rath.pending())[0]);
      expect(pending).toMatchObject({ kind: "unknown", op: "t", input: {} });
      await rath.decide(pending.id, { by: "h:1", ...decision } as never);
      return result;
    };
    expect([(await decided({ outcome: { type: "ok", value: "it did" } })).output, runs]).toEqual(["it did", 1]);
    expect([(await decided({ outcome: "run-again" })).output, runs]).toEqual(["second", 2]);
    expect(await rejected(decided({ outcome: { type: "error", message: "it broke" } }))).toMatchObject({ code: "effect.failed" });
    expect(await rejected(decided({ outcome: { type: "cancelled", reason: "left" } }))).toMatchObject({ code: "effect.cancelled" });
  });
});

describe("a tool that takes too long after a person changed its input", () => {
  test("runs again with what was approved, not with what was asked", async () => {
    await using rath = rathOn();
    const seen: string[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: z.object({ to: z.string() }),
      needsApproval: true,
      timeout: "15ms",
      run: ({ to }) => (seen.push(to) === 1 ? never() : `paid ${to}`),
    });
    const result = rath.session().call(pay, { to: "eve" });
    const approval = await until("the approval", async () => (await rath.pending())[0]);
    await rath.decide(approval.id, { by: "h:1", approve: true, input: { to: "ann" } });
    const unknown = await until("what is unknown", async () => (await rath.pending()).find(({ kind }) => kind === "unknown"));
    await rath.decide(unknown.id, { by: "h:1", outcome: "run-again" });
    const session = await result;
    expect([seen, session.output, session.calls[0]?.input]).toEqual([["ann", "ann"], "paid ann", { to: "ann" }]);
  });
});

describe("a probe is asked before a person is", () => {
  test.each<readonly [string, Given["probe"], unknown, number]>([
    ["it happened: its output is the result", async () => ({ happened: true, output: "probed" }), "probed", 1],
    ["it did not: the tool runs again", async () => ({ happened: false }), "second", 2],
  ])("%s", async (_, probe, output, times) => {
    await using rath = rathOn();
    let runs = 0;
    const keys: string[] = [];
    const run = ({ key }: ToolContext): unknown => {
      keys.push(key);
      return ++runs === 1 ? never() : "second";
    };
    const once = made(run, {
      repeat: "once",
      timeout: "15ms",
      probe: async (key, context) => {
        keys.push(key, context.key);
        return probe?.(key, context);
      },
    });
    const session = await rath.session().call(once, {});
    expect([session.output, runs, new Set(keys).size]).toEqual([output, times, 1]);
    expect(await rath.pending()).toEqual([]);
  });

  test.each<readonly [string, () => unknown]>([
    ["does not know", async () => undefined],
    ["says so at once", () => undefined],
    ["rejects", () => Promise.reject(new Error("no connection"))],
    [
      "throws",
      () => {
        throw new Error("no idea");
      },
    ],
  ])("one that %s leaves it to a person", async (_, probe) => {
    await using rath = rathOn();
    const once = made(never, { repeat: "once", timeout: "15ms", probe: probe as never });
    const result = rath.session().call(once, {});
    const pending = await until("what is pending", async () => (await rath.pending())[0]);
    await rath.decide(pending.id, { by: "h:1", outcome: { type: "ok", value: 1 } });
    expect((await result).output).toBe(1);
  });

  test("it may look by way of the session it is given", async () => {
    await using rath = rathOn();
    const once = made(never, {
      repeat: "once",
      timeout: "15ms",
      probe: async (_, { session }) => ({ happened: true, output: (await session.do("look", () => "seen", { repeat: "safe" })).output }),
    });
    expect((await rath.session().call(once, {})).output).toBe("seen");
  });
});

describe("a tool that is tried again", () => {
  const flaky = (failures: number, more: Partial<Given> = {}) => {
    const keys: string[] = [];
    const run = ({ key }: ToolContext): unknown => {
      keys.push(key);
      if (keys.length <= failures) throw new Error(`failure ${keys.length}`);
      return keys.length;
    };
    return { keys, tool: made(run, { retry: { attempts: 3 }, ...more }) };
  };

  test.each(["safe", "keyed"] as const)("%s: with the same key, and every failure is on record", async (repeat) => {
    await using rath = rathOn();
    const { keys, tool: used } = flaky(2, { repeat });
    const session = await rath.session().call(used, {});
    expect([session.output, keys.length, new Set(keys).size]).toEqual([3, 3, 1]);
    expect(returned(session)[0]).toMatchObject({
      data: { failures: [{ message: "failure 1" }, { message: "failure 2" }] },
      facts: { attempts: 3, outcome: "ok" },
    });
  });

  test("and fails every time is an error with all of them", async () => {
    await using rath = rathOn();
    const { session, message } = await rejected(rath.session().call(flaky(9).tool, {}));
    expect(message).toMatch(/failure 3/);
    expect(returned(session as Session)[0]).toMatchObject({
      data: { message: "failure 3", failures: [{ message: "failure 1" }, { message: "failure 2" }] },
      facts: { attempts: 3, outcome: "error" },
    });
  });

  test("not when it may not be repeated", async () => {
    await using rath = rathOn();
    const { keys, tool: used } = flaky(1, { repeat: "once" });
    expect(await rejected(rath.session().call(used, {}))).toMatchObject({ code: "effect.failed" });
    expect(keys).toHaveLength(1);
  });

  test("also when it took too long", async () => {
    await using rath = rathOn();
    const keys: string[] = [];
    const used = made(({ key }) => (keys.push(key) < 2 ? never() : "in time"), {
      repeat: "keyed",
      timeout: "15ms",
      retry: { attempts: 2 },
    });
    const session = await rath.session().call(used, {});
    expect([session.output, keys.length, new Set(keys).size]).toEqual(["in time", 2, 1]);
    expect(returned(session)[0]?.data).toMatchObject({ failures: [{ message: "timed out after 15 ms" }] });
  });

  test("also when a hook looks at its results", async () => {
    await using rath = rathOn();
    const { keys, tool: used } = flaky(2);
    const seen: unknown[] = [];
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "t", input: {} }] }, "done"),
      tools: [used],
      hooks: { afterTool: ({ outcome }) => void seen.push(outcome) },
    });
    const session = await agent.forward(rath.session("go"));
    expect([session.calls[0]?.outcome, keys.length, seen]).toEqual([{ type: "ok", value: 3 }, 3, [{ type: "ok", value: 3 }]]);
  });

  test.each<readonly [string, Repeat, string | undefined]>([
    ["after a failure", "safe", undefined],
    ["after a person said so", "once", "15ms"],
  ])("has a session of its own at each attempt, %s", async (_, repeat, timeout) => {
    await using rath = rathOn();
    const ids: string[] = [];
    const used = made(
      async ({ session }) => {
        const inner = await session.do("step", () => ids.length, { repeat: "safe" });
        ids.push(inner.id);
        if (ids.length === 1) return timeout === undefined ? Promise.reject(new Error("once more")) : never();
        return inner.output;
      },
      {
        repeat,
        timeout: timeout as never,
        retry: { attempts: 2 },
        ...(timeout === undefined ? {} : { probe: async () => ({ happened: false }) }),
      },
    );
    const session = await rath.session().call(used, {});
    expect([session.output, new Set(ids).size, session.calls[0]?.session]).toEqual([1, 2, ids[1]]);
    expect((await rath.open(session.id)).output).toBe(1);
    expect((await rath.open(ids[0] as string)).output).toBe(0);
    expect((await verify(session)).ok).toBe(true);
  });
});

describe("what a failed attempt spent", () => {
  test("counts, also when it is replayed", async () => {
    await using rath = rathOn();
    const helper = new Agent({ name: "helper", model: scripted({ text: "hi", usage: { input: 100, output: 10 } }) });
    let attempts = 0;
    const used = made(
      async ({ session }) => {
        const { text } = await helper.forward(session.say("Help."));
        if (++attempts === 1) throw new Error("once more");
        return text;
      },
      { repeat: "nested", retry: { attempts: 2 } },
    );
    const agent = new Agent({
      model: scripted(
        { calls: [{ tool: "t", input: {} }], usage: { input: 0, output: 0 } },
        { text: "done", usage: { input: 0, output: 0 } },
      ),
      tools: [used],
    });
    const session = await agent.forward(rath.session("go"));
    expect([attempts, session.usage.input, session.usage.output, session.usage.own.input]).toEqual([2, 200, 20, 0]);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
    expect((await (await rath.open(session.id)).usage).input).toBe(200);
  });
});

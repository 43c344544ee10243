import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/other-process.ts";
import { Agent } from "../agent/agent.ts";
import { type Script, scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import type { RathError } from "../session/errors.ts";
import type { Session, Tool } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "./tool.ts";

const add = tool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number().default(10) }),
  repeat: "safe",
  run: ({ a, b }) => a + b,
});
const failing = tool({
  name: "failing",
  description: "Fails.",
  input: z.object({}),
  repeat: "safe",
  run: () => Promise.reject(new Error("no luck")),
});
const giving = (run: () => unknown, name = "give") => tool({ name, description: "Gives.", input: z.object({}), repeat: "safe", run });

const rejected = (call: Promise<unknown>): Promise<RathError> =>
  call.then(
    () => expect.fail("it went well"),
    (error: RathError) => error,
  );

/** What the model reads after one round of calls. */
async function round(tools: readonly Tool[], calls: readonly { readonly tool: string; readonly input: unknown }[]) {
  let read: unknown[] = [];
  const look: Script = (request) => {
    const last = request.messages.at(-1);
    read = last?.role === "tool" ? last.results.map(({ outcome, value }) => [outcome, value]) : [];
    return "done";
  };
  const agent = new Agent({ model: scripted({ calls }, look), tools });
  const session = await agent.forward(testRath().session("go"));
  expect(String(await replay(session, agent))).toMatch(/^identical/);
  return { read, session };
}

describe("session.call", () => {
  test("gives what the tool gave; the caller may leave defaults out", async () => {
    const session = await testRath().session().call(add, { a: 1 });
    expect(session.output).toBe(11);
    expect(session.calls).toMatchObject([{ tool: "add", input: { a: 1 }, outcome: { type: "ok", value: 11 }, by: "user" }]);
    const [called] = [...session.events()].filter((event) => event.kind === "tool.called");
    expect(called).toMatchObject({ data: { name: "add", repeat: "safe" }, facts: { started: true } });
    expect(called?.kind === "tool.called" && called.data.index).toBeUndefined();
  });

  test("is no part of what a model reads", async () => {
    const agent = new Agent({ model: scripted((request) => `${request.messages.length}`) });
    const called = await testRath().session("go").call(add, { a: 1 });
    expect((await agent.forward(called)).text).toBe("1");
  });

  test("rejects with the session after the failure, on which one can go on", async () => {
    const error = await rejected(testRath().session("go").call(failing, {}));
    expect([error.code, error.message]).toEqual(["effect.failed", '"failing" failed: no luck']);
    expect((error.cause as Error).message).toBe("no luck");
    const after = error.session as Session;
    expect(after.calls).toMatchObject([{ tool: "failing", outcome: { type: "error", message: "no luck" } }]);
    expect((await after.call(add, { a: 1, b: 1 })).output).toBe(2);
  });

  test("rejects an input that does not fit without running the tool", async () => {
    const error = await rejected(
      testRath()
        .session()
        .call(add, { a: "1" } as never),
    );
    expect(error).toMatchObject({ code: "effect.failed", message: expect.stringMatching(/a: .*expected number/) });
    expect(error.session?.calls).toMatchObject([{ input: { a: "1" }, outcome: { type: "error" } }]);
  });

  test("rejects what is no tool, and an input the log cannot keep", async () => {
    expect(
      await rejected(
        testRath()
          .session()
          .call({ name: "x" } as never, {}),
      ),
    ).toMatchObject({ code: "tool.invalid" });
    expect(
      await rejected(
        testRath()
          .session()
          .call(
            giving(() => 1),
            { at: new Map() } as never,
          ),
      ),
    ).toMatchObject({ code: "value.unsupported" });
  });

  test("claims the head at the call: a second one on the same value is a fork", async () => {
    const rath = testRath({ implicitForks: "allow" });
    const start = rath.session("go");
    const [one, two] = await Promise.all([start.call(add, { a: 1 }), start.call(add, { a: 2 })]);
    expect([one.id, two.id === start.id, two.lineage.implicit]).toEqual([start.id, false, true]);
    expect([one.output, two.output, one.calls.length, two.calls.length]).toEqual([11, 12, 1, 1]);
    const strict = testRath({ implicitForks: "error" }).session("go");
    const first = strict.call(add, { a: 1 });
    await expect(strict.call(add, { a: 2 })).rejects.toMatchObject({ code: "session.implicit-fork" });
    expect((await first).output).toBe(11);
  });

  test("tells whoever still waits that the Rath was closed", async () => {
    const rath = testRath();
    const waiting = rath
      .session()
      .call(add, { a: 1 })
      .then(
        () => "done",
        (error: RathError) => error.code,
      );
    await rath.close();
    const hangs = new Promise((resolve) => setTimeout(() => resolve("hangs"), 300));
    expect(await Promise.race([waiting, hangs])).toMatch(/^done$|^rath\.closed$/);
  });

  test("runs inside a tool on the session that the tool was given", async () => {
    const outer = tool({
      name: "outer",
      description: "Calls another tool.",
      input: z.object({}),
      repeat: "nested",
      run: async (_, { session }) => (await session.call(add, { a: 5 })).output,
    });
    const session = await testRath().session().call(outer, {});
    expect([session.output, session.calls.length]).toEqual([15, 1]);
    expect(session.calls[0]?.session).not.toBe(session.id);
  });
});

describe("the result of a tool", () => {
  test("may be bytes, nothing, null, or long: all are kept as they are", async () => {
    const bytes = new Uint8Array([0, 255, 7]);
    const long = "é".repeat(1_000_000);
    const tools = { bytes, none: undefined, null: null, long, nested: { list: [1, { bytes }] } };
    const made = Object.entries(tools).map(([name, value]) => giving(() => value, name));
    const { session } = await round(
      made,
      made.map(({ name }) => ({ tool: name, input: {} })),
    );
    expect(session.calls.map(({ outcome }) => outcome)).toEqual(Object.values(tools).map((value) => ({ type: "ok", value })));
  });

  test.each<readonly [string, () => unknown, RegExp]>([
    ["a Map", () => new Map([[1, 2]]), /is a Map, which the log cannot keep: store Object.fromEntries/],
    ["a BigInt", () => ({ big: 10n }), /value\.big is a bigint/],
    ["a function", () => () => 1, /is a function/],
    ["a symbol", () => Symbol("x"), /is a symbol/],
    ["a class", () => new (class Car {})(), /is a Car/],
    ["a set inside", () => ({ at: [new Set()] }), /value\.at\[0\] is a Set/],
    ["a cycle", () => cycle(), /contains itself/],
    ["something nested too deep", () => deep(5000), /nested deeper than 1000/],
    [
      "a getter that throws",
      () => ({
        get a() {
          throw new Error("not now");
        },
      }),
      /not now/,
    ],
  ])("that is %s is an error that says so", async (_, run, message) => {
    const { read, session } = await round(
      [giving(run), add],
      [
        { tool: "give", input: {} },
        { tool: "add", input: { a: 1 } },
      ],
    );
    expect(read).toEqual([
      ["error", expect.stringMatching(message)],
      ["ok", 11],
    ]);
    expect(session.stop).toBe("finished");
  });

  test.each<readonly [string, () => unknown, string]>([
    ["text", () => Promise.reject("words"), "words"],
    ["nothing", () => Promise.reject(undefined), "undefined"],
    ["an object", () => Promise.reject({ code: 7 }), '{"code":7}'],
    ["a symbol", () => Promise.reject(Symbol("s")), "Symbol(s)"],
    ["an object without a prototype", () => Promise.reject(Object.create(null)), "{}"],
    ["an error whose message is none", () => Promise.reject(Object.assign(new Error(), { message: 7 })), "7"],
  ])("that throws %s is an error with what there is to say", async (_, run, message) => {
    const { read, session } = await round([giving(run)], [{ tool: "give", input: {} }]);
    expect([read, session.calls[0]?.outcome]).toEqual([[["error", `Error: ${message}`]], { type: "error", message }]);
    expect([...session.events()].flatMap((event) => (event.kind === "tool.returned" ? [event.data.problem] : []))).toEqual(["threw"]);
  });

  test("that is a long error is read shortened, like a long value", async () => {
    const { read } = await round([giving(() => Promise.reject(new Error("x".repeat(200_000))))], [{ tool: "give", input: {} }]);
    expect(String((read[0] as unknown[])[1]).length).toBeLessThan(60_000);
  });

  test("progress is shown to whoever watches, and not stored", async () => {
    const slow = tool({
      name: "slow",
      description: "Tells how far it is.",
      input: z.object({}),
      repeat: "safe",
      run: (_, { progress }) => {
        progress("half");
        progress({ done: 2, of: 2 });
        return "ok";
      },
    });
    const stream = new Agent({ model: scripted({ calls: [{ tool: "slow", input: {} }] }, "done"), tools: [slow] }).stream(
      testRath().session("go"),
    );
    const seen: unknown[] = [];
    for await (const part of stream) {
      if (part.type === "tool-start") seen.push(["start", part.tool, part.input]);
      if (part.type === "tool-progress") seen.push(part.update);
      if (part.type === "tool-end") seen.push(["end", part.outcome]);
    }
    expect(seen).toEqual([["start", "slow", {}], "half", { done: 2, of: 2 }, ["end", { type: "ok", value: "ok" }]]);
    expect(JSON.stringify([...(await stream.result()).events()])).not.toContain("half");
  });
});

describe("what a model may write", () => {
  const any = tool({ name: "any", description: "Takes anything.", input: z.looseObject({}), repeat: "safe", run: (input) => input });

  test("does not reach prototypes", async () => {
    const raw = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"a":1}';
    const { session } = await round([any], [{ tool: "any", input: raw }]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    const [call] = session.calls;
    expect((call!.input as { polluted?: unknown }).polluted).toBeUndefined();
    expect(JSON.stringify(call?.input)).toBe('{"__proto__":{"polluted":true},"a":1,"constructor":{"prototype":{"polluted":true}}}');
  });

  test("a megabyte of arguments is an input", async () => {
    const text = "x".repeat(1_000_000);
    const { session } = await round([any], [{ tool: "any", input: { text } }]);
    expect((session.calls[0]!.input as { text: string }).text).toHaveLength(1_000_000);
  });

  test.each([
    ["deep nesting", `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`, /nested deeper/],
    ["half a character in a key", '{"\\ud800":1}', /lone surrogate/],
    ["a key twice", '{"a":1,"a":2}', /written twice/],
    ["an integer too large", '{"id":12345678901234567890}', /write it as a string/],
  ])("%s is refused in words; what was written is kept", async (_, raw, message) => {
    const { read, session } = await round([any], [{ tool: "any", input: raw }]);
    expect(read).toEqual([["error", expect.stringMatching(message)]]);
    expect([...session.events()].find((event) => event.kind === "tool.called")).toMatchObject({ data: { raw } });
  });

  test("a hundred thousand problems are told in few words", async () => {
    const list = tool({ name: "list", description: "l", input: z.object({ list: z.array(z.number()) }), repeat: "safe", run: () => 1 });
    const { read } = await round([list], [{ tool: "list", input: { list: Array.from({ length: 100_000 }, () => "x") } }]);
    expect(read).toEqual([["error", expect.stringMatching(/list\.19: .*and 99980 more\. Call it again/)]]);
  });

  test("half a character in a value is kept", async () => {
    const { session } = await round([any], [{ tool: "any", input: '{"a":"\\ud800"}' }]);
    expect(session.calls[0]).toMatchObject({ input: { a: "\ud800" }, outcome: { type: "ok", value: { a: "\ud800" } } });
  });

  test.each(["line\nbreak", "", "__proto__", "constructor", "x".repeat(100_000), "\ud800"])(
    "a tool of a strange name (%#) is not there",
    async (name) => {
      const { read } = await round([any], [{ tool: name, input: {} }]);
      expect(read).toEqual([["error", expect.stringContaining("There is no tool")]]);
      expect(String((read[0] as unknown[])[1]).length).toBeLessThan(1000);
    },
  );

  test("a resource that cannot be told is an error; the others go on", async () => {
    const resource = (): never => {
      throw new Error("no path");
    };
    const odd = tool({ name: "odd", description: "o", input: z.object({}), repeat: "safe", resource, run: () => 1 });
    const { read } = await round(
      [odd, add],
      [
        { tool: "odd", input: {} },
        { tool: "add", input: { a: 1 } },
      ],
    );
    expect(read).toEqual([
      ["error", expect.stringMatching(/resource of "odd" threw: no path/)],
      ["ok", 11],
    ]);
  });

  test('a call with the resource "*" runs alone', async () => {
    const log: string[] = [];
    // Who may run beside others takes until all of them have begun, however long that takes.
    const beside = [
      ["free", "file"],
      ["last", "other"],
    ];
    const timed = (name: string, resource?: () => string) =>
      tool({
        name,
        description: "Takes a while.",
        input: z.object({}),
        repeat: "safe",
        resource,
        run: async () => {
          log.push(`+${name}`);
          const others = beside.find((names) => names.includes(name)) ?? [];
          await until("the others", () => others.every((other) => log.includes(`+${other}`)));
          await new Promise((resolve) => setTimeout(resolve, 5));
          log.push(`-${name}`);
        },
      });
    const tools = [timed("free"), timed("file", () => "file:a"), timed("shell", () => "*"), timed("last"), timed("other", () => "file:b")];
    await round(
      tools,
      tools.map(({ name }) => ({ tool: name, input: {} })),
    );
    const parts = [log.slice(0, 2), log.slice(2, 4).sort(), log.slice(4, 8), log.slice(8).sort()];
    expect(parts).toEqual([
      ["+free", "+file"],
      ["-file", "-free"],
      ["+shell", "-shell", "+last", "+other"],
      ["-last", "-other"],
    ]);
  });

  test("two hundred calls in one round are answered in their order", async () => {
    const { read, session } = await round(
      [
        tool({
          name: "n",
          description: "n",
          input: z.object({ n: z.number() }),
          repeat: "safe",
          run: async ({ n }) => {
            await new Promise((resolve) => setTimeout(resolve, (n * 7) % 10));
            return n;
          },
        }),
      ],
      Array.from({ length: 200 }, (_, n) => ({ tool: "n", input: { n } })),
    );
    expect(read).toEqual(Array.from({ length: 200 }, (_, n) => ["ok", n]));
    expect(session.calls.map((call) => (call.input as { n: number }).n)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });
});

function cycle(): object {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  return value;
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

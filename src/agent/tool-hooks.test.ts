import { describe, expect, test } from "vitest";
import { z } from "zod";
import { otherProcess, until } from "../../test/support/other-process.ts";
import { type Script, scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import { RathError } from "../session/errors.ts";
import type { Session, ToolCall } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { Agent } from "./agent.ts";
import type { Hooks } from "./options.ts";

let ran: unknown[] = [];
const say = tool({
  name: "say",
  description: "Says it.",
  input: z.object({ text: z.string() }),
  run: ({ text }) => {
    ran.push(text);
    if (text === "fail") throw new Error("it failed");
    return `said ${text}`;
  },
});

/** One round of calls under hooks; replayed without calling a hook again. */
async function hooked(hooks: Hooks, ...texts: readonly unknown[]) {
  ran = [];
  let read: unknown[] = [];
  const look: Script = (request) => {
    const last = request.messages.at(-1);
    read = last?.role === "tool" ? last.results.map(({ outcome, value }) => [outcome, value]) : [];
    return "done";
  };
  let asked = 0;
  const counted: Hooks = Object.fromEntries(
    Object.entries(hooks).map(([name, hook]) => [
      name,
      (given: never) => {
        asked++;
        return (hook as (given: never) => unknown)(given);
      },
    ]),
  );
  const calls = texts.map((text) => ({ tool: "say", input: typeof text === "string" ? { text } : text }));
  const agent = new Agent({ model: scripted({ calls }, look), tools: [say], hooks: counted });
  const session = await agent.forward(testRath().session("go"));
  const times = asked;
  expect(String(await replay(session, agent))).toMatch(/^identical/);
  expect(asked).toBe(times);
  return { session, read, times };
}
const returned = (session: Session) => [...session.events()].flatMap((event) => (event.kind === "tool.returned" ? [event.data] : []));
const failed = (work: Promise<unknown>): Promise<RathError> =>
  work.then(
    () => expect.fail("it went well"),
    (error: RathError) => error,
  );

test("hooks may come from a class, with fields of their own", async () => {
  class Guard {
    readonly seen: string[] = [];
    beforeTool({ tool: name }: { readonly tool: string }): undefined {
      this.seen.push(name);
    }
  }
  const hooks = new Guard();
  const model = scripted({ calls: [{ tool: "nobody", input: {} }] }, "ok");
  await new Agent({ model, hooks, settings: { temperature: undefined }, retry: {} }).forward(testRath().session("go"));
  expect(hooks.seen).toEqual(["nobody"]);
});

describe("a call that may have happened", () => {
  test("stays unknown under a hook: the probe is asked, the hook is not", async () => {
    const seen: unknown[] = [];
    const charge = tool({
      name: "charge",
      description: "Charges.",
      input: z.object({}),
      repeat: "once",
      probe: async () => ({ happened: true as const, output: "charged once" }),
      run: async (): Promise<string> => {
        throw new RathError("effect.unknown", "the connection was lost");
      },
    });
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "charge", input: {} }] }, "done"),
      tools: [charge],
      hooks: { afterTool: (call) => void seen.push(call.outcome) },
    });
    const session = await agent.forward(testRath().session("go"));
    expect(session.calls.map(({ outcome }) => outcome)).toEqual([{ type: "ok", value: "charged once" }]);
    expect(seen).toEqual([]);
  });

  test("and what comes after its time is not shown to the hook", async () => {
    const seen: unknown[] = [];
    let late: (text: string) => void = () => {};
    const slow = tool({
      name: "slow",
      description: "Takes its time.",
      input: z.object({}),
      repeat: "safe",
      timeout: "20ms",
      retry: { attempts: 1 },
      run: () =>
        new Promise<string>((resolve) => {
          late = resolve;
        }),
    });
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "slow", input: {} }] }, "done"),
      tools: [slow],
      hooks: { afterTool: (call) => void seen.push(call.outcome) },
    });
    const session = await agent.forward(testRath().session("go"));
    expect(session.calls.map(({ outcome }) => outcome.type)).toEqual(["error"]);
    late("too late");
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
  });

  test("and one that a rule of the sandbox refused stays denied", async () => {
    const outside = tool({
      name: "outside",
      description: "Leaves.",
      input: z.object({}),
      run: () => Promise.reject(new RathError("sandbox.denied", "not there")),
    });
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "outside", input: {} }] }, "done"),
      tools: [outside],
      hooks: { afterTool: () => ({ value: "fine" }) },
    });
    const session = await agent.forward(testRath().session("go"));
    expect(session.calls.map(({ outcome }) => outcome.type)).toEqual(["denied"]);
  });
});

describe("beforeTool", () => {
  test("sees every call as it will be made, and leaves it alone when it says nothing", async () => {
    const seen: unknown[] = [];
    const { read } = await hooked({ beforeTool: (call) => void seen.push(call) }, "a", "b");
    expect(seen).toEqual([
      { tool: "say", input: { text: "a" } },
      { tool: "say", input: { text: "b" } },
    ]);
    expect(read).toEqual([
      ["ok", "said a"],
      ["ok", "said b"],
    ]);
  });

  test("changes an input: the tool gets it, the call records it, the model's own words stay", async () => {
    const { session, read } = await hooked(
      { beforeTool: ({ input }) => ((input as { text: string }).text === "a" ? { input: { text: "z" } } : undefined) },
      "a",
      "b",
    );
    expect([ran, read]).toEqual([
      ["z", "b"],
      [
        ["ok", "said z"],
        ["ok", "said b"],
      ],
    ]);
    expect(session.calls.map(({ input }) => input)).toEqual([{ text: "z" }, { text: "b" }]);
    expect(session.messages[1]?.parts).toMatchObject([{ type: "call", input: '{"text":"a"}' }, {}]);
  });

  test("an input that it changed is validated like any other", async () => {
    const { read } = await hooked({ beforeTool: () => ({ input: { text: 7 } }) }, "a");
    expect([ran, read]).toEqual([[], [["error", expect.stringMatching(/text: .*expected string/)]]]);
  });

  test("refuses a call; the model reads why, the others go on", async () => {
    const { session, read } = await hooked(
      { beforeTool: ({ input }) => ((input as { text: string }).text === "a" ? { refuse: "not that" } : undefined) },
      "a",
      "b",
    );
    expect(ran).toEqual(["b"]);
    expect(read).toEqual([
      ["denied", expect.stringContaining("not that")],
      ["ok", "said b"],
    ]);
    expect(returned(session)).toContainEqual(expect.objectContaining({ problem: "hook", reason: "not that" }));
  });

  test("that throws ends the agent before any tool runs", async () => {
    ran = [];
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "say", input: { text: "a" } }] }, "not reached"),
      tools: [say],
      hooks: {
        beforeTool: () => {
          throw new Error("hook broke");
        },
      },
    });
    const error = await failed(agent.forward(testRath().session("go")));
    expect(error).toMatchObject({
      code: "agent.hook-failed",
      message: expect.stringMatching(/beforeTool hook of agent "agent" threw: .*hook broke/),
    });
    expect([ran, error.session?.calls]).toEqual([[], []]);
  });

  // Mutant: what is neither an input nor a refusal lets the call be, and a misspelt refusal refuses nothing.
  test.each<readonly [unknown, RegExp]>([
    [{ refused: "not that" }, /gave an object without input or refuse: give \{ input \}, \{ refuse \} with the reason, or nothing\.$/],
    [{ refuse: undefined }, /gave a refusal that is undefined: give/],
    [{ refuse: true }, /gave a refusal that is a boolean: give/],
    ["not that", /gave a string: give/],
    [false, /gave a boolean: give/],
  ])("that gives %j ends the agent before any tool runs", async (answer, told) => {
    ran = [];
    const model = scripted({ calls: [{ tool: "say", input: { text: "a" } }] }, "not reached");
    const agent = new Agent({ model, tools: [say], hooks: { beforeTool: () => answer as never } });
    const error = await failed(agent.forward(testRath().session("go")));
    expect([error.code, error.message, ran]).toEqual(["agent.hook-failed", expect.stringMatching(told), []]);
  });

  test("may take its time", async () => {
    ran = [];
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "say", input: { text: "a" } }] }, "done"),
      tools: [say],
      hooks: { beforeTool: async () => ({ refuse: "asked somebody" }) },
    });
    const session = await agent.forward(testRath().session("go"));
    expect([session.calls[0]?.outcome, ran]).toEqual([{ type: "denied", reason: "asked somebody" }, []]);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test("refuses a handoff", async () => {
    const expert = new Agent({ name: "expert", description: "Knows.", model: scripted("the expert speaks") });
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "transfer_to_expert", input: {} }] }, "I stay"),
      handoffs: [expert],
      hooks: { beforeTool: () => ({ refuse: "stay" }) },
    });
    expect((await agent.forward(testRath().session("go"))).text).toBe("I stay");
  });

  test("may use its own object", async () => {
    class Guard implements Hooks {
      readonly word = "no";
      beforeTool() {
        return { refuse: this.word };
      }
    }
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "say", input: { text: "a" } }] }, "done"),
      tools: [say],
      hooks: new Guard(),
    });
    expect((await agent.forward(testRath().session("go"))).calls).toMatchObject([{ outcome: { type: "denied", reason: "no" } }]);
  });
});

describe("afterTool", () => {
  test("changes what the model reads; what the tool gave is kept beside it", async () => {
    const { session, read } = await hooked(
      { afterTool: ({ outcome }) => (outcome.type === "ok" ? { value: `[${String(outcome.value)}]` } : undefined) },
      "a",
    );
    expect(read).toEqual([["ok", "[said a]"]]);
    expect(returned(session)).toMatchObject([{ value: "[said a]", original: "said a" }]);
  });

  test("may put a value in the place of an error", async () => {
    const { session, read } = await hooked(
      { afterTool: ({ outcome }) => (outcome.type === "error" ? { value: "never mind" } : undefined) },
      "fail",
      "b",
    );
    expect(read).toEqual([
      ["ok", "never mind"],
      ["ok", "said b"],
    ]);
    expect(returned(session)).toContainEqual(
      expect.objectContaining({ value: "never mind", original: { type: "error", message: "it failed" } }),
    );
  });

  test("sees the call with its validated input, who called, and its id", async () => {
    const seen: Omit<ToolCall, "event">[] = [];
    const { session } = await hooked({ afterTool: (call) => void seen.push(call) }, "a", "fail");
    expect(seen).toMatchObject([
      { tool: "say", input: { text: "a" }, outcome: { type: "ok", value: "said a" }, by: "agent" },
      { tool: "say", input: { text: "fail" }, outcome: { type: "error", message: "it failed" } },
    ]);
    expect(seen.map(({ id }) => id)).toEqual(session.calls.map(({ id }) => id));
    expect(returned(session)).toMatchObject([{ value: "said a" }, { message: "it failed", problem: "threw" }]);
  });

  test.each(["a", "fail"])("that throws ends the agent; the result of the tool stands (%s)", async (text) => {
    ran = [];
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "say", input: { text } }] }, "not reached"),
      tools: [say],
      hooks: {
        afterTool: () => {
          throw new Error("hook broke");
        },
      },
    });
    const error = await failed(agent.forward(testRath().session("go")));
    expect(error).toMatchObject({ code: "agent.hook-failed", message: expect.stringMatching(/afterTool .*hook broke/) });
    expect([ran, error.session?.calls.map(({ outcome }) => outcome)]).toEqual([
      [text],
      [text === "a" ? { type: "ok", value: "said a" } : { type: "error", message: "it failed" }],
    ]);
  });

  // Mutant: what is no object is looked into, and the agent ends with words of the engine.
  test("that gives neither ends the agent in words; the result of the tool stands", async () => {
    for (const answer of [null, "changed", { valeu: 1 }]) {
      const model = scripted({ calls: [{ tool: "say", input: { text: "a" } }] }, "not reached");
      const agent = new Agent({ model, tools: [say], hooks: { afterTool: () => answer as never } });
      const error = await failed(agent.forward(testRath().session("go")));
      expect(error.message).toMatch(/afterTool .* it gave neither \{ value \} nor undefined/);
      expect(error.session?.calls).toMatchObject([{ outcome: { type: "ok", value: "said a" } }]);
    }
  });

  test("may take its time", async () => {
    const agent = new Agent({
      model: scripted({ calls: [{ tool: "say", input: { text: "a" } }] }, "done"),
      tools: [say],
      hooks: { afterTool: async () => ({ value: "later" }) },
    });
    const session = await agent.forward(testRath().session("go"));
    expect(session.calls[0]?.outcome).toEqual({ type: "ok", value: "later" });
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });
});

describe("hooks of a run that was left", () => {
  test("are not called again for what they decided: the record has it", async () => {
    const store = memoryStore();
    let asked = 0;
    let attempts = 0;
    const slow = tool({
      name: "slow",
      description: "Slow at first.",
      input: z.object({ text: z.string() }),
      repeat: "safe",
      run: ({ text }) => (++attempts === 1 ? new Promise<never>(() => {}) : text),
    });
    const agent = new Agent({
      name: "hooked",
      model: scripted({ calls: [{ tool: "say", input: { text: "x" } }] }, { calls: [{ tool: "slow", input: { text: "x" } }] }, "done"),
      tools: [say, slow],
      hooks: {
        beforeTool: () => ({ input: { text: `asked ${++asked}` } }),
        afterTool: ({ outcome }) => ({ value: outcome.type === "ok" ? `<${String(outcome.value)}>` : "?" }),
      },
    });
    const first = otherProcess(store);
    const run = await first.run(agent, first.session("go"));
    await until("the slow tool", () => attempts === 1);
    await first.close();
    await using second = otherProcess(store, { workflows: { hooked: agent } });
    const done = await (await second.resume(run.id)).result();
    expect([asked, attempts]).toEqual([2, 2]);
    expect(done.calls.map(({ outcome }) => outcome)).toEqual([
      { type: "ok", value: "<said asked 1>" },
      { type: "ok", value: "<asked 2>" },
    ]);
  });

  test("and a hook during which the work is stopped lets nothing run after it", async () => {
    ran = [];
    for (const name of ["beforeTool", "beforeModel"] as const) {
      const stop = new AbortController();
      const agent = new Agent({
        model: scripted({ calls: [{ tool: "say", input: { text: "a" } }] }, "not reached"),
        tools: [say],
        hooks: { [name]: () => void stop.abort(new Error("enough")) },
      });
      const session = await agent.stream(testRath().session("go"), { signal: stop.signal }).result();
      expect([session.stop, ran]).toEqual(["cancelled", []]);
    }
  });
});

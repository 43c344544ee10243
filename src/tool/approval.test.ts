import { describe, expect, test } from "vitest";
import { z } from "zod";
import { otherProcess, until } from "../../test/support/other-process.ts";
import { Agent } from "../agent/agent.ts";
import type { AgentOptions } from "../agent/options.ts";
import { type Script, scripted } from "../model/scripted.ts";
import type { RathOptions } from "../rath-options.ts";
import { replay } from "../runtime/replay.ts";
import type { RathError } from "../session/errors.ts";
import type { Decision, Pending, Session, Tool } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import { type ToolOptions, tool } from "./tool.ts";

const input = z.object({ to: z.string(), amount: z.number().default(1) });
let paid: string[] = [];
const pay = (more: Partial<ToolOptions<typeof input, string>> = {}): Tool<z.input<typeof input>, string> =>
  tool({
    name: "pay",
    description: "Pays.",
    input,
    needsApproval: true,
    run: ({ to, amount }) => {
      paid.push(`${to} ${amount}`);
      return `paid ${to} ${amount}`;
    },
    ...more,
  });

type Approval = Extract<Pending, { kind: "approval" }>;

/** Lets a model call `pay` for everybody named, answers what is pending, and gives what came of it. */
async function decided(
  given: {
    readonly tool?: Tool;
    readonly agent?: Partial<AgentOptions>;
    readonly rath?: RathOptions;
    readonly to?: readonly string[];
    readonly seen?: (pending: readonly Approval[]) => void;
  },
  decide: (pending: Approval) => Decision,
): Promise<{ readonly session: Session; readonly read: readonly unknown[]; readonly pending: readonly Approval[] }> {
  paid = [];
  await using rath = testRath(given.rath);
  const to = given.to ?? ["ann"];
  let read: readonly unknown[] = [];
  const look: Script = (request) => {
    const last = request.messages.at(-1);
    read = last?.role === "tool" ? last.results.map(({ outcome, value }) => [outcome, value]) : [];
    return "done";
  };
  const calls = to.map((name) => ({ tool: "pay", input: { to: name } }));
  const agent = new Agent({ model: scripted({ calls }, look), tools: [given.tool ?? pay()], ...given.agent });
  const result = agent.forward(rath.session("go"));
  const pending = await until("the approvals", async () => {
    const found = (await rath.pending()) as readonly Approval[];
    return found.length === to.length && found;
  });
  given.seen?.(pending);
  for (const one of pending.toReversed()) await rath.decide(one.id, decide(one));
  const session = await result;
  const ran = [...paid];
  expect(String(await replay(session, agent))).toMatch(/^identical/);
  expect(paid).toEqual(ran);
  return { session, read, pending };
}

const returned = (session: Session) => [...session.events()].flatMap((event) => (event.kind === "tool.returned" ? [event.data] : []));
const called = (session: Session) => [...session.events()].flatMap((event) => (event.kind === "tool.called" ? [event.data] : []));

describe("an approval", () => {
  test("is pending with its tool and input; nothing runs before somebody says yes", async () => {
    const { session, read, pending } = await decided({ seen: () => expect(paid).toEqual([]) }, () => ({ by: "human:bob", approve: true }));
    expect(pending).toMatchObject([{ kind: "approval", tool: "pay", input: { to: "ann" }, by: "agent", session: session.id }]);
    expect([paid, read]).toEqual([["ann 1"], [["ok", "paid ann 1"]]]);
    expect(called(session)).toMatchObject([{ name: "pay", approval: "tool" }]);
    expect(returned(session)).toMatchObject([{ value: "paid ann 1", answer: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    expect([...session.events()].map((event) => event.kind)).toContain("tool.started");
  });

  test("that is denied is read by the model with its reason; the tool does not run", async () => {
    const { read, session } = await decided({}, () => ({ by: "human:bob", approve: false, reason: "too expensive" }));
    expect([paid, read]).toEqual([[], [["denied", expect.stringContaining("too expensive")]]]);
    expect([session.stop, session.calls[0]?.outcome]).toEqual(["finished", { type: "denied", reason: "too expensive" }]);
  });

  test("may change the input: it is validated, recorded, and what calls show", async () => {
    const { read, session } = await decided({}, () => ({ by: "human:bob", approve: true, input: { to: "eve" } }));
    expect([paid, read]).toEqual([["eve 1"], [["ok", "paid eve 1"]]]);
    expect(called(session)).toMatchObject([{ input: { to: "ann" } }]);
    expect(returned(session)).toMatchObject([{ input: { to: "eve" } }]);
    expect(session.calls).toMatchObject([{ input: { to: "eve" } }]);
  });

  test("with a changed input that does not fit is refused; the call still waits, and the tool does not run", async () => {
    await using rath = testRath();
    paid = [];
    const result = rath.session().call(pay(), { to: "ann" });
    const pending = await until("the approval", async () => (await rath.pending())[0]);
    const unfit = rath.decide(pending.id, { by: "human:bob", approve: true, input: { to: 7 } });
    await expect(unfit).rejects.toMatchObject({ code: "pending.invalid-answer", message: expect.stringMatching(/does not fit: to: /) });
    expect([paid, await rath.pending()]).toEqual([[], [pending]]);
    await rath.decide(pending.id, { by: "human:bob", approve: true });
    expect((await result).output).toBe("paid ann 1");
  });

  test("answered in reverse order reaches its own call", async () => {
    const { read, session } = await decided({ to: ["ann", "bob", "eve"] }, ({ input: asked }) =>
      (asked as { to: string }).to === "bob" ? { by: "h:1", approve: false, reason: "not bob" } : { by: "h:1", approve: true },
    );
    expect(paid.toSorted()).toEqual(["ann 1", "eve 1"]);
    expect(read).toEqual([
      ["ok", "paid ann 1"],
      ["denied", expect.stringContaining("not bob")],
      ["ok", "paid eve 1"],
    ]);
    expect(session.calls.map((call) => [(call.input as { to: string }).to, call.outcome.type])).toEqual([
      ["ann", "ok"],
      ["bob", "denied"],
      ["eve", "ok"],
    ]);
  });

  test("counts once: a second answer is refused, and so is one that says nothing", async () => {
    const rath = testRath();
    const result = rath
      .session()
      .call(pay(), { to: "ann" })
      .catch((thrown: RathError) => thrown);
    const [pending] = await until("the approval", async () => ((await rath.pending()).length > 0 ? rath.pending() : undefined));
    await expect(rath.decide(pending!.id, { by: "h:1", outcome: "run-again" })).rejects.toMatchObject({ code: "pending.invalid-answer" });
    await rath.decide(pending!.id, { by: "h:1", approve: false });
    await expect(rath.decide(pending!.id, { by: "h:2", approve: true })).rejects.toMatchObject({ code: "pending.answered" });
    expect(await result).toMatchObject({ code: "effect.denied", session: { calls: [{ outcome: { type: "denied", reason: "denied" } }] } });
  });
});

describe("who asks for an approval", () => {
  const yes = (): Decision => ({ by: "h:1", approve: true });
  const cheap = tool({ ...options(), needsApproval: undefined });
  function options() {
    return { name: "pay", description: "Pays.", input, run: ({ to }: { to: string }) => void paid.push(to) };
  }

  test("the tool, by a function of the validated input", async () => {
    const asked: unknown[] = [];
    const { session } = await decided(
      {
        tool: pay({
          needsApproval: (given) => {
            asked.push(given);
            return given.amount === 1;
          },
        }),
      },
      yes,
    );
    expect(asked[0]).toEqual({ to: "ann", amount: 1 });
    expect(called(session)).toMatchObject([{ approval: "tool" }]);
  });

  test("the agent, and the policy of the Rath", async () => {
    const needsApproval = ({ tool: name, input: given }: { tool: string; input: unknown }) =>
      name === "pay" && (given as { amount: number }).amount === 1;
    expect(called((await decided({ tool: cheap, agent: { needsApproval } }, yes)).session)).toMatchObject([{ approval: "agent" }]);
    expect(called((await decided({ tool: cheap, rath: { policy: { needsApproval } } }, yes)).session)).toMatchObject([
      { approval: "policy" },
    ]);
  });

  test.each<readonly [string, Partial<AgentOptions>, RathOptions, Tool]>([
    ["a tool", {}, {}, pay({ needsApproval: () => explode() })],
    ["an agent", { needsApproval: () => explode() }, {}, cheap],
    ["a policy", {}, { policy: { needsApproval: () => explode() } }, cheap],
  ])("of %s that throws is not a yes", async (_, agent, rath, used) => {
    paid = [];
    const session = await new Agent({
      model: scripted({ calls: [{ tool: "pay", input: { to: "ann" } }] }, "done"),
      tools: [used],
      ...agent,
    }).forward(testRath(rath).session("go"));
    expect(paid).toEqual([]);
    expect(session.calls).toMatchObject([{ outcome: { type: "denied", reason: expect.stringMatching(/needsApproval .*threw: no idea/) } }]);
  });

  // Mutant: what is no yes is taken for a no, and the call runs without anybody being asked.
  test.each<readonly [string, (needsApproval: never) => readonly [Partial<AgentOptions>, RathOptions, Tool]]>([
    ["a tool", (needsApproval) => [{}, {}, pay({ needsApproval })]],
    [
      "a tool with a JSON Schema",
      (needsApproval) => [{}, {}, tool({ ...options(), input: { type: "object" }, run: () => paid.push("run"), needsApproval })],
    ],
    ["an agent", (needsApproval) => [{ needsApproval }, {}, cheap]],
    ["a policy", (needsApproval) => [{}, { policy: { needsApproval } }, cheap]],
  ])("of %s that says neither yes nor no allows nothing, and says what it gave", async (_, given) => {
    for (const [says, told] of [
      [() => undefined, "gave undefined: give a boolean."],
      [() => null, "gave null: give a boolean."],
      [() => 0, "gave 0: give a boolean."],
      [() => "no", 'gave "no": give a boolean.'],
      [async () => false, "gave a Promise: it cannot be async, give a boolean."],
      [() => Promise.reject(new Error("nobody waits for it")), "gave a Promise: it cannot be async, give a boolean."],
    ] as const) {
      paid = [];
      const [agent, rath, used] = given(says as never);
      const model = scripted({ calls: [{ tool: "pay", input: { to: "ann" } }] }, "done");
      const flow = new Agent({ model, tools: [used], ...agent });
      const session = await flow.forward(testRath(rath).session("go"));
      expect([paid, session.calls.map(({ outcome }) => outcome)]).toEqual([[], [{ type: "denied", reason: `needsApproval ${told}` }]]);
      expect(String(await replay(session, flow))).toMatch(/^identical/);
    }
  });

  // Mutant: a word in place of a yes is kept, and said to be no function at each call.
  test("is refused when it is made with anything but that", () => {
    for (const needsApproval of ["yes", null, 1, {}] as never[]) {
      expect(() => pay({ needsApproval })).toThrow(/^needsApproval of tool "pay" is .*: give true, false or a function\.$/);
      expect(() => new Agent({ model: scripted(), needsApproval })).toThrow(/has needsApproval .*: give a function\.$/);
      expect(() => testRath({ policy: { needsApproval } })).toThrow(/^policy\.needsApproval is .*: give a function\.$/);
    }
  });

  test("a call from code asks too, and whoever waits goes on with it", async () => {
    const rath = testRath();
    const result = rath.session().call(pay(), { to: "ann" });
    const pending = await until("the approval", async () => (await rath.pending())[0]);
    await rath.decide(pending.id, { by: "h:1", approve: true, input: { to: "zoe", amount: 3 } });
    expect((await result).output).toBe("paid zoe 3");
  });
});

describe("with a JSON Schema, which is checked at once or later", () => {
  const byJsonSchema = (name = "pay") =>
    tool({
      name,
      description: "Pays.",
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      needsApproval: true,
      run: (given) => `paid ${(given as { to: string }).to}`,
    });

  test("a replay asks for the same thing as the first call did", async () => {
    const { read } = await decided({ tool: byJsonSchema(), to: ["ann", "bob"] }, () => ({ by: "h:1", approve: true }));
    expect(read).toEqual([
      ["ok", "paid ann"],
      ["ok", "paid bob"],
    ]);
  });
});

describe("whoever watches", () => {
  test("is told what waits for a person", async () => {
    const rath = testRath();
    const stream = new Agent({ model: scripted({ calls: [{ tool: "pay", input: { to: "ann" } }] }, "done"), tools: [pay()] }).stream(
      rath.session("go"),
    );
    const seen: string[] = [];
    for await (const part of stream) {
      if (part.type === "pending") await rath.decide(part.pending.id, { by: "h:1", approve: true });
      if (part.type === "pending" || part.type === "tool-start" || part.type === "tool-end") seen.push(part.type);
    }
    expect(seen).toEqual(["pending", "tool-start", "tool-end"]);
  });
});

describe("two hundred approvals in parallel branches", () => {
  test("answered in any order by several clients, each reach their own", async () => {
    const store = memoryStore();
    await using rath = otherProcess(store);
    const start = rath.session("go");
    const used = pay();
    const names = Array.from({ length: 200 }, (_, n) => `p${n}`);
    const results = Promise.allSettled(names.map((name) => start.fork(name).call(used, { to: name })));
    const pending = await until("all of them", async () => {
      const found = (await rath.pending()) as readonly Approval[];
      return found.length === 200 && found;
    });
    const clients = [rath, otherProcess(store), otherProcess(store)];
    const shuffled = pending.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await Promise.all(
      shuffled.map((one, index) => {
        const to = (one.input as { to: string }).to;
        const approve = Number(to.slice(1)) % 3 !== 0;
        return clients[index % 3]?.decide(
          one.id,
          approve ? { by: "h:1", approve, input: { to: `${to}!` } } : { by: "h:1", approve, reason: `no ${to}` },
        );
      }),
    );
    const came = (await results).map((one) => (one.status === "fulfilled" ? one.value.output : (one.reason as RathError).message));
    expect(came).toEqual(names.map((name, n) => (n % 3 === 0 ? `"pay" was denied: no ${name}` : `paid ${name}! 1`)));
  });
});

describe("with a schema that validates later", () => {
  const later = z.object({ to: z.string().refine(async (to) => to !== "bad", "is bad"), amount: z.number().default(1) });
  const async = (more: Partial<ToolOptions<typeof later, string>> = {}) =>
    tool({
      name: "pay",
      description: "Pays.",
      input: later,
      run: ({ to, amount }) => {
        paid.push(`${to} ${amount}`);
        return `paid ${to} ${amount}`;
      },
      ...more,
    });

  test("approvals are asked for what came of it, and may change it", async () => {
    const needsApproval = (given: { amount: number }) => given.amount === 1;
    const { session } = await decided({ tool: async({ needsApproval }) }, () => ({ by: "h:1", approve: true, input: { to: "zoe" } }));
    expect([paid, session.calls[0]?.input]).toEqual([["zoe 1"], { to: "zoe" }]);
    await using rath = testRath();
    const result = rath
      .session()
      .call(async({ needsApproval }), { to: "ann" })
      .catch((thrown: RathError) => thrown);
    const pending = await until("the approval", async () => (await rath.pending())[0]);
    const unfit = rath.decide(pending.id, { by: "h:1", approve: true, input: { to: "bad" } });
    await expect(unfit).rejects.toMatchObject({ code: "pending.invalid-answer", message: expect.stringMatching(/to: is bad/) });
    await rath.decide(pending.id, { by: "h:1", approve: false });
    expect(await result).toMatchObject({ code: "effect.denied" });
  });

  test("calls with resources do not run beside each other, in call order", async () => {
    const log: string[] = [];
    const slow = async({
      repeat: "safe",
      resource: ({ to }) => to,
      run: async ({ to }) => {
        log.push(`+${to}`);
        await new Promise((resolve) => setTimeout(resolve, to === "a" ? 15 : 1));
        log.push(`-${to}`);
        return to;
      },
    });
    const agent = new Agent({
      model: scripted({ calls: ["a", "bad", "a"].map((to) => ({ tool: "pay", input: { to } })) }, "done"),
      tools: [slow],
    });
    const session = await agent.forward(testRath().session("go"));
    expect(log).toEqual(["+a", "-a", "+a", "-a"]);
    expect(session.calls.map(({ outcome }) => outcome.type)).toEqual(["ok", "error", "ok"]);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });
});

function explode(): never {
  throw new Error("no idea");
}

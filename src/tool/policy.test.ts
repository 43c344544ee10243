import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { replay } from "../runtime/replay.ts";
import type { Session, Tool } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { type Policy, Rules } from "./policy.ts";
import { tool } from "./tool.ts";

let ran: string[] = [];
const named = (name: string): Tool =>
  tool({
    name,
    description: "Says that it ran.",
    input: z.object({}),
    run: () => {
      ran.push(name);
      return name;
    },
  });
const tools = ["read_file", "write_file", "shell"].map(named);

async function round(policy: Policy | readonly Policy[], calls: readonly string[], principal?: string): Promise<Session> {
  ran = [];
  const agent = new Agent({ model: scripted({ calls: calls.map((name) => ({ tool: name, input: {} })) }, "done"), tools });
  const session = await agent.forward(testRath({ policy }).session("go", { principal }));
  const before = [...ran];
  expect(String(await replay(session, agent))).toMatch(/^identical/);
  expect(ran).toEqual(before);
  return session;
}
const outcomes = (session: Session) => session.calls.map(({ outcome }) => outcome.type);

describe("a policy", () => {
  test.each<readonly [string, Policy | readonly Policy[], readonly string[]]>([
    ["allows only what it names", { allow: ["read_file"] }, ["ok", "denied", "denied"]],
    ["denies what it names", { deny: ["shell"] }, ["ok", "ok", "denied"]],
    ["names by pattern", { allow: ["*_file"] }, ["ok", "ok", "denied"]],
    ["denies before it allows", { allow: ["*"], deny: ["write_*"] }, ["ok", "denied", "ok"]],
    ["allows nothing with an empty list", { allow: [] }, ["denied", "denied", "denied"]],
    ["takes a pattern's other characters as they are", { deny: ["read.file", "(shell)", "wr[i]te_file"] }, ["ok", "ok", "ok"]],
    ["is the strictest of all that apply", [{ allow: ["*_file"] }, { deny: ["write_file"] }], ["ok", "denied", "denied"]],
    ["limits calls of a run", { calls: 2 }, ["ok", "ok", "denied"]],
    ["counts only what its rule applies to", [{ calls: 1, agents: ["other"] }, { calls: 3 }], ["ok", "ok", "ok"]],
    ["applies to agents by path", { deny: ["*"], agents: ["agent"] }, ["denied", "denied", "denied"]],
    ["does not apply to others", { deny: ["*"], agents: ["agent/*"] }, ["ok", "ok", "ok"]],
  ])("%s", async (_, policy, expected) => {
    expect(outcomes(await round(policy, ["read_file", "write_file", "shell"]))).toEqual(expected);
    expect(ran).toHaveLength(expected.filter((outcome) => outcome === "ok").length);
  });

  // Mutant: what is refused at once has begun, and would be unknown after a crash.
  test("refuses a call before it is started", async () => {
    const session = await round({ deny: ["shell"] }, ["read_file", "shell"]);
    const calls = [...session.events()].filter(({ kind }) => kind === "tool.called");
    expect(calls.map(({ facts }) => facts.started)).toEqual([true, undefined]);
  });

  test("applies to an agent wherever it works", () => {
    const rules = new Rules({ deny: ["shell"], agents: ["coder", "fix/*"] });
    const denied = (by: string): boolean => rules.refuses({ tool: "shell", input: {}, by, principal: undefined }, () => 1) !== undefined;
    expect(["coder", "team/coder", "team/fix/any", "fix/a/b"].map(denied)).toEqual([true, true, true, true]);
    expect(["decoder", "coder/inner", "fix", "team/prefix/x"].map(denied)).toEqual([false, false, false, false]);
  });

  const eve: Policy = { deny: ["shell"], principals: ["human:eve", "guest:*"] };
  test("applies to people by name", async () => {
    expect(outcomes(await round(eve, ["shell"], "human:eve"))).toEqual(["denied"]);
    expect(outcomes(await round(eve, ["shell"], "guest:1"))).toEqual(["denied"]);
    expect(outcomes(await round(eve, ["shell"], "human:ann"))).toEqual(["ok"]);
    expect(outcomes(await round(eve, ["shell"]))).toEqual(["ok"]);
  });

  test("applies to people on forks too", async () => {
    const forked = testRath({ policy: eve }).session("go", { principal: "human:eve" }).fork("other way").say("on");
    await expect(forked.call(tools[2] as Tool, {})).rejects.toMatchObject({ code: "effect.denied" });
  });

  test("applies to people in nested work too", async () => {
    const nested = tool({
      name: "nested",
      description: "Calls the shell.",
      input: z.object({}),
      repeat: "nested",
      run: async (_, { session }) => (await session.call(tools[2] as Tool, {})).output,
    });
    await expect(testRath({ policy: eve }).session("go", { principal: "human:eve" }).call(nested, {})).rejects.toMatchObject({
      code: "effect.failed",
      message: expect.stringMatching(/the policy denies "shell"/),
    });
  });

  test("is recorded with the call, with its reason, and the model reads it", async () => {
    const session = await round([{ deny: ["shell"] }, { calls: 1 }], ["shell", "read_file", "read_file"]);
    const returned = [...session.events()].flatMap((event) => (event.kind === "tool.returned" ? [event.data] : []));
    expect(returned.map(({ problem, reason }) => [problem, reason])).toEqual(
      expect.arrayContaining([
        ["policy", 'the policy denies "shell" to agent'],
        [undefined, undefined],
        ["limit", "the policy allows 1 call in a run"],
      ]),
    );
    expect((await session.request()).messages.at(-1)).toMatchObject({
      results: [
        { outcome: "denied", value: expect.stringContaining('the policy denies "shell"') },
        { outcome: "ok" },
        { outcome: "denied", value: expect.stringContaining("1 call in a run") },
      ],
    });
  });

  test("refuses calls from code with effect.denied, and the session after it", async () => {
    const rath = testRath({ policy: { deny: ["shell"] } });
    await expect(rath.session().call(tools[2] as Tool, {})).rejects.toMatchObject({
      code: "effect.denied",
      message: '"shell" was denied: the policy denies "shell" to user',
      session: { calls: [{ tool: "shell", outcome: { type: "denied" } }] },
    });
  });

  test("applies to nested agents by their path", async () => {
    ran = [];
    const inner = new Agent({ name: "inner", model: scripted({ calls: [{ tool: "shell", input: {} }] }, "inner done"), tools });
    const calls = [
      { tool: "ask", input: { task: "go" } },
      { tool: "shell", input: {} },
    ];
    const agent = new Agent({ model: scripted({ calls }, "done"), tools: [...tools, inner.asTool({ name: "ask", description: "Asks." })] });
    await using rath = testRath({ policy: { deny: ["shell"], agents: ["*/inner"] } });
    const session = await agent.forward(rath.session("go"));
    expect([outcomes(session), ran]).toEqual([["ok", "ok"], ["shell"]]);
    expect(outcomes(await rath.open(session.calls[0]?.session as string))).toEqual(["denied"]);
  });

  test("counts nested work against the limit of its run", async () => {
    const inner = new Agent({ name: "inner", model: scripted({ calls: [{ tool: "shell", input: {} }] }, "inner done"), tools });
    const agent = new Agent({
      model: scripted(
        { calls: [{ tool: "ask", input: { task: "go" } }] },
        { calls: [{ tool: "shell", input: {} }] },
        { calls: [{ tool: "shell", input: {} }] },
        "done",
      ),
      tools: [...tools, inner.asTool({ name: "ask", description: "Asks." })],
    });
    const session = await agent.forward(testRath({ policy: { calls: 3 } }).session("go"));
    expect(outcomes(session)).toEqual(["ok", "ok", "denied"]);
    // The nested call is not made again in a replay: the same decision all the same.
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });

  test.each<readonly [string, object, RegExp]>([
    ["a field it does not know", { placements: ["host"] }, /policy\.placements is not known.*use allow, deny, agents/],
    ["commands that are a list", { commands: ["rm"] }, /policy\.commands is \["rm"\]: give \{ allow, deny \}/],
    ["commands that are no patterns", { commands: { deny: "rm" } }, /policy\.commands\.deny is "rm": give a list of names/],
    ["a misspelt list of commands", { commands: { allowed: ["ls"] } }, /policy\.commands\.allowed is not known/],
    ["paths that are no list", { paths: "src" }, /policy\.paths is "src": give a list/],
    ["a path out of the workspace", { paths: ["src", "../other"] }, /policy\.paths has "\.\.\/other": give paths inside the workspace/],
    ["a limit that is none", { calls: -1 }, /policy\.calls is -1/],
    ["half a call", { calls: 1.5 }, /policy\.calls is 1\.5/],
    ["a name instead of a list", { deny: "shell" }, /policy\.deny is "shell": give a list of names/],
    ["a list of other things", { allow: [/shell/] }, /policy\.allow/],
    ["agents that are none", { agents: "fix/*" }, /policy\.agents/],
    ["an approval that is no function", { needsApproval: true }, /policy\.needsApproval is true: give a function/],
  ])("with %s is refused when it is given", (_, policy, message) => {
    expect(() => new Rules(policy as Policy)).toThrow(message);
    expect(() => testRath({ policy: [{}, policy as Policy] })).toThrow(message);
  });
});

describe("patterns", () => {
  const denies = (pattern: string, name: string): boolean =>
    new Rules({ deny: [pattern] }).refuses({ tool: name, input: {}, by: "a", principal: undefined }, () => 0) !== undefined;

  test("match as a regular expression would", () => {
    const patterns = ["*", "**", "a*", "*a", "a*a", "*a*", "a*b*a", "*ab*ba*", "ab*ba", "", "a.a", "a*\n*"];
    const names = ["", "a", "b", "aa", "aba", "abba", "abab", "xabxbay", "ab", "aXbXa", "a\nb", "a.a"];
    for (const pattern of patterns)
      for (const name of names) {
        const parts = pattern.split("*").map((part) => part.replace(/[.]/g, "\\."));
        expect([pattern, name, denies(pattern, name)]).toEqual([pattern, name, new RegExp(`^${parts.join(".*")}$`, "s").test(name)]);
      }
  });

  test("take no longer for the names that a model thinks of", () => {
    const begin = performance.now();
    expect(denies("*a*a*a*a*b", "a".repeat(100_000))).toBe(false);
    expect(performance.now() - begin).toBeLessThan(1000);
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import type { Session } from "../session/session.ts";
import type { Why } from "../session/why.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { blame } from "./blame.ts";
import { why } from "./why.ts";

const put = tool({
  name: "put",
  description: "Writes a file, or removes it.",
  input: z.object({ path: z.string(), text: z.string().optional() }),
  writes: "files",
  run: async ({ path, text }, { sandbox }) => {
    if (text === undefined) await sandbox.remove(path);
    else await sandbox.write(path, text);
    return "done";
  },
});
const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ about: z.string() }),
  repeat: "safe",
  run: ({ about }) => `${about}: ${"a long result ".repeat(50)}`,
});

const told = ({ hops }: Why): string[] => hops.map(({ relation, event, explains }) => `${relation} ${event.kind} ${explains.join(",")}`);

describe("why of files", () => {
  test("a line of a file from the user's directory names the placement and what was taken there", async () => {
    const directory = await mkdtemp(join(tmpdir(), "why-"));
    await writeFile(join(directory, "a"), "found\n");
    await using rath = testRath();
    const session = await rath.session("x").to("memory", { workspace: directory }).call(put, { path: "b", text: "1\n" });
    const { hops } = await why(session, "a:1");
    expect(hops).toMatchObject([{ relation: "captured", event: { kind: "placement.changed" } }]);
    const returned = [...session.events()].find(({ kind }) => kind === "tool.returned");
    const acted = returned?.data as { readonly acted: { readonly before: string } };
    expect(hops[0]?.evidence.trees?.after).toBe(acted.acted.before);
    await rm(directory, { recursive: true });
  });

  // Mutant: a file that is gone was never there.
  test("a file that was removed says by whom; one that never was names those like it", async () => {
    await using rath = testRath();
    const there = await rath.session("x").to("memory").call(put, { path: "src/add.ts", text: "1\n" });
    const gone = await (await there.call(put, { path: "src/sub.ts", text: "1\n" })).call(put, { path: "src/add.ts" });
    const problem = (asked: Promise<unknown>): Promise<string> => asked.then(String, (error: Error) => error.message);
    const removed = [...gone.events()].findLast(({ kind }) => kind === "tool.returned")?.id.slice(0, 12);
    expect(await problem(why(gone, "src/add.ts:1"))).toContain(`It was removed by event ${removed} (tool.returned of user, step`);
    expect(await problem(why(gone, "sub.ts:1"))).toContain('There is "src/sub.ts".');
    expect(await problem(blame(gone, "\u001b[2Jx"))).not.toContain("\u001b");
    expect(await problem(why(gone, "src/sub.ts:7"))).toContain("has 1 line: there is no line 7");
  });

  test("a binary file says who wrote it, also after something else was written", async () => {
    await using rath = testRath();
    const written = await rath.session("x").to("memory").call(put, { path: "a.png", text: "\u0000PNG" });
    const id = [...written.events()].findLast(({ kind }) => kind === "tool.returned")?.id;
    const later = await written.call(put, { path: "b", text: "text\n" });
    await expect(why(later, "a.png:1")).rejects.toMatchObject({ code: "workspace.invalid", details: { event: id } });
  });

  /** Two branches wrote a line each their way. */
  async function conflicting(rath: ReturnType<typeof testRath>): Promise<readonly [Session, Session]> {
    const base = await rath.session("x").to("memory").call(put, { path: "a", text: "1\n" });
    return [await base.fork("l").call(put, { path: "a", text: "left\n" }), await base.fork("r").call(put, { path: "a", text: "right\n" })];
  }

  // Mutant: whoever spoke last is said to have settled it.
  test("a line that a merge settled leads to who settled it", async () => {
    await using rath = testRath();
    const [left, right] = await conflicting(rath);
    const chatty = await new Agent({ name: "chatty", model: scripted("By the way.") }).forward(left.fork("chatty"));
    const byCode = await why(await chatty.merge(right, { conflicts: () => ({ content: "both\n" }) }), "a:1");
    expect(told(byCode)[0]).toBe("merged session.merged ");
    expect(byCode.hops.filter(({ relation }) => relation === "decided" || relation === "wrote")).toEqual([]);
    const judge = new Agent({ name: "judge", model: scripted('{"a":{"content":"agreed\\n"}}') });
    const byAgent = await why(await left.merge(right, { conflicts: judge }), "a:1");
    expect(told(byAgent).slice(0, 2)).toEqual(["merged session.merged ", "decided model.returned 0"]);
    expect(byAgent.hops[1]?.summary).toContain("judge said");
  });

  test("a line that one side had, and that was chosen in a conflict, leads to the choice and to who wrote it", async () => {
    await using rath = testRath();
    const [left, right] = await conflicting(rath);
    const judge = new Agent({ name: "judge", model: scripted('{"a":"theirs"}') });
    const { hops } = await why(await left.merge(right, { conflicts: judge }), "a:1");
    expect(hops.slice(0, 3)).toMatchObject([
      { relation: "merged", explains: [] },
      { relation: "decided", explains: [0], event: { kind: "model.returned" } },
      { relation: "wrote", explains: [0], event: { session: right.id }, evidence: { file: { path: "a" } } },
    ]);
  });
});

describe("why of calls, checks and costs", () => {
  const rounds = () =>
    scripted(
      { calls: [{ tool: "look", input: { about: "tides" } }], usage: { input: 100, output: 10 } },
      { calls: [{ tool: "put", input: { path: "a", text: "tides\n" } }], usage: { input: 900, output: 20 } },
      { text: "Done.", usage: { input: 950, output: 5 } },
    );

  test("a call names the conversation, and the branches it lies in", async () => {
    await using rath = testRath();
    const agent = new Agent({ name: "a", model: rounds(), tools: [look, put] });
    const session = await agent.forward(rath.session("Go").to("memory").fork("try"));
    const byName = await why(session, { call: "put" });
    expect(told(byName).slice(0, 4)).toEqual([
      "called tool.called ",
      "began session.forked 0",
      "called model.returned 0",
      "began session.created 1",
    ]);
    const id = session.calls.at(-1)?.id ?? "";
    expect(told(await why(session, { call: id.slice(0, 16) }))).toEqual(told(byName));
    await expect(why(session, { call: "fly" })).rejects.toMatchObject({ message: expect.stringContaining("it called look, put") });
  });

  test("a check names its command, the tree it judged and who wrote that", async () => {
    await using rath = testRath();
    const written = await new Agent({ name: "a", model: rounds(), tools: [look, put] }).forward(rath.session("Go").to("memory"));
    const session = await written.check("tests", async ({ sandbox }) => {
      await sandbox.read("a");
      return { passed: false, reason: "2 failed" };
    });
    const found = await why(session, { check: "tests" });
    expect(found.hops[0]).toMatchObject({ relation: "judged", summary: expect.stringContaining("check tests failed") });
    expect(found.hops[0]?.evidence.trees?.after).toBe(session.files.hash);
    expect(told(found)[1]).toBe("wrote tool.returned 0");
    expect(told(await why(session, { check: "" }))).toEqual(told(found));
    await expect(why(session, { check: "lint" })).rejects.toMatchObject({ message: expect.stringContaining("there is tests") });
  });

  // Mutant: the calls are given in the order in which they were made.
  test("a cost names the dearest call, its round and what was large in its context", async () => {
    await using rath = testRath();
    const session = await new Agent({ name: "a", instructions: "Be brief.", model: rounds(), tools: [look, put] }).forward(
      rath.session("Go").to("memory"),
    );
    const { hops } = await why(session, { cost: "" });
    expect(hops[0]).toMatchObject({ relation: "spent", evidence: { tokens: 955 } });
    expect(hops[0]?.summary).toContain("955 tokens, 48 % of 1 985 tokens for 3 calls: 950 tokens read, 5 written in round 3 of a");
    expect(hops[1]?.summary).toMatch(/and about \d+ tokens of instructions, \d+ of 2 tools$/);
    expect(hops[2]).toMatchObject({ relation: "was-in-context", event: { kind: "tool.returned" } });
    expect(hops[2]?.summary).toMatch(/^about \d+ tokens: look/);
    const all = await why(session, { cost: "scripted" });
    expect(all.hops.filter(({ relation }) => relation === "spent").map(({ evidence }) => evidence.tokens)).toEqual([955, 920, 110]);
    await expect(why(session, { cost: "gpt" })).rejects.toMatchObject({ message: expect.stringContaining("it paid for scripted") });
    await expect(why(session, { cost: "budget" })).rejects.toMatchObject({ code: "session.not-found" });
    await expect(why(rath.session("x"), { cost: "" })).rejects.toMatchObject({ message: expect.stringContaining("has no costs") });
  });

  test("a budget that was crossed leads to what was spent before", async () => {
    await using rath = testRath();
    const agent = new Agent({ name: "a", model: rounds(), tools: [look, put], limits: { rounds: 2 } });
    const session = await (await rath.run(agent, rath.session("Go").to("memory"))).result();
    const { hops } = await why(session, { cost: "budget" });
    expect(hops[0]).toMatchObject({ relation: "decided", event: { kind: "budget.crossed" } });
    expect(hops[0]?.summary).toMatch(/crossed the budget of 2 rounds with \d/);
    expect(hops[1]).toMatchObject({ relation: "spent", explains: [0], evidence: { tokens: 920 } });
  });
});

describe("why of words", () => {
  // Mutant: what is cut off is searched too.
  test("names where they stand in what was read, and not in what was cut off", async () => {
    await using rath = testRath();
    const long = tool({
      name: "long",
      description: "x",
      input: z.object({}),
      repeat: "safe",
      run: () => `${"x".repeat(500_000)} the secret word`,
    });
    const model = scripted({ calls: [{ tool: "long", input: {} }] }, "It is the secret word.");
    const session = await new Agent({ name: "a", model, tools: [long] }).forward(rath.session("Say the secret word"));
    const { hops } = await why(session, { answer: "the secret word" });
    const of = (kind: string) => hops.find(({ event, relation }) => event.kind === kind && relation === "was-in-context");
    expect(of("message.added")?.evidence.words).toEqual({ text: "the secret word", at: 4 });
    const result = [...session.events()].find(({ kind }) => kind === "tool.returned")?.data as { readonly cut?: number };
    expect(result.cut).toBeGreaterThan(0);
    expect(of("tool.returned")?.evidence.words).toBeUndefined();
    expect(hops[0]?.evidence.words).toEqual({ text: "the secret word", at: 6 });
  });
});

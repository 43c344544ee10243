import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { Selector } from "../agent/selector.ts";
import { scripted } from "../model/scripted.ts";
import type { Session } from "../session/session.ts";
import type { Why } from "../session/why.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { why } from "./why.ts";

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  writes: "files",
  run: async ({ path, text }, { sandbox }) => {
    await sandbox.write(path, text);
    return "written";
  },
});

const writes = (text: string, path = "a.ts") => ({ calls: [{ tool: "put", input: { path, text } }] });
const relations = ({ hops }: Why): string[] => hops.map(({ relation, event }) => `${relation} ${event.kind}`);
const summaries = ({ hops }: Why): string => hops.map(({ summary }) => summary).join("\n");

describe("why of a line", () => {
  test("leads from the result that wrote it over the reply and the model call to what was read", async () => {
    await using rath = testRath();
    const agent = new Agent({ name: "coder", model: scripted(writes("one\n"), writes("one\ntwo\n"), "Done."), tools: [put] });
    const session = await agent.forward(rath.session("Count").to("memory"));
    const second = await why(session, "a.ts:2");
    expect(relations(second)).toEqual([
      "wrote tool.returned",
      "called model.returned",
      "decided model.called",
      "was-in-context tool.returned",
      "was-in-context message.added",
    ]);
    expect(second.hops[0]?.event.id).not.toBe((await why(session, "a.ts:1")).hops[0]?.event.id);
    expect(summaries(second)).toMatchInlineSnapshot(`
      "put {"path":"a.ts","text":"one\\ntwo\\n"}, changed a.ts: "written"
      coder called put
      coder asked scripted, which read 1 message, 1 reply, 1 result
      put {"path":"a.ts","text":"one\\n"}, added a.ts: "written"
      user: "Count""
    `);
    expect(String(second).split("\n")).toHaveLength(5);
    const [first, below] = String(second).split("\n");
    expect(first).toContain(`wrote  ${second.hops[0]?.event.id.slice(0, 12)}  put`);
    expect(below).toMatch(/^ {2}called /);
    expect(second.hops.map(({ explains }) => explains)).toEqual([[], [0], [1], [2], [2]]);
  });

  test("follows merges to the branch that wrote it", async () => {
    await using rath = testRath();
    const coder = (name: string, text: string) => new Agent({ name, model: scripted(writes(text), "Done."), tools: [put] });
    const base = await coder("first", "1\n2\n3\n").forward(rath.session("Count").to("memory"));
    const left = await coder("left", "one\n2\n3\n").forward(base.fork("left").say("in words"));
    const right = await coder("right", "1\n2\nthree\n").forward(base.fork("right").say("the last in words"));
    const merged = await left.merge(right);
    const of = async (line: 1 | 2 | 3): Promise<string> => summaries(await why(merged, `a.ts:${line}`));
    expect(await of(1)).toContain("left asked scripted");
    expect(await of(2)).toContain("first asked scripted");
    expect(await of(3)).toContain("right asked scripted");
    expect(await of(3)).toContain('user: "the last in words"');
    expect(await of(3)).not.toContain('user: "in words"');
    const [merge, written] = (await why(merged, "a.ts:3")).hops;
    expect([merge?.relation, merge?.event.id]).toEqual(["merged", merged.head]);
    expect([written?.relation, written?.event.session, written?.explains]).toEqual(["wrote", right.id, [0]]);
    // What was there before the branches parted did not come by the merge.
    expect((await why(merged, "a.ts:2")).hops[0]?.relation).toBe("wrote");
  });

  // Mutant: the call that nested work lies in is not looked for.
  test("that a nested agent wrote goes on to who called that agent", async () => {
    await using rath = testRath();
    const inner = new Agent({ name: "inner", description: "Writes.", model: scripted(writes("one\n"), "Written."), tools: [put] });
    const outer = new Agent({
      name: "outer",
      model: scripted({ text: "Inner shall.", calls: [{ tool: "inner", input: { task: "Write one" } }] }, "Done."),
      tools: [inner.asTool({ name: "inner" })],
    });
    const session = await outer.forward(rath.session("Count").to("memory"));
    expect(summaries(await why(session, "a.ts:1")).split("\n")).toEqual([
      expect.stringMatching(/^put /),
      "outer/inner called put",
      "outer/inner asked scripted, which read 1 message",
      'user: "Write one"; has the words at 6',
      'outer said "Inner shall." and called inner',
      "outer asked scripted, which read 1 message",
      'user: "Count"',
    ]);
  });

  test("that code wrote has no model behind it; one that was found is the placement's", async () => {
    const directory = await mkdtemp(join(tmpdir(), "why-"));
    await writeFile(join(directory, "a.ts"), "found\n");
    await using rath = testRath();
    const session = await rath.session("Count").to("memory", { workspace: directory }).call(put, { path: "a.ts", text: "found\none\n" });
    expect(relations(await why(session, "a.ts:2"))).toEqual(["wrote tool.returned"]);
    // Mutant: whatever a model said last is taken for the caller.
    const agreed = await new Agent({ name: "a", model: scripted("Go on.") }).forward(session);
    const more = await agreed.call(put, { path: "a.ts", text: "found\none\ntwo\n" });
    expect(relations(await why(more, "a.ts:3"))).toEqual(["wrote tool.returned"]);
    const found = await why(session, "a.ts:1");
    expect(relations(found)).toEqual(["captured placement.changed"]);
    expect(found.hops[0]?.summary).toBe(`was there when the session was placed in memory on ${directory}`);
    await rm(directory, { recursive: true });
  });

  test("that is not there is an error that says so", async () => {
    await using rath = testRath();
    const session = await rath.session("Count").to("memory").call(put, { path: "a.ts", text: "one\n" });
    await expect(why(session, "a.ts:2")).rejects.toMatchObject({
      code: "workspace.not-found",
      message: expect.stringContaining("has 1 line:"),
    });
    await expect(why(session, "b.ts:1")).rejects.toMatchObject({ code: "workspace.not-found" });
  });
});

describe("why of a named thing", () => {
  const lookup = tool({
    name: "lookup",
    description: "Looks up.",
    input: z.object({ what: z.string() }),
    needsApproval: true,
    run: () => "noon",
  });

  test("a call that had to be approved names who let it happen, and why", async () => {
    await using rath = testRath();
    const agent = new Agent({
      name: "guide",
      model: scripted({ calls: [{ tool: "lookup", input: { what: "tide" } }] }, "At noon."),
      tools: [lookup],
    });
    const run = await rath.run(agent, rath.session("When?"));
    await run.settle();
    const [pending] = await rath.pending();
    await rath.decide(pending?.id ?? "", { by: "human:ada", approve: true, reason: "harmless" });
    const session = await run.result();
    const asked = await why(session, { event: session.calls[0]?.id ?? "" });
    expect(relations(asked)).toEqual([
      "approved answer.given",
      "called model.returned",
      "decided model.called",
      "was-in-context message.added",
    ]);
    expect(asked.hops[0]?.summary).toBe('human:ada approved it: "harmless"');
  });

  // Mutant: every answer to an approval is an approval.
  test("one that was refused is not said to be approved", async () => {
    await using rath = testRath();
    const agent = new Agent({
      name: "guide",
      model: scripted({ calls: [{ tool: "lookup", input: { what: "tide" } }] }, "I cannot say."),
      tools: [lookup],
    });
    const run = await rath.run(agent, rath.session("When?"));
    await run.settle();
    const [pending] = await rath.pending();
    await rath.decide(pending?.id ?? "", { by: "human:ada", approve: false, reason: "too risky" });
    const session = await run.result();
    const { hops } = await why(session, { event: session.calls[0]?.id ?? "" });
    expect(hops.map(({ relation }) => relation)).not.toContain("approved");
    expect(hops[0]).toMatchObject({ relation: "decided", summary: 'human:ada refused it: "too risky"' });
  });

  test("an answer is found by its words, newest first, also inside nested work", async () => {
    await using rath = testRath();
    const inner = new Agent({ name: "inner", description: "Knows.", model: scripted("It is exactly noon.") });
    const outer = new Agent({
      name: "outer",
      model: scripted({ calls: [{ tool: "inner", input: { task: "When?" } }] }, "Around noon, then."),
      tools: [inner.asTool({ name: "inner" })],
    });
    const first = await outer.forward(rath.session("When is high water?"));
    const session = await new Agent({ name: "again", model: scripted("Noon, as I said.") }).forward(first.say("Sure?"));
    const said = async (answer: string): Promise<string | undefined> => (await why(session, { answer })).hops[0]?.summary;
    expect(await said("")).toBe('again said "Noon, as I said."');
    expect(await said("noon")).toBe('outer said "Around noon, then."');
    expect(await said("exactly")).toBe('outer/inner said "It is exactly noon."');
    expect(relations(await why(session, { answer: "Around" }))).toEqual([
      "wrote model.returned",
      "decided model.called",
      "was-in-context tool.returned",
      "was-in-context message.added",
    ]);
    await expect(why(session, { answer: "midnight" })).rejects.toMatchObject({ code: "session.not-found" });
    await expect(why(rath.session("x"), { answer: "" })).rejects.toMatchObject({ code: "session.not-found" });
  });

  test("a result of a nested agent leads to what that agent said", async () => {
    await using rath = testRath();
    const inner = new Agent({ name: "inner", description: "Knows.", model: scripted("It is noon.") });
    const outer = new Agent({
      name: "outer",
      model: scripted({ calls: [{ tool: "inner", input: { task: "When?" } }] }, "Noon."),
      tools: [inner.asTool({ name: "inner" })],
    });
    const session = await outer.forward(rath.session("When is high water?"));
    const returned = [...session.events()].find(({ kind }) => kind === "tool.returned");
    const { hops } = await why(session, { event: returned?.id ?? "" });
    expect(hops[0]).toMatchObject({ relation: "wrote", summary: 'outer/inner said "It is noon."' });
    expect(hops[1]).toMatchObject({ relation: "called", event: { kind: "model.returned" } });
  });

  test("a route is found by what was chosen or by its event", async () => {
    await using rath = testRath();
    const swim = new Agent({ name: "swim", description: "Swims.", model: scripted("Splash.") });
    const walk = new Agent({ name: "walk", description: "Walks.", model: scripted("Step.") });
    const team = new Selector({
      choices: { swim, walk },
      choose: scripted(({ messages }) => ({
        output: JSON.stringify(messages).includes("Splash.")
          ? { choice: "done", reason: "enough" }
          : { choice: "swim", reason: "it is warm" },
      })),
    });
    const session = await team.forward(rath.session("Move"));
    const chosen = await why(session, { route: "swim" });
    expect(relations(chosen)).toEqual([
      "decided route.returned",
      "wrote model.returned",
      "decided model.called",
      "was-in-context message.added",
    ]);
    expect(chosen.hops[0]?.summary).toContain('chose "swim" of swim, walk: "it is warm"');
    const byEvent = await why(session, { route: session.routes[0]?.event ?? "" });
    expect(byEvent.hops[0]?.event.id).toBe(chosen.hops[0]?.event.id);
    await expect(why(session, { route: "fly" })).rejects.toMatchObject({
      code: "session.not-found",
      message: expect.stringContaining("it chose swim, done"),
    });
  });

  test("a merged branch was in context with what it said", async () => {
    await using rath = testRath();
    const ask = (name: string, text: string) => new Agent({ name, model: scripted(text) });
    const base = rath.session("Plan");
    const left = await ask("left", "Left it is.").forward(base.fork("left"));
    const right = await ask("right", "Right it is.").forward(base.fork("right"));
    const done = await ask("judge", "Left.").forward((await left.merge(right)).say("Decide"));
    const { hops } = await why(done, { answer: "Left." });
    const read = hops.filter(({ relation }) => relation === "was-in-context").map(({ event, summary }) => `${event.kind} ${summary}`);
    expect(read).toContain('model.returned right said "Right it is."');
    expect(read.filter((one) => one.startsWith("session.merged"))).toHaveLength(1);
  });

  test("events are found by the beginning of their id; unknown and senseless targets are refused", async () => {
    await using rath = testRath();
    const session = await new Agent({ name: "a", model: scripted("Hi.") }).forward(rath.session("Hello"));
    const event = session.messages.at(-1)?.event ?? "";
    expect(relations(await why(session, { event: event.slice(0, 12) }))).toEqual(["decided model.called", "was-in-context message.added"]);
    const empty = await why(session, { event: session.messages[0]?.event ?? "" });
    expect([empty.hops, String(empty)]).toEqual([[], expect.stringContaining("nothing on record")]);
    await expect(why(session, { event: "f".repeat(64) })).rejects.toMatchObject({ code: "session.not-found" });
    await expect(why(session, { event: "" })).rejects.toMatchObject({ code: "session.not-found" });
    for (const target of ["free text", "a.ts:0", ":3", {}, { event: "a", memory: "b" }, { line: 3 }, undefined])
      await expect(why(session, target as never)).rejects.toMatchObject({ code: "value.unsupported" });
  });

  // Mutant: all that a model had read is listed, however much there was.
  test("of many results the newest are named and all are counted; what is too far away is left out, and said to be", async () => {
    await using rath = testRath();
    const look = tool({
      name: "look",
      description: "x",
      input: z.object({ n: z.number() }),
      repeat: "safe",
      run: ({ n }) => `result ${n}`,
    });
    const round = (n: number) => ({ calls: [{ tool: "look", input: { n } }] });
    const agent = new Agent({ name: "a", model: scripted(...Array.from({ length: 25 }, (_, n) => round(n)), "Done."), tools: [look] });
    const { hops } = await why(await agent.forward(rath.session("Look")), { answer: "" });
    expect(hops[1]?.summary).toBe("a asked scripted, which read 1 message, 25 replies, 25 results");
    const named = hops.filter(({ event }) => event.kind === "tool.returned");
    expect([named.length, named[0]?.summary, named.at(-1)?.summary]).toEqual([
      20,
      'look {"n":24}: "result 24"',
      'look {"n":5}: "result 5"',
    ]);
    let long = rath.session("0");
    for (let n = 1; n < 600; n++) long = long.say(String(n));
    const many = await why(await new Agent({ name: "b", model: scripted("Hi.") }).forward(long), { answer: "" });
    expect(many.hops).toHaveLength(2 + 50);
    expect(many.hops[1]?.summary).toBe("b asked scripted, which read 600 messages");
    expect(many.hops[2]?.summary).toBe('user: "599"');
    // Words are found however long ago they were said.
    const { hops: found } = await why(await new Agent({ name: "c", model: scripted("Not 123, no.") }).forward(long.fork()), {
      answer: "123",
    });
    expect(found.map(({ summary }) => summary)).toContain('user: "123"; has the words at 0');
    const learned = await long.fork().remember({ key: "all", content: "all", because: long.messages.map(({ event }) => event) });
    const farther = await why(learned, { memory: "all" });
    expect(farther.hops).toHaveLength(500);
    expect(String(farther).split("\n").at(-1)).toContain("left out");
  });

  // Mutant: the nearest steps are always taken first.
  test("what has the words is followed, however many branches a model had read about", async () => {
    await using rath = testRath();
    const writer = new Agent({ name: "writer", model: scripted(writes("the tide turns\n"), "Done."), tools: [put] });
    let line: Session = await writer.forward(rath.session("Write it down").to("memory"));
    for (let n = 0; n < 120; n++) {
      const branch = line.fork().say(`part ${n}`);
      line = await line.say("meanwhile").merge(branch);
    }
    const look = tool({
      name: "look",
      description: "Reads a file.",
      input: z.object({ path: z.string() }),
      repeat: "safe",
      run: async ({ path }, { sandbox }) => Buffer.from(await sandbox.read(path)).toString(),
    });
    const model = scripted({ calls: [{ tool: "look", input: { path: "a.ts" } }] }, "I read that the tide turns.");
    const { hops } = await why(await new Agent({ name: "reader", model, tools: [look] }).forward(line), { answer: "the tide turns" });
    expect(hops.length).toBeGreaterThan(120);
    const at = hops.findIndex(({ evidence }) => evidence.file?.path === "a.ts");
    expect([hops[at]?.relation, hops[at]?.event.kind]).toEqual(["wrote", "tool.returned"]);
    expect(at).toBeLessThan(10);
  });

  test("a session that was opened again, forked and detached leads to the same events", async () => {
    const store = { ...memoryStore(), [Symbol.asyncDispose]: async () => {} };
    await using first = testRath({ store });
    const said = await new Agent({ name: "a", model: scripted("Hi there.") }).forward(first.session("Hello"));
    const expected = (await why(said, { answer: "Hi" })).hops.map(({ event }) => event.id);
    const later = await first.save(said.fork("later").say("More"));
    const moved = await first.save(said.detach().say("Elsewhere"));
    await using second = testRath({ store });
    for (const id of [said.id, later.id, moved.id]) {
      const { hops } = await why(await second.open(id), { answer: "Hi" });
      expect(hops.map(({ event }) => event.id)).toEqual(expected);
    }
    // Mutant: what a detached session comes from is not looked through.
    const begins = said.messages[1]?.event.slice(0, 20) ?? "";
    expect((await why(await second.open(moved.id), { event: begins })).hops.map(({ event }) => event.id)).toEqual(expected.slice(1));
    // A whole id is found in all of the store.
    const other = await second.save(second.session("Other"));
    expect((await why(other, { event: said.messages[1]?.event ?? "" })).hops.map(({ event }) => event.id)).toEqual(expected.slice(1));
  });

  test("what others wrote cannot act on a terminal", async () => {
    await using rath = testRath();
    const session = await new Agent({ name: "a", model: scripted("Hi.") }).forward(rath.session("\u001b[2J\u202eevil\r\nnew line"));
    expect(summaries(await why(session, { answer: "Hi" }))).toContain('user: "\\u001b[2J\\u202eevil new line"');
  });
});

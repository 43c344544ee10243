import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { rerun } from "../runtime/rerun.ts";
import { Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { writeFile } from "../tool/builtin/tools.ts";
import { tool } from "../tool/tool.ts";
import { diff } from "./diff.ts";

function memory() {
  return composeRath({ store: "memory", implicitForks: "allow" }, {});
}

function idOf(session: Session, name: string): string {
  return [...session.events()].find((event) => event.kind === "do.called" && (event.data as { name: string }).name === name)?.id as string;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe("diff", () => {
  test("of a rerun is what was changed and what changed because of it, with what was reused", async () => {
    await using rath = memory();
    const flow = new Flow(async (session) => {
      const weather = await session.do("weather", () => "sun", { repeat: "safe" });
      const price = await weather.do("price", () => 3, { repeat: "safe", input: { item: "ice" } });
      const plan = await price.do("plan", () => `go out in the ${weather.output}`, { repeat: "safe", input: weather.output });
      return plan.check("dry", () => weather.output === "sun");
    });
    const done = await flow.forward(rath.session("go"));
    const { session: again } = await rerun(done, flow, { change: { event: idOf(done, "weather"), output: "rain" } });
    const found = await diff(done, again);
    expect(found.identical).toBe(false);
    expect(found.first.a).toMatchObject({ kind: "do.returned", data: { value: "sun" } });
    expect(found.first.b).toMatchObject({ kind: "do.returned", data: { value: "rain" } });
    expect(found.calls.map(({ a, b }) => [a?.name, a?.outcome, b?.outcome])).toEqual([
      ["weather", { type: "ok", value: "sun" }, { type: "ok", value: "rain" }],
      ["plan", { type: "ok", value: "go out in the sun" }, { type: "ok", value: "go out in the rain" }],
    ]);
    expect(found.checks).toMatchObject([{ a: { name: "dry", passed: true }, b: { name: "dry", passed: false } }]);
    expect(found.reused.b).toMatchObject({ results: 1, of: 4 });
    expect(found.reused.a).toBeUndefined();
    const reusedPrice = found.events.find(({ relation, b }) => relation === "same" && b?.line.startsWith("do price →"));
    expect(reusedPrice?.b?.source).toBe(reusedPrice?.a?.id);
    const text = String(found);
    expect(text).toMatch(/First difference\n- .*weather → ok sun\n\+ .*weather → ok rain\nb is a rerun: 1 of 4 results reused/);
    // Unchanged, all of it is the same.
    const same = await diff(done, (await rerun(done, flow)).session);
    expect(same.identical).toBe(true);
    expect(String(same)).toContain("The same happened on both sides");
  });

  test("holds calls that one side has alone, and how long each side took (mutants: only calls of both; from the last call on)", async () => {
    const rath = testRath({ implicitForks: "allow" });
    const base = await rath.session("go").do("before", () => 0);
    const busy = await (await base.fork("busy").do("one", () => 1)).do("two", () => 2);
    const found = await diff(base.fork("idle").say("nothing"), busy);
    expect(found.calls.map(({ a, b }) => [a, b?.name])).toEqual([
      [undefined, "one"],
      [undefined, "two"],
    ]);
    const times = [...busy.events()].filter(({ session }) => session === busy.id).map(({ at }) => Date.parse(at));
    const first = [...busy.events()].find(({ session, kind }) => session === busy.id && kind === "do.called");
    expect(found.spent.b.wallMs).toBe(Math.max(...times) - Date.parse(first?.at as string));
    expect(found.spent.b.wallMs).toBeGreaterThan(0);
    expect(found.spent.a.wallMs).toBe(0);
  });

  test("says which files, messages and memories differ, with patches", async () => {
    await using rath = memory();
    const base = (await rath.session("Keep notes").to("memory").call(writeFile, { path: "n.md", content: "a\nb\nc\n" })) as Session;
    const left = await (await base.fork("left").call(writeFile, { path: "n.md", content: "a\nB\nc\n" })).remember({
      key: "k",
      content: "left",
    });
    const right = await base.fork("right").say("hello\nworld").call(writeFile, { path: "new.md", content: "x\n" });
    const found = await diff(left, right);
    expect(found.ancestor).toBe(base.head);
    expect(found.files).toMatchObject([
      { path: "n.md", kind: "changed", lines: { added: 1, removed: 1 }, patch: expect.stringContaining("-B\n+b\n") },
      { path: "new.md", kind: "added", lines: { added: 1, removed: 0 } },
    ]);
    expect(found.messages).toMatchObject([{ a: undefined, b: { role: "user", text: "hello\nworld" } }]);
    expect(found.memory).toMatchObject([{ what: "write", uri: "memory://project/k", a: { content: "left", version: 1 }, b: undefined }]);
    const said = await diff(base.fork().say("one\ntwo\n"), base.fork().say("one\n2\n"));
    expect(said.messages).toMatchObject([{ patch: "@@ -1,2 +1,2 @@\n one\n-two\n+2\n" }]);
  });

  test("says what agents were offered, what they called, and what was inside a call belongs to it", async () => {
    await using rath = memory();
    const add = (name: string, factor: number) =>
      tool({ name, description: `Times ${factor}.`, input: z.object({ n: z.number() }), repeat: "safe", run: ({ n }) => n * factor });
    const inner = (text: string) => new Agent({ name: "inner", model: scripted(text) }).asTool({ name: "ask", description: "Asks." });
    const agent = (factor: number, text: string, n: number) =>
      new Agent({
        name: "outer",
        instructions: `Be ${text}.`,
        model: scripted(
          {
            calls: [
              { tool: "times", input: { n } },
              { tool: "ask", input: { task: "x" } },
            ],
          },
          `done ${text}`,
        ),
        tools: [add("times", factor), inner(text)],
      });
    const base = rath.session("go");
    const [a, b] = [await agent(2, "short", 3).forward(base.fork("a")), await agent(5, "long", 3).forward(base.fork("b"))];
    const found = await diff(a, b);
    expect(found.agents.map(({ a: left, b: right }) => [left.by, left.instructions, right.instructions])).toEqual([
      ["outer", "Be short.", "Be long."],
    ]);
    expect(found.calls).toMatchObject([
      { a: { name: "times", outcome: { value: 6 } }, b: { name: "times", outcome: { value: 15 } } },
      { a: { name: "ask", outcome: { value: "short" } }, b: { name: "ask", outcome: { value: "long" } } },
    ]);
    // What the inner agent said is in the events and not among the messages of the session.
    expect(found.messages.map(({ a: left }) => left?.text)).toEqual(["done short"]);
    const nested = found.events.filter(({ a: left }) => left?.inside !== undefined);
    expect(nested.length).toBeGreaterThan(3);
    const ask = found.events.findIndex(({ a: left }) => left?.line.startsWith("tool ask →"));
    const last = found.events.findLastIndex(({ a: left }) => left?.inside !== undefined);
    expect(last).toBe(ask - 1);
  });

  test("of two batches is the same whichever of their results came first", async () => {
    await using rath = memory();
    const played = (order: readonly string[]) => {
      const ended = new Map(order.map((name) => [name, deferred()]));
      const named = (name: string) =>
        tool({
          name,
          description: name,
          input: z.object({}),
          repeat: "safe",
          run: async () => {
            const before = order[order.indexOf(name) - 1];
            if (before !== undefined) await ended.get(before)?.promise;
            ended.get(name)?.resolve();
            return name;
          },
        });
      const calls = ["one", "two", "three"].map((name) => ({ tool: name, input: {} }));
      return new Agent({ name: "batch", model: scripted({ calls }, "done"), tools: calls.map((call) => named(call.tool)) }).forward(
        rath.session("go"),
      );
    };
    const [a, b] = [await played(["one", "two", "three"]), await played(["three", "two", "one"])];
    const came = (session: Session): readonly unknown[] =>
      [...session.events()].flatMap((event) => (event.kind === "tool.returned" ? [event.data.value] : []));
    expect(came(a)).not.toEqual(came(b));
    const found = await diff(a, b);
    expect(found.identical).toBe(true);
    expect(found.events.filter(({ relation }) => relation !== "same")).toEqual([]);
  });

  test("takes the same events for the same whichever side is given first", async () => {
    await using rath = memory();
    for (const [left, right] of [
      ["xy", "yx"],
      ["xxyz", "yzx"],
      ["abcabba", "cbabac"],
    ] as const) {
      const base = rath.session("go");
      const noted = (letters: string): Session => [...letters].reduce((session, letter) => session.note(letter), base.fork());
      const [a, b] = [noted(left), noted(right)];
      const pairs = async (one: Session, other: Session, side: "a" | "b"): Promise<readonly unknown[]> =>
        (await diff(one, other)).events.flatMap((row) =>
          row.relation === "only" ? [] : [[row.relation, row[side]?.id, row[side === "a" ? "b" : "a"]?.id]],
        );
      expect(await pairs(a, b, "a")).toEqual(await pairs(b, a, "b"));
    }
  });

  test("finds several ancestors where branches were merged crosswise, none for unrelated ones, and one over a detach", async () => {
    await using rath = memory();
    const base = rath.session("go");
    const [x, y] = [await base.fork("x").do("x", () => 1), await base.fork("y").do("y", () => 2)];
    const [left, right] = [await x.fork().merge(y), await y.fork().merge(x)];
    const crossed = await diff(left, right);
    expect(new Set(crossed.ancestors.map(({ event }) => event))).toEqual(new Set([x.head, y.head]));
    expect(String(crossed)).toContain("crosswise");
    const unrelated = await diff(x, rath.session("other"));
    expect(unrelated).toMatchObject({ ancestor: undefined, ancestors: [] });
    expect(unrelated.events.filter(({ a }) => a !== undefined)).toHaveLength([...x.events()].length);
    const detached = await diff(x, x.detach().say("on"));
    expect(detached).toMatchObject({ ancestor: x.head, detached: true, messages: [{ b: { text: "on" } }] });
    const place = await diff(x.at(2), x);
    expect(place).toMatchObject({ ancestor: x.at(2).head, first: { a: undefined, b: { kind: "do.called" } } });
  });

  test("shows hostile content as text, in lines and on a page, and erased events as erased", async () => {
    await using rath = memory();
    const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)>"'&\u001b[2J\u202e\ud800 ${"x".repeat(30_000)}`;
    const base = rath.session("go");
    const a = await base
      .fork(hostile)
      .say(hostile)
      .do(hostile, () => hostile, { repeat: "safe" });
    const b = await base
      .fork("b")
      .say(`${hostile}!`)
      .check(hostile, () => ({ passed: false, reason: hostile }));
    const found = await diff(a, b);
    const [text, page] = [String(found), found.toHtml()];
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/);
    expect(text.split("\n").every((line) => line.length < 400)).toBe(true);
    expect(page).not.toMatch(/<script|<img/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
    expect(page).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/);
    expect(JSON.parse(JSON.stringify(found)).messages).toHaveLength(1);
    const erased = vi.spyOn(Node.prototype, "erased", "get").mockReturnValue(true);
    const data = vi.spyOn(Node.prototype, "data").mockReturnValue(undefined as never);
    try {
      expect(String(await diff(a, b))).toContain("[erased]");
    } finally {
      erased.mockRestore();
      data.mockRestore();
    }
  });

  test("is frozen, and reads what differs instead of the whole history", async () => {
    await using rath = memory();
    let trunk: Session = rath.session("go");
    for (let index = 0; index < 3000; index++) trunk = trunk.note(String(index));
    const [a, b] = [trunk.fork("a").note("left"), trunk.fork("b").note("right")];
    expect(a.messages).toHaveLength(1); // the state is known: what follows is the diff alone
    expect(b.messages).toHaveLength(1);
    const read = vi.spyOn(runtimeOf(a), "textOf");
    const found = await diff(a, b);
    expect(read.mock.calls.length).toBeLessThan(10);
    expect(found.events).toHaveLength(2);
    for (const value of [found, found.events, found.events[0], found.spent.a.usage, found.first.a])
      expect(Object.isFrozen(value)).toBe(true);
    await using other = memory();
    await expect(diff(a, other.session("x"))).rejects.toMatchObject({ code: "session.not-here" });
  });
});

test("a workflow and the agent in it are not one under two names, wherever a branch begins", async () => {
  const agent = new Agent({ name: "a", model: scripted("x", "y", "z") });
  const flow = new Flow((session) => agent.forward(session), "flow");
  const rath = testRath();
  const first = await flow.forward(rath.session("first"));
  const one = await flow.forward(first.fork("one").say("alpha"));
  const two = await flow.forward(first.at(3).fork("two").say("beta"));
  expect((await diff(one, two)).renamed).toStrictEqual([]);
});

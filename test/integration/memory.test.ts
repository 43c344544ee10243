/** What sessions remember: who sees it when, and what a run makes of it when it returns. */
import { describe, expect, test, vi } from "vitest";
import { replay } from "../../src/runtime/replay.ts";
import { rerun } from "../../src/runtime/rerun.ts";
import type { Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { tool } from "../../src/tool/tool.ts";
import { fetchPage, published, Steps, seen } from "../support/memory.ts";

describe("staged writes", () => {
  test("are seen by their branch and its descendants alone", async () => {
    await using rath = testRath();
    const base = await rath.session("x").remember({ key: "a", content: "1" });
    const left = await base.fork("left").remember({ key: "b", content: "2" });
    const right = base.fork("right");
    expect(await seen(left)).toEqual({ a: "1", b: "2" });
    expect(await seen(left.fork("child"))).toEqual({ a: "1", b: "2" });
    expect(await seen(right)).toEqual({ a: "1" });
    expect(await seen(rath.session("another"))).toEqual({});
    expect(await published(rath)).toEqual({});
  });

  test("are published when the run returns, with version, evidence and a record of it", async () => {
    await using rath = testRath();
    const run = await rath.run(
      new Steps(async (session) => {
        const first = await session.remember({ key: "test-command", content: "npm test" });
        return first.remember({ key: "test-command", content: "npm test -- --run" });
      }),
      rath.session("x"),
    );
    const done = await run.result();
    expect(await published(rath)).toEqual({ "test-command": "npm test -- --run" });
    expect(await rath.memory.get("test-command")).toMatchObject({
      version: 2,
      state: "published",
      session: done.id,
      origin: "human",
      trust: "trusted",
    });
    expect(done.memory.writes.map(({ version, content, state }) => [version, content, state])).toEqual([
      [1, "npm test", "staged"],
      [2, "npm test -- --run", "staged"],
    ]);
    expect(await seen(rath.session("another"))).toEqual({ "test-command": "npm test -- --run" });
  });

  test("of a rejected result, and of a branch that did not win, leave nothing behind", async () => {
    await using rath = testRath();
    const rejected = new Steps(async (session) => (await session.remember({ key: "a", content: "1" })).reject("wrong"));
    await rejected.forward(rath.session("x"));
    const winner = new Steps(async (session) => {
      const lost = await session.fork("lost").remember({ key: "b", content: "lost" });
      lost.reject("worse");
      return session.fork("won").remember({ key: "b", content: "won" });
    });
    await winner.forward(rath.session("y"));
    expect(await published(rath)).toEqual({ b: "won" });
  });

  test("of nested work that was rejected leave nothing behind", async () => {
    await using rath = testRath();
    const done = await new Steps((session) =>
      session.do(
        "try it",
        async ({ session: inner }) => {
          const tried = await inner.remember({ key: "k", content: "c" });
          tried.reject("wrong");
          return 1;
        },
        { repeat: "nested" },
      ),
    ).forward(rath.session("x"));
    expect(done.memory.writes).toEqual([]);
    expect(await published(rath)).toEqual({});
  });

  test("wait for the check that they name", async () => {
    await using rath = testRath();
    const work = (passes: boolean | undefined) =>
      new Steps(async (session) => {
        const written = await session.remember({ key: "a", content: String(passes), publish: { check: "tests" } });
        return passes === undefined ? written : written.check("tests", () => passes);
      });
    const missed = await work(undefined).forward(rath.session("x"));
    await work(false).forward(rath.session("x"));
    expect(await published(rath)).toEqual({});
    await work(true).forward(rath.session("x"));
    expect(await published(rath)).toEqual({ a: "true" });
    expect(await rath.memory.publish(missed)).toEqual({ published: [], held: ["memory://project/a"] });
  });

  test("outside a run stay staged until somebody publishes them, or a run on them returns", async () => {
    await using rath = testRath();
    const session = await rath.session("x").remember({ key: "a", content: "1" });
    expect(await published(rath)).toEqual({});
    expect(await rath.memory.publish(session)).toEqual({ published: ["memory://project/a"], held: [] });
    expect(await rath.memory.publish(session)).toEqual({ published: [], held: [] });
    const more = await session.remember({ key: "b", content: "2" });
    await new Steps(async (given) => given.note("x")).forward(more);
    expect(await published(rath)).toEqual({ a: "1", b: "2" });
  });

  test("published at once, never, or as the policy says, whichever is strictest", async () => {
    await using rath = testRath({ policy: { memory: { publish: ({ trust }) => (trust === "trusted" ? "now" : "never") } } });
    const session = await rath.session("x").remember({ key: "a", content: "1" });
    expect(session.memory.writes[0]?.state).toBe("published");
    expect(await published(rath)).toEqual({ a: "1" });
    const told = await session.call(fetchPage, {});
    await new Steps(async (given) => given.remember({ key: "b", content: "2", publish: "now" })).forward(told);
    expect(await published(rath)).toEqual({ a: "1" });
  });

  test("of a tool and of nested work belong to the branch that called it; those of a failed attempt do not", async () => {
    await using rath = testRath();
    let tries = 0;
    const learn = tool({
      name: "learn",
      description: "Learns.",
      input: { type: "object", properties: {} },
      repeat: "safe",
      retry: { attempts: 2 },
      run: async (_, { session }) => {
        const first = ++tries === 1;
        const learned = await session.remember({ key: first ? "lost" : "kept", content: "x" });
        if (first) throw new Error("again");
        return learned.id;
      },
    });
    const session = await rath.session("x").call(learn, {});
    expect(await seen(session)).toEqual({ kept: "x" });
    const failing = tool({
      name: "fails",
      description: "Fails.",
      input: { type: "object", properties: {} },
      run: async (_, { session: inner }) => {
        await inner.remember({ key: "failed", content: "x" });
        throw new Error("no");
      },
    });
    const error = (await session.call(failing, {}).catch((thrown: unknown) => thrown)) as { session: Session };
    expect(await seen(error.session)).toEqual({ kept: "x" });
  });

  test("forgetting hides and is published like a write; what is not there cannot be forgotten", async () => {
    await using rath = testRath();
    const one = await rath.session("x").remember({ key: "a", content: "1" });
    await rath.memory.publish(one);
    const gone = await rath.session("y").forget("a", "it changed");
    expect(await seen(gone)).toEqual({});
    expect(await seen(rath.session("z"))).toEqual({ a: "1" });
    await rath.memory.publish(gone);
    expect(await published(rath)).toEqual({});
    expect(await rath.memory.get("a")).toMatchObject({ state: "retracted", reason: "it changed", version: 2 });
    await expect(gone.forget("a", "again")).rejects.toMatchObject({ code: "effect.failed", message: expect.stringMatching(/no memory/) });
    const again = await rath.session("w").remember({ key: "a", content: "2" });
    await rath.memory.publish(again);
    expect(await published(rath)).toEqual({ a: "2" });
  });
});

describe("compare and set", () => {
  test("a run whose memory was changed by somebody else meanwhile publishes the rest and says so", async () => {
    await using rath = testRath();
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const early = new Steps(async (session) => session.remember({ key: "a", content: "early" }));
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const started = await rath.run(
      new Steps(async (session) => {
        const written = await session.remember({ key: "a", content: "late" });
        return (await written.remember({ key: "mine", content: "1" })).do("wait", () => gate, { repeat: "safe" });
      }),
      rath.session("x"),
    );
    await vi.waitFor(async () => expect((await rath.open(started.session)).memory.writes).toHaveLength(2));
    await early.forward(rath.session("other"));
    open();
    const done = await started.result();
    expect(await published(rath)).toEqual({ a: "early", mine: "1" });
    expect(warned.mock.calls.flat().join(" ")).toMatch(/memory:\/\/project\/a was not published: somebody else changed it/);
    expect(done.memory.writes).toHaveLength(2);
    warned.mockRestore();
  });
});

describe("merging", () => {
  test("moves what is staged to the receiver, still staged", async () => {
    await using rath = testRath();
    const base = rath.session("x");
    const [a, b] = await Promise.all([
      base.fork("a").remember({ key: "a", content: "1" }),
      base.fork("b").remember({ key: "b", content: "2" }),
    ]);
    const merged = await a.merge(b);
    expect(await seen(merged)).toEqual({ a: "1", b: "2" });
    expect(await published(rath)).toEqual({});
    expect(await seen(await a.fork("again").merge((await b.fork("c").remember({ key: "c", content: "3" })).reject("no")))).toEqual({
      a: "1",
    });
  });

  test("one key written differently is a conflict with both sides; the same content is none", async () => {
    await using rath = testRath();
    const base = await rath.session("x").remember({ key: "k", content: "base" });
    const ours = await base.fork("a").remember({ key: "k", content: "ours" });
    const theirs = await base.fork("b").remember({ key: "k", content: "theirs" });
    const same = await base.fork("c").remember({ key: "k", content: "ours" });
    const conflict = { kind: "memory", key: "k", uri: "memory://project/k", base: "base", ours: "ours", theirs: "theirs" };
    expect(await ours.conflicts(theirs)).toEqual([conflict]);
    await expect(ours.merge(theirs)).rejects.toMatchObject({ code: "merge.conflict", details: { conflicts: [conflict] } });
    expect(await ours.conflicts(same)).toEqual([]);
    expect(await seen(await ours.fork("1").merge(theirs, { conflicts: "ours" }))).toEqual({ k: "ours" });
    expect(await seen(await ours.fork("2").merge(theirs, { conflicts: "theirs" }))).toEqual({ k: "theirs" });
    expect(await seen(await ours.fork("3").merge(theirs, { conflicts: () => ({ content: "both" }) }))).toEqual({ k: "both" });
    expect(await seen(await theirs.fork("4").merge(base))).toEqual({ k: "theirs" });
    const forgotten = await base.fork("d").forget("k", "old");
    expect(await ours.conflicts(forgotten)).toMatchObject([{ key: "k", base: "base", ours: "ours" }]);
    expect(await seen(await ours.fork("5").merge(forgotten, { conflicts: "theirs" }))).toEqual({});
  });

  test("a person settles it, and what they wrote is because of both", async () => {
    await using rath = testRath();
    const base = rath.session("x");
    const ours = await base.fork("a").remember({ key: "k", content: "ours" });
    const theirs = await (await base.fork("b").call(fetchPage, {})).remember({ key: "k", content: "theirs" });
    const merging = ours.merge(theirs, { conflicts: "ask" });
    const [question] = await vi.waitFor(async () => {
      const pending = await rath.pending();
      expect(pending).toHaveLength(1);
      return pending;
    });
    await rath.decide(question?.id ?? "", { by: "ada", answer: { choice: "content", content: "both" } });
    const merged = await merging;
    expect(merged.memory.writes.at(-1)).toMatchObject({
      content: "both",
      trust: "untrusted",
      because: [expect.any(String), expect.any(String)],
    });
  });
});

describe("reading as of a revision", () => {
  test("a run reads what was there when it first looked; the next one what is there now", async () => {
    await using rath = testRath();
    const put = async (content: string) => rath.memory.publish(await rath.session("w").remember({ key: "a", content }));
    await put("1");
    let looked = (): void => {};
    let go = (): void => {};
    const first = new Promise<void>((resolve) => {
      looked = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const work = new Steps(async (session) => {
      const recalled = await session.recall({ key: "a" });
      looked();
      const waited = await recalled.do("wait", () => gate, { repeat: "safe" });
      return (await waited.recall({ key: "a" })).recall({ key: "a" }, { memory: "latest" });
    });
    const run = await rath.run(work, rath.session("x"));
    await first;
    await put("2");
    go();
    const done = await run.result();
    expect(done.memory.reads.map(({ content }) => content)).toEqual(["1", "1", "2"]);
    expect(done.memory.reads.map(({ recall }) => recall.revision)).toEqual([1, 1, 2]);
    expect((await rath.session("next").recall({ key: "a" })).output[0]?.content).toBe("2");
  });

  test("a fork from the past reads what was read before it, unless told otherwise", async () => {
    await using rath = testRath();
    const put = async (content: string) => rath.memory.publish(await rath.session("w").remember({ key: "a", content }));
    await put("1");
    const session = await rath.session("x").recall({ key: "a" });
    const later = await session.do("work", () => 1);
    await put("2");
    expect((await later.fork("now").recall({ key: "a" })).output[0]?.content).toBe("2");
    const past = later.at(session.step).fork("then");
    const again = await past.recall({ key: "a" });
    expect(again.output[0]?.content).toBe("1");
    expect((await again.recall({ key: "a" })).output[0]?.content).toBe("1");
    expect((await past.fork("b").recall({ key: "a" }, { memory: "latest" })).output[0]?.content).toBe("2");
    expect((await new Steps((given) => given.recall({ key: "a" })).forward(past.fork("run"))).output).toMatchObject([{ content: "1" }]);
  });

  // Mutant: what the branch itself published counts as somebody else's, and what it forgets as never having been there.
  test("a fork from the past goes on from what it has published itself", async () => {
    await using rath = testRath();
    const session = await rath.session("x").remember({ key: "other", content: "1" });
    await session.do("work", () => 1);
    for (const [key, next] of [
      ["kept", (at: Session) => at.remember({ key: "kept", content: "2" })],
      ["gone", (at: Session) => at.forget("gone", "old")],
    ] as const) {
      const past = await session.fork(key).remember({ key, content: "1", publish: "now" });
      const again = await next(past);
      expect((await rath.memory.publish(again)).published).toContain(`memory://project/${key}`);
    }
    expect(await published(rath)).toEqual({ other: "1", kept: "2" });
    // Somebody else's is still refused.
    const mine = await session.fork("mine").remember({ key: "kept", content: "3" });
    await expect(rath.memory.publish(mine)).rejects.toMatchObject({ code: "memory.changed" });
  });

  test("a rerun reads what its run read and reuses it, or the latest when told; it publishes nothing", async () => {
    await using rath = testRath();
    const put = async (content: string) => rath.memory.publish(await rath.session("w").remember({ key: "a", content }));
    await put("1");
    const work = new Steps(async (session) => {
      const recalled = await session.recall("1 2", { limit: 3 });
      return recalled.remember({ key: "b", content: `saw ${recalled.output[0]?.content}` });
    });
    const done = await work.forward(rath.session("x"));
    await put("2");
    const same = await rerun(done, work);
    expect(same.session.memory.reads.map(({ content }) => content)).toEqual(["1"]);
    expect([same.reused, same.of]).toEqual([2, 2]);
    const latest = await rerun(done, work, { memory: "latest" });
    expect(latest.session.memory.reads[0]?.content).toBe("2");
    expect(latest.reused).toBe(0);
    expect(await rath.memory.history("b")).toHaveLength(1);
    expect(await rath.memory.publish(same.session)).toEqual({ published: [], held: [] });
    expect(await rath.memory.publish(latest.session)).toEqual({ published: ["memory://project/b"], held: [] });
    expect((await replay(done, work)).identical).toBe(true);
  });
});

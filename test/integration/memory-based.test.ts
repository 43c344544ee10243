/** What a write is based on: others' writes are in its way, its own branch's are not. */
import { describe, expect, test } from "vitest";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { published, Steps } from "../support/memory.ts";
import { otherProcess } from "../support/other-process.ts";

describe("a write that follows one of its own branch", () => {
  test("is published although that one was published in between", async () => {
    await using rath = testRath();
    const first = await rath.session("x").remember({ key: "k", content: "a" });
    const second = await first.remember({ key: "k", content: "b" });
    await rath.memory.publish(first);
    await rath.memory.publish(second);
    expect((await rath.memory.history("k")).map(({ content, version }) => [content, version])).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
    // What came before is not published over it.
    await rath.memory.publish(first);
    expect(await published(rath)).toEqual({ k: "b" });
  });

  test("is published in another process on the same session", async () => {
    const [store, memory] = [memoryStore(), volatileMemory()];
    await using here = otherProcess(store, { memory });
    await using there = otherProcess(store, { memory });
    const first = await here.session("x").remember({ key: "k", content: "a" });
    const second = await (await there.open(first.id)).remember({ key: "k", content: "b" });
    await Promise.all([here.memory.publish(first), there.memory.publish(await there.open(first.id))]);
    await there.memory.publish(second);
    await here.memory.publish(first);
    expect((await here.memory.history("k")).map(({ content }) => content)).toEqual(["a", "b"]);
  });

  test("twice at once in one run: each follows the one before", async () => {
    await using rath = testRath();
    await new Steps(async (session) => {
      const first = await session.remember({ key: "k", content: "a", publish: "now" });
      return first.remember({ key: "k", content: "b", publish: "now" });
    }).forward(rath.session("x"));
    expect(await published(rath)).toEqual({ k: "b" });
  });

  test("at once and then forgotten in one run: it is taken back", async () => {
    await using rath = testRath();
    await new Steps(async (session) => {
      const first = await session.remember({ key: "k", content: "a", publish: "now" });
      return first.forget("k", "wrong");
    }).forward(rath.session("x"));
    expect(await published(rath)).toEqual({});
    expect((await rath.memory.history("k")).map(({ state }) => state)).toEqual(["published", "retracted"]);
  });

  test("does not hide what somebody else wrote", async () => {
    await using rath = testRath();
    const first = await rath.session("x").remember({ key: "k", content: "a" });
    const second = await first.remember({ key: "k", content: "b" });
    await rath.memory.publish(first);
    await rath.memory.publish(await rath.session("y").remember({ key: "k", content: "other" }));
    await expect(rath.memory.publish(second)).rejects.toMatchObject({ code: "memory.changed" });
    expect(await published(rath)).toEqual({ k: "other" });
  });
});

describe("what somebody else wrote", () => {
  test("is forgotten by a branch that had forgotten its own", async () => {
    await using rath = testRath();
    const mine = await rath.session("x").remember({ key: "k", content: "mine" });
    await rath.memory.publish(mine);
    const gone = await mine.forget("k", "wrong");
    await rath.memory.publish(gone);
    await rath.memory.publish(await rath.session("y").remember({ key: "k", content: "theirs" }));
    expect((await gone.fork("look").recall({ key: "k" })).output.map(({ content }) => content)).toEqual(["theirs"]);
    await rath.memory.publish(await gone.forget("k", "wrong too"));
    expect(await published(rath)).toEqual({});
  });

  test("is in the way of a run until it reads what is there now", async () => {
    const memory = volatileMemory();
    await using rath = testRath({ memory });
    await rath.memory.publish(await rath.session("a").remember({ key: "k", content: "old" }));
    const change = async () => {
      for await (const { revision: _, ...item } of memory.list({ key: "k" }))
        await memory.write([{ item: { ...item, content: "theirs", version: 2, event: "another" }, based: 1 }]);
    };
    const read: string[] = [];
    await new Steps(async (session) => {
      const before = await session.recall({ key: "k" });
      await before.fork("meanwhile").do("elsewhere", change);
      const now = await before.recall({ key: "k" }, { memory: "latest" });
      read.push(...[before, now].map(({ output }) => output[0]?.content ?? ""));
      return now.remember({ key: "k", content: "both" });
    }).forward(rath.session("c"));
    expect(read).toEqual(["old", "theirs"]);
    expect(await published(rath)).toEqual({ k: "both" });
  });
});

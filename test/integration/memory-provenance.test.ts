/** Where memories come from, what they led to, what people do about them, and what could go wrong. */
import { describe, expect, test, vi } from "vitest";
import { volatileMemory } from "../../src/memory/volatile.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { all, fetchPage, published, Steps, seen } from "../support/memory.ts";

describe("trust and origin", () => {
  test("are the lowest and the first of what justifies a write", async () => {
    await using rath = testRath();
    const asked = rath.session("Always use tabs.");
    const human = asked.messages[0]?.event ?? "";
    const page = await asked.call(fetchPage, {});
    const call = page.calls[0]?.id ?? "";
    const checked = await page.check("style", () => false);
    const judged = checked.checks[0]?.event ?? "";
    const write = async (because: readonly string[] | undefined) =>
      (await checked.fork().remember({ key: "k", content: "c", because })).memory.writes[0];
    expect(await write([human])).toMatchObject({ origin: "human", trust: "trusted", because: [human] });
    expect(await write([call])).toMatchObject({ origin: "tool", trust: "untrusted", because: [call] });
    expect(await write([human, call])).toMatchObject({ origin: "human", trust: "untrusted" });
    expect(await write([judged])).toMatchObject({ origin: "failure", trust: "untrusted" });
    expect(await write(undefined)).toMatchObject({ trust: "untrusted" });
    expect((await asked.fork("before").remember({ key: "k", content: "c" })).memory.writes[0]).toMatchObject({
      origin: "human",
      trust: "trusted",
    });
    await expect(write(["nonsense"])).rejects.toMatchObject({
      code: "value.unsupported",
      message: expect.stringMatching(/no event before/),
    });
  });

  test("a memory made after reading another names it, and is no better", async () => {
    await using rath = testRath();
    const told = await rath.session("x").call(fetchPage, {});
    await rath.memory.publish(await told.remember({ key: "rumour", content: "the sky is green", because: [told.calls[0]?.id ?? ""] }));
    const recalled = await rath.session("y").recall("sky");
    expect(recalled.output[0]).toMatchObject({ key: "rumour", trust: "untrusted", score: expect.any(Number) });
    const read = [...recalled.events()].find(({ kind }) => kind === "recall.returned")?.id ?? "";
    await rath.memory.publish(await recalled.remember({ key: "belief", content: "green", because: [read] }));
    expect(await rath.memory.get("belief")).toMatchObject({ trust: "untrusted", from: ["memory://project/rumour@1"] });
    expect((await all(rath.memory.derivedFrom("rumour"))).map(({ key }) => key)).toEqual(["belief"]);
    expect((await all(rath.memory.derivedFrom(told.calls[0]?.id ?? ""))).map(({ key }) => key)).toEqual(["rumour", "belief"]);
  });

  test("policies refuse to remember and leave out what is recalled, and that is on record", async () => {
    const memory = volatileMemory();
    await using open = testRath({ memory });
    const told = await open.session("x").call(fetchPage, {});
    await open.memory.publish(await told.remember({ key: "rumour", content: "the sky is green" }));
    await using strict = testRath({
      memory,
      policy: {
        memory: { remember: ({ trust }) => trust === "trusted" || "it came from outside", recall: ({ trust }) => trust === "trusted" },
      },
    });
    const recalled = await strict.session("y").recall("sky");
    expect(recalled.output).toEqual([]);
    const returned = [...recalled.events()].find(({ kind }) => kind === "recall.returned");
    expect(returned?.data).toMatchObject({ omitted: [{ item: "memory://project/rumour@1", why: "policy" }] });
    const page = await recalled.call(fetchPage, {});
    const refused = await page.remember({ key: "k", content: "c" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "effect.denied", message: expect.stringMatching(/came from outside/) });
    expect((refused as { session: Session }).session.memory.writes).toEqual([]);
  });
});

describe("replacing", () => {
  test("a policy keeps what is untrusted from replacing or ending what is trusted", async () => {
    const untouched = ({ trust }: { trust: string }, before: { trust: string } | undefined) =>
      trust === "trusted" || before?.trust !== "trusted" || "a person said otherwise";
    await using rath = testRath({ policy: { memory: { remember: untouched } } });
    const taught = await rath.session("Use tabs.").remember({ key: "style", content: "tabs" });
    const told = await taught.call(fetchPage, {});
    const refused = { code: "effect.denied", message: expect.stringMatching(/a person said otherwise/) };
    await expect(told.remember({ key: "style", content: "spaces" })).rejects.toMatchObject(refused);
    await expect(told.fork("f").forget("style", "old")).rejects.toMatchObject(refused);
    const other = await told.fork("g").remember({ key: "other", content: "fine" });
    expect(await seen(other)).toEqual({ style: "tabs", other: "fine" });
    const said = other.say("Spaces, please.");
    const changed = await said.remember({ key: "style", content: "spaces", because: [said.messages.at(-1)?.event ?? ""] });
    expect(await seen(changed)).toEqual({ style: "spaces", other: "fine" });
  });
});

describe("what people do outside a session", () => {
  test("retracting takes back what was made of it, unless it was written anew since; all versions stay", async () => {
    await using rath = testRath();
    const publish = async (session: Session) => rath.memory.publish(session);
    await publish(await rath.session("x").remember({ key: "root", content: "water is dry" }));
    const make = async (query: string, key: string) => {
      const recalled = await rath.session("y").recall(query);
      return publish(await recalled.remember({ key, content: `${key}: ${query} dry` }));
    };
    await make("water", "one");
    await make("one", "two");
    await make("water", "three");
    await publish(await rath.session("fresh").remember({ key: "three", content: "independent" }));
    const decision = { by: "human:ada", reason: "it is wrong" };
    const taken = await rath.memory.retract("root", decision);
    expect(taken.map(({ key, state, by }) => [key, state, by])).toEqual([
      ["root", "retracted", "human:ada"],
      ["one", "retracted", "human:ada"],
      ["two", "retracted", "human:ada"],
    ]);
    expect(await published(rath)).toEqual({ three: "independent" });
    expect((await rath.memory.history("root")).map(({ version, state, reason }) => [version, state, reason])).toEqual([
      [1, "published", undefined],
      [2, "retracted", "it is wrong"],
    ]);
    await expect(rath.memory.retract("root", decision)).rejects.toMatchObject({ code: "memory.not-found" });
  });

  test("rolling back makes memory what it was, as new versions", async () => {
    await using rath = testRath();
    const put = async (key: string, content: string) => rath.memory.publish(await rath.session("w").remember({ key, content }));
    await put("a", "1");
    await put("b", "1");
    const before = await rath.memory.revision();
    const view = await published(rath);
    await put("a", "2");
    await put("c", "1");
    await rath.memory.retract("b", { by: "ada", reason: "old" });
    const written = await rath.memory.rollback(before, { by: "ada", reason: "a mistake" });
    expect(written.map(({ key }) => key).sort()).toEqual(["a", "b", "c"]);
    expect(await published(rath)).toEqual(view);
    expect(await rath.memory.rollback(String(await rath.memory.revision()), { by: "ada", reason: "x" })).toEqual([]);
    await expect(rath.memory.rollback(999, { by: "ada", reason: "x" })).rejects.toMatchObject({ code: "value.unsupported" });
  });

  test("uses name the session, the recall and what was asked", async () => {
    await using rath = testRath();
    await rath.memory.publish(await rath.session("w").remember({ key: "a", content: "tabs, not spaces" }));
    const recalled = await rath.session("x").recall("tabs or spaces?");
    const [use, ...others] = await all(rath.memory.usedBy("a"));
    expect(others).toEqual([]);
    expect(use).toMatchObject({ session: recalled.id, query: "tabs or spaces?", version: 1, injected: false, readBy: [] });
    expect([...recalled.events()].find(({ id }) => id === use?.event)?.kind).toBe("recall.called");
  });

  test("a key that several scopes have must be named by its uri", async () => {
    await using rath = testRath();
    const one = await rath.session("x", { principal: "ada" }).remember({ key: "k", content: "1", scope: "user" });
    const two = await one.remember({ key: "k", content: "2" });
    await rath.memory.publish(two);
    await expect(rath.memory.get("k")).rejects.toMatchObject({ code: "memory.ambiguous", message: expect.stringMatching(/user\/ada\/k/) });
    expect(await rath.memory.get("memory://user/ada/k")).toMatchObject({ content: "1", owner: "ada" });
    const others = rath.session("y", { principal: "bob" });
    expect((await others.recall({ key: "k" })).output.map(({ content }) => content)).toEqual(["2"]);
    await expect(others.remember({ key: "k", content: "x", scope: "agent" })).rejects.toMatchObject({ code: "value.unsupported" });
  });
});

describe("what could go wrong", () => {
  test("secrets enter neither the log nor the memory", async () => {
    await using rath = testRath({ secrets: ["hunter22"], policy: { memory: { publish: "now" } } });
    const session = await rath.session("x").remember({ key: "k", content: { login: "ada", password: "hunter22" } });
    expect(JSON.stringify([...session.events()])).not.toContain("hunter22");
    expect(JSON.stringify(await rath.memory.get("k"))).not.toContain("hunter22");
    expect(session.memory.writes[0]?.value).toMatchObject({ login: "ada" });
  });

  test("a memory store that fails is visible in the effect, and at the end of a run", async () => {
    const memory = volatileMemory();
    const broken = { ...memory, search: () => Promise.reject(new Error("the disk is full")) };
    await using rath = testRath({ memory: broken });
    const failed = await rath
      .session("x")
      .recall("anything")
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "effect.failed", message: expect.stringMatching(/disk is full/) });
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    await using other = testRath({ memory: { ...memory, write: () => Promise.reject(new Error("no space")) } });
    const done = await new Steps((session) => session.remember({ key: "k", content: "c" })).forward(other.session("x"));
    expect(warned.mock.calls.flat().join(" ")).toMatch(/could not be published: no space/);
    warned.mockRestore();
    expect(done.memory.writes).toHaveLength(1);
  });

  test("a run that dies after publishing and before its end publishes once", async () => {
    const store = memoryStore();
    const memory = volatileMemory();
    let dying = true;
    const workflow = new Steps((session) => session.remember({ key: "k", content: "c" }));
    const rough = {
      ...store,
      append: async (write: Parameters<typeof store.append>[0]) => {
        const ends = write.run?.status === "done";
        if (dying && ends) throw new Error("power cut");
        return store.append(write);
      },
    };
    const one = testRath({ store: rough as never, memory, workflows: { work: workflow } });
    const run = await one.run("work", one.session("x"));
    await run.result().catch(() => {});
    expect(await memory.revision()).toBe(1);
    dying = false;
    await using two = testRath({ store, memory, workflows: { work: workflow } });
    const again = await two.resume(run.id);
    await again.result();
    expect(await memory.revision()).toBe(1);
    expect(await published(two)).toEqual({ k: "c" });
    await one.close().catch(() => {});
  });
});

test("what is rolled back is found by its vector again (mutant: a decision writes a version without the vector)", async () => {
  const embed = async (texts: readonly string[]) => ({
    vectors: texts.map((text) => Float32Array.from(/dog|puppy/.test(text) ? [1, 0] : [0, 1])),
    tokens: undefined,
  });
  await using rath = testRath({ memory: volatileMemory({ embedder: { id: "test/pets", embed } }) });
  const session = await rath.session("Go.").remember({ key: "pet", content: "a dog", publish: "now" });
  const before = await rath.memory.revision();
  await session.remember({ key: "pet", content: "a stone", publish: "now" });
  expect(await rath.memory.search("puppy")).toEqual([]);
  await rath.memory.rollback(before, { by: "ada", reason: "a mistake" });
  expect(await rath.memory.search("puppy")).toMatchObject([{ key: "pet", content: "a dog", version: 3 }]);
});

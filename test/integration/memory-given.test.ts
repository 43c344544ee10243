/** What memory and context are given wrongly is refused by name: ignored, it would not be done, in silence. */
import { describe, expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.ts";
import { Compressor } from "../../src/agent/compressor.ts";
import { Extractor } from "../../src/agent/extractor.ts";
import { sqliteMemory } from "../../src/memory/sqlite.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { scripted } from "../../src/model/scripted.ts";
import { openrath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { rerun } from "../../src/runtime/rerun.ts";
import type { Remembered } from "../../src/session/memory.ts";
import { hashEmbedder } from "../../src/testing/hash-embedder.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { memoryTools } from "../../src/tool/builtin/memory.ts";
import { all } from "../support/memory.ts";

async function teach(rath: Rath, item: Remembered): Promise<void> {
  await rath.memory.publish(await rath.session("x").remember(item));
}

const decision = { by: "human:ada", reason: "it changed" };

describe("what is made", () => {
  test.each<readonly [string, () => unknown, RegExp]>([
    ["volatileMemory", () => volatileMemory({ embeder: hashEmbedder() } as never), /volatileMemory\.embeder is not known/],
    ["sqliteMemory", () => sqliteMemory("never.db", { projekt: "a" } as never), /sqliteMemory\.projekt is not known/],
    ["sqliteMemory", () => sqliteMemory(undefined as never), /the path of sqliteMemory is undefined/],
    [
      "an embedder that is none",
      () => volatileMemory({ embedder: { id: "mine" } as never }),
      /embedder is an object: give .*{ id, embed }/,
    ],
    ["an embedder by a bad name", () => volatileMemory({ embedder: "ada" as never }), /embedder is "ada"/],
    ["memoryTools", () => memoryTools({ scop: "user" } as never), /memoryTools\.scop is not known/],
    ["memoryTools", () => memoryTools({ scope: "everybody" as never }), /memoryTools\.scope is "everybody"/],
    ["memoryTools", () => memoryTools({ limit: 0 }), /memoryTools\.limit is 0/],
    ["memoryTools", () => memoryTools({ tokens: 0 }), /memoryTools\.tokens is 0/],
    ["Compressor", () => new Compressor({ polcy: "full" } as never), /Compressor "compressor" has an option "polcy"/],
    ["Compressor", () => new Compressor({ policy: { window: 9 }, modle: "a/b" } as never), /an option "modle"/],
    ["Compressor", () => new Compressor({ policy: { summariseAt: 9 }, model: 4 as never }), /a model that is none \(4\)/],
    ["Compressor", () => new Compressor({ policy: { windw: 9 } as never }), /context\.windw without window/],
    ["Extractor", () => new Extractor({ model: "a/b", acept: "all" } as never), /Extractor has an option "acept"/],
    ["openrath", () => openrath({ memory: "memory.db" as never }), /memory is no memory store: give sqliteMemory\(path\)/],
    ["a policy", () => openrath({ policy: { memory: true as never } }), /policy\.memory is a boolean/],
    ["a policy", () => openrath({ policy: { memory: { remembr: () => false } as never } }), /policy\.memory\.remembr is not known/],
    ["a policy", () => openrath({ policy: { memory: { publish: "soon" as never } } }), /policy\.memory\.publish is "soon"/],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
  });
});

describe("what is asked", () => {
  test("of a session", async () => {
    await using rath = testRath();
    const session = rath.session("x");
    await expect(session.recall(undefined as never)).rejects.toThrow(/recall\.query is undefined: give words, { key }/);
    await expect(session.remember("npm test" as never)).rejects.toThrow(/what to remember is a string: give { key, content }/);
    await expect(session.remember({ content: "c" } as never)).rejects.toThrow(/remember\.key is undefined/);
    for (const publish of [{ chek: "a" }, { check: "a", chek: "b" }])
      await expect(session.remember({ key: "k", content: "c", publish: publish as never })).rejects.toThrow(/remember\.publish\.chek/);
    await expect(session.remember({ key: "k", content: "c", publish: { check: "" } })).rejects.toThrow(/remember\.publish is an object/);
    await expect(session.remember({ key: "k", content: "c", scope: "agent" })).rejects.toThrow(/in no agent\. Use it inside one/);
    await expect(session.remember({ key: "k", content: "c", expires: "0d" })).rejects.toThrow(/remember\.expires is no time at all/);
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    await expect(session.remember({ key: "k", content: { a: [1, Number.NaN] } })).rejects.toThrow(/remember\.content\.a\.1 is NaN/);
    await expect(session.remember({ key: "k", content: [undefined] })).rejects.toThrow(/remember\.content\.0 is undefined/);
    await expect(session.remember({ key: "k", content: circle })).rejects.toThrow(/holds itself/);
  });

  test("outside of one", async () => {
    await using rath = testRath();
    await teach(rath, { key: "k", content: "tests are run with npm" });
    const { memory } = rath;
    await expect(memory.search("npm", { limt: 3 } as never)).rejects.toThrow(/search\.limt is not known/);
    await expect(memory.search("npm", { asOf: 99 })).rejects.toThrow(/search\.asOf is 99: give a revision from 0 to 1/);
    await expect(memory.search("npm", { trust: "yes" as never })).rejects.toThrow(/search\.trust is "yes"/);
    await expect(all(memory.list({ state: "publishd" as never }))).rejects.toThrow(/list\.state is "publishd"/);
    await expect(all(memory.list({ asOf: -1 }))).rejects.toThrow(/list\.asOf is -1/);
    await expect(memory.retract("k", undefined as never)).rejects.toThrow(/options of retract are undefined/);
    await expect(memory.retract("k", { ...decision, becuse: "x" } as never)).rejects.toThrow(/retract\.becuse is not known/);
    await expect(memory.rollback(0, { by: "human:ada", reason: " " })).rejects.toThrow(/rollback\.reason is empty/);
    expect((await memory.get("k"))?.version).toBe(1);
  });
});

test("a rule that does not answer at once lets nothing through", async () => {
  for (const remember of [async () => false, () => undefined]) {
    await using rath = testRath({ policy: { memory: { remember: remember as never } } });
    await expect(rath.session("x").remember({ key: "k", content: "c" })).rejects.toThrow(
      /policy\.memory\.remember gave (a promise|undefined)/,
    );
  }
  await using rath = testRath({ policy: { memory: { recall: (async () => false) as never } } });
  await teach(rath, { key: "k", content: "tests" });
  await expect(rath.session("x").recall("tests")).rejects.toThrow(/policy\.memory\.recall gave a promise: return true or false, at once/);
});

test("which memory a rerun reads is said by its name", async () => {
  await using rath = testRath();
  const agent = new Agent({ model: scripted("hi") });
  const session = await agent.forward(rath.session("x"));
  await expect(rerun(session, agent, { memory: "newest" as never })).rejects.toThrow(
    /rerun\.memory is "newest": give "recorded" or "latest"/,
  );
});

test("an Extractor is called what it is found under, or by its name", async () => {
  await using rath = testRath();
  const by = async (options: object) => {
    const learn = new Extractor({ model: scripted({ output: { proposals: [] } }), ...options });
    const learned = await learn.forward(rath.session("x"));
    return [...learned.events()].find(({ kind }) => kind === "do.called")?.by;
  };
  expect(await by({})).toBe("extractor");
  expect(await by({ name: "learn" })).toBe("learn");
  expect(() => new Extractor({ model: "a/b", name: 3 as never })).toThrow(/Extractor has a name that is no text/);
});

test("a search takes what a recall takes: scopes, trust and origin", async () => {
  await using rath = testRath();
  await teach(rath, { key: "ours", content: "tests are run with npm" });
  await teach(rath, { key: "mine", content: "tests are run with npm", scope: "user" });
  const keys = async (options: Parameters<typeof rath.memory.search>[1]) =>
    (await rath.memory.search("npm", options)).map(({ key }) => key).sort();
  expect(await keys({})).toEqual(["mine", "ours"]);
  expect(await keys({ scope: ["user"] })).toEqual(["mine"]);
  expect(await keys({ scope: ["user", "project"], trust: "trusted", origin: "human" })).toEqual(["mine", "ours"]);
  expect(await keys({ origin: "tool" })).toEqual([]);
});

test("a version names its history, and is taken back only while it is the newest", async () => {
  await using rath = testRath();
  const first = await rath.session("x").remember({ key: "k", content: "one" });
  await rath.memory.publish(first);
  await rath.memory.publish(await first.remember({ key: "k", content: "two" }));
  const uri = "memory://project/k";
  expect((await rath.memory.history(`${uri}@1`)).map(({ version }) => version)).toEqual([1, 2]);
  await expect(rath.memory.retract(`${uri}@1`, decision)).rejects.toMatchObject({
    code: "memory.changed",
    message: `${uri}@1 is not the newest version: it is at 2 (published). Take back ${uri} if that is meant.`,
  });
  expect((await rath.memory.retract(`${uri}@2`, decision)).map(({ version, state }) => [version, state])).toEqual([[3, "retracted"]]);
});

test("what an embedder gives is looked at, and one that cannot be found is named before anything is spent", async () => {
  const plain = { id: "mine/plain", embed: async () => ({ vectors: [[1, 2]] }) };
  await using rath = testRath({ memory: volatileMemory({ embedder: plain as never }) });
  await rath.ready();
  await expect(rath.session("x").remember({ key: "k", content: "c" })).rejects.toThrow(/mine\/plain gave no vector: embed must give/);
  await using other = testRath({ memory: volatileMemory({ embedder: "nobody/knows" }) });
  await expect(other.ready()).rejects.toThrow(/There is no model "nobody\/knows"\. Known prefixes: .* Give a name with one of them/);
});

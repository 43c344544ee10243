/** What docs/parity.md says of memory and compression, where no other test shows it. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { Agent, Compressor, Extractor, openrath, RathError, type Session, scripted, why } from "../../src/index.ts";
import { sqliteMemory } from "../../src/memory/sqlite.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { hashEmbedder, testRath } from "../../src/testing/testing.ts";
import { builtDoor } from "../support/built.ts";
import { all } from "../support/memory.ts";

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "openrath-parity-memory-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "none",
    (error: unknown) => (RathError.is(error) ? error.code : String(error)),
  );

describe("memory", () => {
  test("is remembered, updated, read, recalled, listed, searched, extracted and forgotten, each under its uri; each failure has a name", async () => {
    await using rath = openrath({ store: join(await folder(), "store.db"), implicitForks: "allow" });
    let session: Session = rath.session("Ada uses vim and deploys on Mondays.", { principal: "ada" });
    session = await session.remember({ key: "editor", content: "emacs", scope: "user" });
    session = await session.remember({ key: "editor", content: "vim", scope: "user" });
    session = await session.remember({ key: "deploys", content: { day: "Monday" } });
    session = await session.remember({ key: "draft", content: "Only here.", scope: "session" });
    expect((await session.recall({ key: "editor" })).output).toMatchObject([{ content: "vim", version: 2, state: "staged" }]);
    expect((await session.recall("which day are deploys?", { scope: "project" })).output).toMatchObject([
      { key: "deploys", value: { day: "Monday" }, score: expect.any(Number) },
    ]);
    const proposals = { output: { proposals: [{ key: "weekday", content: "Deploys happen on Mondays.", evidence: ["m1"] }] } };
    const extracted = await new Extractor({ model: scripted(proposals), accept: "all" }).forward(session);
    expect(extracted.output).toMatchObject([{ key: "weekday", accepted: true, because: [session.messages[0]?.event] }]);
    await rath.memory.publish(extracted);
    expect((await all(rath.memory.list())).map(({ uri }) => uri).sort()).toEqual([
      "memory://project/deploys",
      "memory://project/weekday",
      `memory://session/${session.id}/draft`,
      "memory://user/ada/editor",
    ]);
    expect((await rath.memory.search("deploys")).map(({ key }) => key).sort()).toEqual(["deploys", "weekday"]);
    await rath.memory.publish(await extracted.forget("weekday", "it is said twice"));
    expect(await rath.memory.get("weekday")).toMatchObject({ state: "retracted", version: 2, reason: "it is said twice" });
    const decision = { by: "human:ada", reason: "x" };
    expect({
      missing: await codeOf(rath.memory.why("nothing")),
      retracted: await codeOf(rath.memory.retract("weekday", decision)),
      revision: await codeOf(rath.memory.rollback(99, decision)),
      owner: await codeOf(rath.session("x").remember({ key: "k", content: "c", scope: "agent" })),
      evidence: await codeOf(rath.session("x").remember({ key: "k", content: "c", because: ["nonsense"] })),
      forgotten: await codeOf(rath.session("x").forget("nothing", "x")),
    }).toEqual({
      missing: "memory.not-found",
      retracted: "memory.not-found",
      revision: "value.unsupported",
      owner: "value.unsupported",
      evidence: "value.unsupported",
      forgotten: "effect.failed",
    });
  });

  test("of an agent is the same store in the next process, without anything being named", async () => {
    const home = await folder();
    const root = await builtDoor();
    const program = (reply: string, message: string) => `
      const { Agent, openrath, scripted } = await import(${JSON.stringify(root)});
      const rath = openrath();
      const agent = new Agent({ model: scripted(...${reply}), memory: { remember: "tool" } });
      const done = await (await rath.run(agent, rath.session(${JSON.stringify(message)}))).result();
      console.log(JSON.stringify([process.pid, done.memory.reads.map(({ key, content, recall }) => [key, content, recall.injected])]));
      await rath.close();
    `;
    const start = async (reply: string, message: string): Promise<readonly [number, unknown]> => {
      const args = ["--input-type=module", "-e", program(reply, message)];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: home, env: { PATH: process.env["PATH"] } });
      return JSON.parse(stdout) as readonly [number, unknown];
    };
    const remember = `[{ calls: [{ tool: "remember", input: { key: "port", content: "The server listens on port 4711." } }] }, "Noted."]`;
    const [first, nothing] = await start(remember, "The server listens on port 4711.");
    const [second, recalled] = await start(`["It is 4711."]`, "Which port does the server listen on?");
    expect(second).not.toBe(first);
    expect([nothing, recalled]).toEqual([[], [["port", "The server listens on port 4711.", true]]]);
  });

  const texts = {
    zh: ["数据库迁移需要先备份", "怎样备份数据库"],
    ja: ["テストは毎晩実行されます", "テストはいつ"],
    ko: ["배포는 월요일에 합니다", "배포는 언제"],
    ru: ["Сборка занимает десять минут", "сколько занимает сборка"],
    fr: ["Le déploiement échoue après minuit", "deploiement"],
    code: ["parseDate in src/parser.ts reads UTC", "parser.ts"],
  };
  test.each(["sqlite", "volatile"])("is found by words of any script, and what matches nothing is not found (%s)", async (kind) => {
    const memory = kind === "sqlite" ? sqliteMemory(join(await folder(), "memory.db")) : volatileMemory();
    await using rath = testRath({ memory });
    let session: Session = rath.session("x");
    for (const [key, [content]] of Object.entries(texts)) session = await session.remember({ key, content });
    await rath.memory.publish(session);
    for (const [key, [, query]] of Object.entries(texts)) {
      const found = (await rath.session("y").recall(query ?? "")).output;
      expect(found[0]?.key, query).toBe(key);
      for (const { score } of found) expect(score).toBeGreaterThan(0);
    }
    for (const query of ["天气", "weather", "погода", "🦄", "%", '"', "OR NOT"])
      expect((await rath.session("z").recall(query)).output, query).toEqual([]);
  });

  test.each(["sqlite", "volatile"])("is found by vectors too, where an embedder is given; which one is on record (%s)", async (kind) => {
    const options = { embedder: hashEmbedder() };
    const memory = kind === "sqlite" ? sqliteMemory(join(await folder(), "memory.db"), options) : volatileMemory(options);
    await using rath = testRath({ memory });
    const written = await rath.session("x").remember({ key: "deploys", content: "deployments happen every Monday" });
    await rath.memory.publish(await written.remember({ key: "lunch", content: "soup at noon" }));
    // No word in common: words alone find nothing.
    const recalled = await rath.session("y").recall("redeploymentz", { limit: 1 });
    expect(recalled.output.map(({ key }) => key)).toEqual(["deploys"]);
    const [returned] = [...recalled.events()].flatMap((event) => (event.kind === "recall.returned" ? [event.data] : []));
    expect(returned).toMatchObject({ embedder: hashEmbedder().id });
  });
});

describe("compression", () => {
  test("a summary is made in a session of its own: its lineage, what it read and what it cost are on record", async () => {
    await using rath = testRath();
    const talk = new Agent({ model: scripted("First answer.", "Second answer.") });
    const long = await talk.forward((await talk.forward(rath.session("First question."))).say("Second question."));
    const summary = scripted({ text: "They talked.", usage: { input: 40, output: 5 } });
    const shorter = new Compressor({ policy: { summariseAt: 999, keep: 0 }, model: summary });
    const short = await shorter.forward(long.say("Third question."));
    const [compression] = short.compressions;
    expect([short.text, compression?.replacedBy, compression?.usage?.input]).toEqual(["They talked.", "They talked.", 40]);
    expect(short.usage.input - long.usage.input).toBe(40);
    const asked = [...short.events()].find(({ kind, by }) => kind === "model.called" && by === "compressor/summary");
    const own = await rath.open(asked?.session ?? "");
    expect(own.id).not.toBe(short.id);
    expect(own.lineage).toMatchObject({ kind: "fork", parents: [expect.any(String)] });
    expect([...short.events()].map(({ id }) => id)).toContain(own.lineage.parents[0]);
    expect((await own.request()).messages.map((message) => JSON.stringify(message)).join("")).toMatch(/First question.*Second answer/);
    // What was said stays, and whoever asks is led to it.
    expect(short.messages.filter(({ role }) => role === "user").map(({ text }) => text)).toEqual([
      "First question.",
      "Second question.",
      "Third question.",
    ]);
    const { hops } = await why(short, { event: compression?.event ?? "" });
    expect(hops.map(({ event }) => event.id)).toEqual(expect.arrayContaining([...(compression?.dropped ?? []), asked?.id]));
  });
});

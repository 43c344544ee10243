import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { contentsOf } from "../../test/support/contents.ts";
import { blame, write } from "../audit/audit.ts";
import { verify } from "../audit/verify.ts";
import { Agent, Workflow } from "../index.ts";
import { volatileMemory } from "../memory/volatile.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { collect } from "../testing/store-case.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { replay } from "./replay.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-erase-"));
afterAll(() => rmSync(folder, { recursive: true }));

const put = tool({
  name: "put",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string().optional(), from: z.string().optional() }),
  writes: "files",
  run: ({ path, text = "" }, { sandbox }) => sandbox.write(path, text),
});
const who = { by: "human:ada", reason: "asked to" };
/** The store outlives the Raths on it. */
const lasting = (store: Store): Store => ({ ...store, [Symbol.asyncDispose]: async () => {} });
const intact = { ok: true, problems: [] };

class Greet extends Workflow {
  override async forward(session: Session): Promise<Session> {
    return session.do("greet", () => "hello, this is a long enough greeting");
  }
}

describe("erase", () => {
  test("takes what a session says, keeps its envelopes, and the record verifies", async () => {
    await using rath = testRath();
    const session = await rath.session("My PIN is 4711", { title: "Private" }).do("greet", () => "hello");
    const report = await rath.erase({ session }, who);
    expect(report).toMatchObject({ dryRun: false, shared: [], left: [], sessions: [session.id] });
    expect(report.events).toHaveLength(4);
    expect(session.messages.map(({ text }) => text)).toEqual(["[erased]"]);
    expect(() => session.output).toThrowError(expect.objectContaining({ code: "event.erased" }));
    const opened = await rath.open(session.id);
    const [entry] = report.entries;
    expect(await verify(opened)).toMatchObject({
      ...intact,
      erased: 4,
      erasures: [{ entry, by: "human:ada", reason: "asked to", events: 4 }],
    });
    expect((await rath.erase({ session }, who)).events).toEqual([]);
    const more = await opened.say("Go on").do("more", () => 1);
    expect(more.messages.map(({ text }) => text)).toEqual(["[erased]", "Go on"]);
    expect(await verify(more)).toMatchObject(intact);
  });

  test("names the branches that share what goes, and what still says the same", async () => {
    await using rath = testRath();
    const long = "a sentence that is long enough to tell".repeat(200);
    const session = await rath.session(long).do("work", () => 1);
    const fork = await session.fork("b").do("more", () => 2);
    await rath.save(session.at(1).fork("from before it was said").say("something else"));
    const copy = await rath.session(long).do("other", () => 3);
    const detached = await rath.save(fork.detach().say("on its own"));
    const merged = await rath.save(await copy.fork().merge(detached));
    const message = [...session.events()].find(({ kind }) => kind === "message.added");
    const report = await rath.erase({ events: [message?.id ?? ""] }, who);
    expect([...report.shared].sort()).toEqual([fork.id, detached.id, merged.id].sort());
    expect(report.blobs).toEqual([]);
    expect(report.left).toEqual([
      { what: "blob", id: expect.any(String), why: expect.stringMatching(/^event [0-9a-f]{64} still names it$/) },
    ]);
    expect(copy.messages[0]?.text).toBe(long);
    for (const one of [session, fork, detached, merged, copy]) expect(await verify(await rath.open(one.id))).toMatchObject(intact);
    expect(fork.messages[0]?.text).toBe("[erased]");
    expect((await rath.erase({ session: copy }, who)).blobs).toHaveLength(1);
  });

  test("by person and by tag takes their sessions, forks included, and no others", async () => {
    await using rath = testRath();
    const hers = await rath.session("hers", { principal: "p1" }).do("a", () => 1);
    const fork = await hers.fork().do("b", () => 2);
    const tagged = await rath.session("tagged", { tags: ["x"], principal: "p2" }).do("c", () => 3);
    const other = await rath.session("other", { principal: "p2" }).do("d", () => 4);
    expect([...(await rath.erase({ principal: "p1" }, who)).sessions].sort()).toEqual([hers.id, fork.id].sort());
    expect((await rath.erase({ tag: "x" }, who)).sessions).toEqual([tagged.id]);
    expect(other.messages[0]?.text).toBe("other");
    expect(await verify(fork)).toMatchObject(intact);
  });

  test("of a text says which runs have it in their keys, which stay", async () => {
    await using rath = testRath({ workflows: { greet: new Greet() } });
    const one = await rath.run("greet", rath.session("one"), { key: "order of Ann Smith" });
    const two = await rath.run("greet", rath.session("Ann Smith"), { key: "second order" });
    const [first, second] = [(await one.settle()).session, (await two.settle()).session];
    const why = expect.stringMatching(/^its key holds the text/);
    for (const target of [{ matching: "Ann Smith" }, { session: first, matching: "Ann Smith" }]) {
      const { left, events } = await rath.erase(target, { ...who, dryRun: true });
      expect(left.filter(({ what }) => what === "run")).toEqual([{ what: "run", id: one.id, why }]);
      expect(events).toHaveLength("session" in target ? 0 : 1);
    }
    const elsewhere = await rath.erase({ session: second, matching: "Ann Smith" }, who);
    expect(elsewhere.left).toEqual([{ what: "event", id: expect.any(String), why: "it holds the text too" }]);
    expect((await rath.erase({ matching: "Ann Smith" }, who)).left).toContainEqual({ what: "run", id: one.id, why });
    // It is still found by its key.
    const again = rath.run("greet", rath.session("other"), { key: "order of Ann Smith" });
    await expect(again).rejects.toMatchObject({ code: "run.key-reused", details: { run: one.id } });
  });

  test("of a text takes every event, blob, memory and file that holds it, and leaves the rest of the files", async () => {
    await using rath = testRath();
    let session: Session = await rath.session("The PIN is 4711, keep it").to("memory").call(put, { path: "a/ok.txt", text: "fine" });
    session = await session.do("read", () => ({ pin: 4711, long: "4711 ".repeat(2000) }));
    session = await session.call(put, { path: "a/pin.txt", text: "secret 4711\n" });
    session = await session.remember({ key: "door", content: "opens with 4711", publish: "now" });
    session = await session.remember({ key: "lamp", content: "is bright", publish: "now" });
    const kept = session.files.hash;
    const would = await rath.erase({ session, matching: "4711" }, { ...who, dryRun: true });
    expect(would).toMatchObject({ files: [{ path: "a/pin.txt" }], memories: ["memory://project/door@1"] });
    expect(would.left).toEqual([
      { what: "blob", id: would.files[0]?.blob, why: expect.stringMatching(/"a\/pin.txt" has only 12 bytes, which can be guessed/) },
    ]);
    expect(session.messages[0]?.text).toContain("4711");
    const report = await rath.erase({ session, matching: "4711" }, who);
    expect(report.events).toEqual(would.events);
    expect(report.blobs).toHaveLength(2);
    const opened = await rath.open(session.id);
    for (const one of [session, opened]) {
      expect(await one.files.text("a/ok.txt")).toBe("fine");
      await expect(one.files.text("a/pin.txt")).rejects.toMatchObject({
        code: "event.erased",
        message: expect.stringContaining("a/pin.txt"),
      });
      await expect(blame(one, "a/pin.txt")).rejects.toMatchObject({ code: "event.erased" });
      expect(await one.files.patch()).toContain("# a/pin.txt: content was erased (12 bytes)");
      expect(one.files.hash).toBe(kept);
    }
    expect(contentsOf(JSON.stringify([...opened.events()]))).not.toContain("4711");
    expect((await rath.memory.search("opens 4711")).map(({ key }) => key)).toEqual([]);
    expect((await rath.memory.search("bright")).map(({ key }) => key)).toEqual(["lamp"]);
    expect(await rath.memory.get("door")).toMatchObject({ content: "", erased: report.entries[0], by: expect.any(String) });
    expect(await verify(opened)).toMatchObject(intact);
    const target = mkdtempSync(join(folder, "apply-"));
    await opened.apply(target);
    expect(readdirSync(join(target, "a"))).toEqual(["ok.txt"]);
    const after = await opened.call(put, { path: "b.txt", text: "goes on" });
    expect(await collect(after.files.list())).toEqual(["a/ok.txt", "a/pin.txt", "b.txt"]);
    expect(await verify(after)).toMatchObject(intact);
    await write(after, join(folder, "words.jsonl"));
    await using other = testRath();
    const imported = await other.import(join(folder, "words.jsonl"));
    expect(await imported.files.text("a/ok.txt")).toBe("fine");
    expect(await verify(imported)).toMatchObject(intact);
    // The erasure log that came with it is not continued by what is erased here.
    await other.erase({ session: imported }, who);
    expect(await verify(await other.open(imported.id))).toMatchObject(intact);
    await other.import(join(folder, "words.jsonl"));
  });

  test("of a text in the whole project leaves nothing of it; of one session it lists who else holds it", async () => {
    const store = memoryStore();
    await using rath = testRath({ store: lasting(store) });
    const one = await rath.session("Ann Smith wrote").do("note", () => "by Ann Smith");
    const two = await rath.session("Ask Ann Smith").do("x", () => 1);
    const report = await rath.erase({ session: one, matching: "Ann Smith" }, who);
    expect(report.left).toEqual([{ what: "event", id: expect.any(String), why: "it holds the text too" }]);
    expect(two.messages[0]?.text).toBe("Ask Ann Smith");
    expect((await rath.erase({ matching: "Ann Smith" }, who)).events).toEqual([report.left[0]?.id]);
    for (const { id } of await collect(store.sessions({})))
      for (const event of await collect(store.events({ session: id })))
        expect(Buffer.from(event.data ?? "").toString()).not.toContain("Smith");
  });

  test("takes memories made of what goes, and lists where they were recalled", async () => {
    await using rath = testRath();
    const source = await rath
      .session("The code of the garage is long and secret")
      .remember({ key: "garage", content: "the code of the garage", publish: "now" });
    const reader = await rath.session("What is the code?").recall("garage code");
    const derived = await reader.remember({ key: "codes", content: "there is a garage code", publish: "now" });
    const report = await rath.erase({ session: source }, who);
    expect(report.memories).toEqual(["memory://project/garage@1", "memory://project/codes@1"]);
    expect(report.left.some(({ why }) => why === `it recalled memory://project/garage@1 in session ${reader.id}`)).toBe(true);
    expect(await rath.memory.search("garage")).toEqual([]);
    expect(await verify(derived)).toMatchObject(intact);
    await expect(rath.erase({ memories: ["memory://project/none"] }, who)).rejects.toMatchObject({ code: "memory.not-found" });
  });

  test("refuses while a run is open on it, and says which", async () => {
    class Asks extends Workflow {
      override forward(session: Session): Promise<Session> {
        return session.ask("May I?", z.string());
      }
    }
    await using rath = testRath({ workflows: { asks: new Asks() } });
    const session = await rath.save(rath.session("Begin"));
    const run = await rath.run("asks", session);
    await run.settle();
    await expect(rath.erase({ session: session.id }, who)).rejects.toMatchObject({
      code: "erase.refused",
      details: { run: run.id, status: "waiting" },
    });
    await rath.run("asks", session.fork());
    await run.cancel("enough");
    await run.settle();
    await expect(rath.erase({ session: session.id }, who)).rejects.toMatchObject({ code: "erase.refused" });
  });

  test("a run that was erased cannot be replayed or executed again, which is said", async () => {
    await using rath = testRath({ workflows: { greet: new Greet() } });
    const run = await rath.run("greet", rath.session("Hello, I am somebody"));
    const { session } = await run.settle();
    expect(await replay(session, new Greet())).toMatchObject({ identical: true });
    await rath.erase({ session }, who);
    await expect(replay(session, new Greet())).rejects.toMatchObject({ code: "event.erased" });
    await expect(replay(await rath.open(session.id), new Greet())).rejects.toMatchObject({ code: "event.erased" });
    expect((await (await rath.attach(run.id)).settle()).status).toBe("done");
    expect(await verify(session)).toMatchObject({ ...intact, unsigned: 0 });
  });

  test("that was interrupted is found by verify, and finished by the next one or by gc", async () => {
    for (const finish of ["gc", "erase"] as const) {
      const store = memoryStore();
      const memory = volatileMemory();
      const torn: Store = { ...lasting(store), erase: () => Promise.reject(new Error("killed")) };
      const long = "some long content ".repeat(400);
      await using dying = openrath({ store: torn, memory: { ...memory, [Symbol.asyncDispose]: async () => {} } });
      const session = await dying.session(long).do("work", () => 1);
      await expect(dying.erase({ session }, who)).rejects.toThrow("killed");
      await using rath = openrath({ store: lasting(store), memory });
      const opened = await rath.open(session.id);
      const { ok, problems } = await verify(opened);
      expect(ok).toBe(false);
      expect(problems.filter(({ problem }) => problem.includes("was begun and not finished"))).toHaveLength(4);
      if (finish === "gc") expect((await rath.gc()).finished).toHaveLength(1);
      else await rath.erase({ session: await rath.save(rath.session("another")) }, who);
      expect(await verify(await rath.open(session.id))).toMatchObject({ ...intact, erased: 4 });
      expect((await rath.gc()).finished).toEqual([]);
    }
  });

  test("says what of memory was written between the look and the removal", async () => {
    const store = lasting(memoryStore());
    const memory = { ...volatileMemory(), [Symbol.asyncDispose]: async () => {} };
    await using other = testRath({ store, memory });
    const slow = async (versions: readonly { uri: string; version: number }[], entry: string): Promise<void> => {
      const late = await other.session("s").remember({ key: "late", content: "the PIN is 4711", publish: "now" });
      await other.save(await late.remember({ key: "lamp", content: "bright", publish: "now" }));
      await memory.erase?.(versions, entry);
    };
    await using rath = testRath({ store, memory: { ...memory, erase: slow } });
    await rath.session("s").remember({ key: "door", content: "it opens with 4711", publish: "now" });
    const report = await rath.erase({ matching: "4711" }, who);
    expect(report.memories).toEqual(["memory://project/door@1"]);
    const why = "it was written meanwhile: erase once more";
    expect(report.left.filter(({ what }) => what === "memory")).toEqual([{ what: "memory", id: "memory://project/late@1", why }]);
    expect((await rath.erase({ matching: "4711" }, who)).memories).toEqual(["memory://project/late@1"]);
  });

  test("never says of a memory that it went where the memory store cannot erase", async () => {
    const { erase, ...memory } = volatileMemory();
    expect(erase).toBeDefined();
    await using rath = testRath({ memory });
    const session = await rath.session("s").remember({ key: "door", content: "it opens with 4711", publish: "now" });
    await expect(rath.erase({ memories: ["memory://project/door"] }, who)).rejects.toMatchObject({ code: "erase.unsupported" });
    const report = await rath.erase({ session }, who);
    expect(report.memories).toEqual([]);
    const why = "this memory store cannot erase: remove it there";
    expect(report.left.filter(({ what }) => what === "memory")).toEqual([{ what: "memory", id: "memory://project/door@1", why }]);
  });

  test("several at once give one chain of entries, and each event names one that lists it", async () => {
    const store = memoryStore();
    const shared = lasting(store);
    await using one = testRath({ store: shared });
    await using two = testRath({ store: shared });
    const sessions = await Promise.all(Array.from({ length: 6 }, (_, i) => one.session(`session ${i}`).do("work", () => i)));
    await Promise.all(sessions.flatMap((session) => [one.erase({ session: session.id }, who), two.erase({ session: session.id }, who)]));
    for (const { id } of sessions) expect(await verify(await two.open(id))).toMatchObject({ ...intact, erased: 4 });
    expect(await collect(store.sessions({ log: "erasure" }))).toHaveLength(1);
  });

  test("refuses what cannot be meant", async () => {
    await using rath = testRath();
    const session = await rath.session("text").do("a", () => 1);
    const signed = "0".repeat(64);
    const bad: [object, object][] = [
      [{}, who],
      [{ session, tag: "x" }, who],
      [{ events: [] }, who],
      [{ events: [7] }, who],
      [{ matching: "" }, who],
      [{ matching: "x" }, who],
      [{ matching: "  7 " }, who],
      [{ tag: "x", matching: "text" }, who],
      [{ sesion: session }, who],
      [{ session }, { by: "ada", reason: " " }],
      [{ session }, { reason: "r" }],
      [{ session }, { by: "a\0b", reason: "r" }],
      [{ matching: "4711" }, { by: "ada", reason: "PIN 4711 was pasted" }],
      [{ session }, { ...who, dryRun: "no" }],
      [{ session: 7 }, who],
    ];
    for (const [target, options] of bad)
      await expect(rath.erase(target as never, options as never), JSON.stringify([target, options])).rejects.toMatchObject({
        code: "value.unsupported",
      });
    await expect(rath.erase({ events: [signed] }, who)).rejects.toMatchObject({ code: "event.invalid" });
    await expect(rath.erase({ session: "ffff" }, who)).rejects.toMatchObject({ code: "session.not-found" });
    expect(session.messages[0]?.text).toBe("text");
  });
});

describe("the files of a SQLite store and its memory", () => {
  test("hold nothing of what was erased", async () => {
    const home = mkdtempSync(join(folder, "home-"));
    const store = join(home, "store.db");
    await using rath = openrath({ store });
    const marker = "Zaphod-Beeblebrox-4711";
    let session: Session = rath.session(`I am ${marker}`, { title: marker });
    for (let i = 0; i < 5; i++) session = await session.say(`ordinary ${i}`).do("work", () => `${marker} ${"x".repeat(i * 900)}`);
    session = await session.remember({ key: "who", content: `the user is ${marker} Trillian`, publish: "now" });
    const agent = new Agent({ name: "a", model: scripted({ text: "ok" }), instructions: `Serve ${marker}.` });
    session = await agent.forward(session.to("memory"));
    session = await session.call(put, { path: "f", text: `${marker} in a file` });
    await rath.save(session);
    // The index of words keeps them folded, and files deflated.
    const found = () => readdirSync(home).filter((file) => /zaphod|beeblebrox|trillian/i.test(readFileSync(join(home, file), "latin1")));
    expect(found().length).toBeGreaterThan(1);
    const report = await rath.erase({ matching: marker }, who);
    expect(report).toMatchObject({ scrubbed: true, left: [] });
    expect(found()).toEqual([]);
    expect(await verify(await rath.open(session.id))).toMatchObject(intact);
  });

  test("nor copies of rows that SQLite once moved", async () => {
    const home = mkdtempSync(join(folder, "home-"));
    await using rath = openrath({ store: join(home, "store.db") });
    const marker = "Zaphod-Beeblebrox-4711";
    // Logs that grow by turns split pages; what was moved stays in the gaps of pages to which only others write afterwards.
    const logs: Session[] = [];
    for (let i = 0; i < 100; i++) logs.push(await rath.session(`${i}`).do("x", () => i));
    for (let turn = 0; turn < 5; turn++)
      for (const [i, log] of logs.entries()) {
        const word = i % 2 === 0 ? marker : "ordinary";
        logs[i] = await log.do("again", () => word.padEnd(20 + ((i * 37 + turn * 101) % 600), word));
      }
    const found = () => readdirSync(home).filter((file) => readFileSync(join(home, file), "latin1").includes(marker));
    expect(found()).toContain("store.db");
    expect(await rath.erase({ matching: marker }, who)).toMatchObject({ scrubbed: true, left: [] });
    expect(found()).toEqual([]);
    expect(await verify(await rath.open((logs[0] as Session).id))).toMatchObject(intact);
  });
});

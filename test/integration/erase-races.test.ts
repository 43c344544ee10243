/** Erasing while others work: nothing that stays is lost, nothing that went comes back, and nobody is told otherwise. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { write } from "../../src/audit/audit.ts";
import { verify } from "../../src/audit/verify.ts";
import { type Run, Workflow } from "../../src/index.ts";
import type { MemoryStore } from "../../src/memory/memory.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";
import { composeRath } from "../../src/openrath.ts";
import type { EraseTarget } from "../../src/runtime/erase.ts";
import { Key } from "../../src/runtime/key.ts";
import type { Session } from "../../src/session/session.ts";
import type { Store, StoredEvent } from "../../src/store/store.ts";
import { collect } from "../../src/testing/store-case.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { writeFile } from "../../src/tool/builtin/tools.ts";
import { contentsOf } from "../support/contents.ts";
import { sharedStore } from "../support/shared-store.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-erase-races-"));
afterAll(() => rmSync(folder, { recursive: true }));
const who = { by: "human:ada", reason: "asked to" };
const intact = { problems: [] };

/** Does something once, after the events were looked at and before anything is removed. */
function between(store: Store, work: () => Promise<unknown>): Store {
  let done = false;
  return {
    ...store,
    sweep: (options) =>
      (store as Required<Store>).sweep({
        ...options,
        keeping: async (events: AsyncIterable<StoredEvent>) => {
          const keeps = await options.keeping(events);
          if (!done && !options.dryRun) {
            done = true;
            await work();
          }
          return keeps;
        },
      }),
    [Symbol.asyncDispose]: async () => {},
  };
}

class Ask extends Workflow {
  override async forward(session: Session): Promise<Session> {
    const asked = await session.ask("May I?");
    return asked.do("read", () => `it said ${asked.messages[0]?.text}`);
  }
}

const placed = async (session: Session): Promise<Session> =>
  session.to("memory").call(writeFile, { path: "kept.txt", content: `a content that both need ${"x".repeat(500)}` });

describe("an erasure and somebody who goes on meanwhile", () => {
  test.each(["session", "words"])("keeps what a fork still names, by %s", async (by) => {
    const store = sharedStore();
    await using theirs = testRath({ store, implicitForks: "allow" });
    const session = await placed(theirs.session("Begin"));
    let fork: Session | undefined;
    await using ours = testRath({
      store: between(store, async () => {
        // Its tree has the old file, which is not put again.
        fork = await (await theirs.open(session.id)).fork("meanwhile").call(writeFile, { path: "more.txt", content: "more" });
        await theirs.save(fork);
      }),
    });
    const report = await ours.erase(by === "session" ? { session: session.id } : { session: session.id, matching: "both need" }, who);
    await using later = testRath({ store });
    const found = await later.open(fork?.id ?? "");
    expect(await verify(found)).toMatchObject(intact);
    expect(await found.files.text("more.txt")).toBe("more");
    if (by === "session") {
      expect(await found.files.text("kept.txt")).toContain("both need");
      expect(report.left.some(({ what, why }) => what === "blob" && why.includes("still names it"))).toBe(true);
      expect(report.shared).toEqual([fork?.id]);
    } else await expect(found.files.text("kept.txt")).rejects.toMatchObject({ code: "event.erased" });
  });

  test("says which run was begun on it meanwhile; that run goes on without it", async () => {
    const store = sharedStore();
    const workflows = { ask: new Ask() };
    await using theirs = testRath({ store, workflows });
    const session = await theirs.session("My PIN is 4711").do("x", () => 1);
    let run: Run | undefined;
    await using ours = testRath({
      store: between(store, async () => {
        run = await theirs.run("ask", await theirs.open(session.id));
        expect((await run.settle()).status).toBe("waiting");
      }),
    });
    const { left } = await ours.erase({ matching: "4711" }, who);
    expect(left).toEqual([{ what: "run", id: run?.id, why: expect.stringContaining("begun meanwhile") }]);
    await theirs.close();
    await using later = testRath({ store, workflows });
    for (const { id } of await later.pending()) await later.decide(id, { by: "human:ada", answer: "yes" });
    const settled = await (await later.resume(run?.id ?? "")).settle();
    expect(settled.status).toBe("done");
    const found = await later.open(settled.session.id);
    expect(await verify(found)).toMatchObject(intact);
    expect(JSON.stringify([...found.events()])).toContain("it said [erased]");
  });

  test("two machines that begin the erasure log at once have two, and both count", async () => {
    const store = sharedStore();
    let waiting: (() => void)[] = [];
    const racing: Store = {
      ...store,
      append: async (write) => {
        if (write.branches.some(({ about, expectedHead }) => about?.log === "erasure" && expectedHead === undefined))
          await new Promise<void>((resolve) => {
            waiting.push(resolve);
            if (waiting.length < 2) return;
            for (const go of waiting) go();
            waiting = [];
          });
        return store.append(write);
      },
      [Symbol.asyncDispose]: async () => {},
    };
    const open = () => composeRath({ store: racing, implicitForks: "allow" }, { openKey: async () => new Key(undefined) });
    await using one = open();
    await using two = open();
    const [a, b] = await Promise.all([one.session("first").do("x", () => 1), two.session("second").do("x", () => 2)]);
    await Promise.all([one.erase({ session: a.id }, who), two.erase({ session: b.id }, who)]);
    expect(await collect(store.sessions({ log: "erasure" }))).toHaveLength(2);
    expect((await one.gc({ dryRun: true })).finished).toEqual([]);
    for (const { id } of [a, b]) expect(await verify(await one.open(id))).toMatchObject({ problems: [], erased: 4 });
    await one.erase({ session: (await one.session("third").do("x", () => 3)).id }, who);
    expect((await two.gc({ dryRun: true })).finished).toEqual([]);
  });
});

describe("importing a bundle that was written before", () => {
  test("brings nothing back that was erased here, and says so", async () => {
    const store = sharedStore();
    await using rath = testRath({ store });
    let session = await placed(rath.session("My PIN is 4711", { title: "PIN 4711" }));
    session = await session.call(writeFile, { path: "pin.txt", content: "the PIN is 4711 and stays secret" });
    session = await session.do("long", () => `4711 ${"y".repeat(6000)}`);
    const [old, fork] = [join(folder, "old.jsonl"), join(folder, "fork.jsonl")];
    await write(session, old);
    const further = await session.fork("further").do("more", () => "more");
    await write(further, fork);
    await rath.erase({ matching: "4711" }, who);
    const warned: string[] = [];
    const hear = (warning: Error): unknown => warned.push(warning.message);
    process.on("warning", hear);
    const all = async (): Promise<string> => {
      let text = JSON.stringify(await collect(store.sessions({})));
      for (const { id } of await collect(store.sessions({})))
        for (const { data } of await collect(store.events({ session: id }))) text += Buffer.from(data ?? "").toString();
      for await (const { hash } of (store as Required<Store>).sweep({ dryRun: true, keeping: async () => () => false }))
        text += Buffer.from((await store.blob(hash)) ?? "").toString();
      return contentsOf(text);
    };
    expect(await all()).not.toContain("4711");
    // The log of the session is gone from the store, not the entry that says what was erased of it.
    const logs = (await collect(store.sessions({}))).filter(({ log }) => log !== "erasure");
    expect(await (store as Required<Store>).remove(logs.map(({ id, head }) => ({ session: id, head })))).toBe(true);
    await using again = testRath({ store });
    for (const bundle of [old, fork]) {
      const back = await again.import(bundle);
      expect(await all()).not.toContain("4711");
      expect(await verify(back)).toMatchObject(intact);
      expect(await back.files.text("kept.txt")).toContain("both need");
      await expect(back.files.text("pin.txt")).rejects.toMatchObject({ code: "event.erased" });
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", hear);
    expect(warned.join("\n")).toMatch(/The bundle has \d events and 1 content that were erased in this store: they stay erased/);
  });
});

describe("a memory that another process erases", () => {
  /** Two processes on one memory; `meanwhile` is done once, when the first is about to write. */
  function pair() {
    const [store, memory] = [sharedStore(), volatileMemory()];
    const kept = { ...memory, [Symbol.asyncDispose]: async () => {} };
    let meanwhile: (() => Promise<unknown>) | undefined;
    const interrupted: MemoryStore = {
      ...kept,
      write: async (...args) => {
        const work = meanwhile;
        meanwhile = undefined;
        await work?.();
        return memory.write(...args);
      },
    };
    const erases = (target: EraseTarget) => {
      meanwhile = () => two.erase(target, who);
    };
    const one = composeRath({ store, memory: interrupted }, {});
    const two = composeRath({ store, memory: kept }, {});
    return { one, two, memory, erases };
  }

  async function pinned({ one }: ReturnType<typeof pair>): Promise<string> {
    let session = await one.session("x").remember({ key: "pin", content: "the PIN is 4711" });
    session = await session.remember({ key: "tea", content: "green" });
    await one.memory.publish(session);
    return (await one.memory.get("pin"))?.uri as string;
  }

  const said = async (memory: MemoryStore, uri: string): Promise<readonly unknown[]> =>
    (await collect(memory.list({ uri, asOf: "all" }))).map(({ state, content, erased }) => [state, content, erased !== undefined]);

  test("while it is rolled back stays erased, and nothing else does", async () => {
    const both = pair();
    const uri = await pinned(both);
    const { one, two, memory, erases } = both;
    const revision = await one.memory.revision();
    for (const key of ["pin", "tea"]) await one.memory.retract(key, { by: "human:bob", reason: "wrong" });
    erases({ memories: [uri] });
    const written = await one.memory.rollback(revision, { by: "human:bob", reason: "back" });
    expect(written.map(({ key, content }) => [key, content])).toEqual(
      expect.arrayContaining([
        ["pin", ""],
        ["tea", "green"],
      ]),
    );
    expect(await said(memory, uri)).toEqual([
      ["published", "", true],
      ["retracted", "", true],
      ["published", "", true],
    ]);
    expect(await one.memory.search("PIN 4711")).toEqual([]);
    await Promise.all([one.close(), two.close()]);
  });

  test("while it is retracted stays erased", async () => {
    const both = pair();
    const uri = await pinned(both);
    both.erases({ memories: [uri] });
    await both.one.memory.retract("pin", { by: "human:bob", reason: "wrong" });
    expect(await said(both.memory, uri)).toEqual([
      ["published", "", true],
      ["retracted", "", true],
    ]);
    await Promise.all([both.one.close(), both.two.close()]);
  });
});

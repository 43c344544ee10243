import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Rath } from "../index.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { sqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { sweepStore } from "./gc.ts";
import { nodePlatform } from "./platform.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-gc-"));
afterAll(() => rmSync(folder, { recursive: true }));

const put = tool({
  name: "put",
  description: "Writes or removes a file.",
  input: z.object({ path: z.string(), text: z.string().optional() }),
  writes: "files",
  run: ({ path, text }, { sandbox }) => (text === undefined ? sandbox.remove(path) : sandbox.write(path, text)),
});

const later = new Date("2100-01-01");
const sweep = (store: Store, options: { before?: Date; dryRun?: boolean; trees?: readonly string[] } = {}) =>
  sweepStore(store, { platform: nodePlatform, before: later, dryRun: false, ...options });
const garbageOf = (text: string) => ({ hash: hash("sha256", text), bytes: Buffer.from(text) });

/** The store outlives the Raths on it. */
const lasting = (store: Store): Store => ({ ...store, [Symbol.asyncDispose]: async () => {} });

/** Everything that can be read of every session at every step: files with their contents, and what was said. */
async function readAll(store: Store): Promise<Record<string, unknown>> {
  await using rath = testRath({ store: lasting(store) });
  const all: Record<string, unknown> = {};
  for await (const session of rath.sessions())
    for (let step = 0; step <= session.step; step++) {
      const at = placeAt(session, step);
      if (at === undefined) continue;
      const files: Record<string, string> = {};
      for await (const path of at.files.list()) files[path] = await at.files.text(path);
      all[`${session.id}@${step}`] = { files, said: at.messages.map(({ text }) => text) };
    }
  return all;
}

function placeAt(session: Session, step: number): Session | undefined {
  try {
    return session.at(step);
  } catch {
    return undefined; // a step of another branch
  }
}

const paths = fc.constantFrom("a", "b", "d/a", "d/e/b");
const act = fc.oneof(
  fc.record({ do: fc.constant("put" as const), path: paths, text: fc.option(fc.string({ maxLength: 40 }), { nil: undefined }) }),
  fc.record({ do: fc.constant("say" as const), text: fc.constantFrom("short", "long ".repeat(2000)) }),
  fc.record({ do: fc.constant("fork" as const) }),
  fc.record({ do: fc.constant("merge" as const) }),
);

async function play(rath: Rath, acts: readonly (typeof act extends fc.Arbitrary<infer T> ? T : never)[]): Promise<void> {
  const forks: Session[] = [];
  let session: Session = await rath.session("begin").to("memory").call(put, { path: "root", text: "root" });
  for (const one of acts) {
    if (one.do === "put")
      session = await session.call(put, one).catch(() => session); // a file where a directory has to be
    else if (one.do === "say") session = await rath.save(session.say(one.text));
    else if (one.do === "fork") {
      forks.push(session);
      session = session.fork();
    } else {
      const other = forks.pop();
      if (other !== undefined)
        session = await other
          .fork()
          .call(put, { path: "merged", text: "m" })
          .then((branch) => branch.merge(session, { conflicts: "ours" }));
    }
  }
  await rath.save(session);
}

describe("a sweep", () => {
  test("leaves every tree and message of every session, and takes the rest", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
        const store = memoryStore();
        await using rath = testRath({ store: lasting(store), implicitForks: "allow" });
        await play(rath, acts);
        const before = await readAll(store);
        const garbage = ["unnamed", "openrath tree 1\n"].map((text) => garbageOf(text + acts.length));
        await store.append({ branches: [], blobs: garbage });
        expect(await sweep(store, { dryRun: true })).toMatchObject({ blobs: 2 });
        for (const { hash: name } of garbage) expect(await store.blob(name)).toBeDefined();
        expect(await sweep(store)).toMatchObject({ blobs: 2 });
        for (const { hash: name } of garbage) expect(await store.blob(name)).toBeUndefined();
        expect(await readAll(store)).toEqual(before);
        expect(await sweep(store)).toEqual({ blobs: 0, bytes: 0 });
      }),
      { numRuns: 25 },
    );
  });

  test("leaves what is too young to be named yet", async () => {
    const store = memoryStore();
    const blob = garbageOf("on its way");
    await store.append({ branches: [], blobs: [blob] });
    expect(await sweep(store, { before: new Date(Date.now() - 1000) })).toEqual({ blobs: 0, bytes: 0 });
    expect(await store.blob(blob.hash)).toBeDefined();
  });

  test("leaves trees that somebody else remembers, and does not miss those that are gone", async () => {
    const store = memoryStore();
    const file = garbageOf("content");
    const tree = garbageOf(`openrath tree 1\n${JSON.stringify(["a", "file", 0o644, 7, file.hash])}\n`);
    await store.append({ branches: [], blobs: [file, tree] });
    expect(await sweep(store, { trees: [tree.hash, "0".repeat(64)] })).toEqual({ blobs: 0, bytes: 0 });
    expect(await sweep(store)).toMatchObject({ blobs: 2 });
  });

  test("takes nothing when a tree that an event names cannot be read", async () => {
    const store = memoryStore();
    await using rath = testRath({ store: lasting(store) });
    const session = await rath.session("begin").to("memory").call(put, { path: "a", text: "a" });
    await store.append({ branches: [], blobs: [garbageOf("unnamed")] });
    const torn: Store = { ...store, blob: async (name) => (name === session.files.hash ? undefined : store.blob(name)) };
    await expect(sweep(torn)).rejects.toMatchObject({ code: "workspace.missing" });
    expect(await sweep(store, { dryRun: true })).toMatchObject({ blobs: 1 });
  });

  test("of one project leaves what another project of the same file names", async () => {
    const path = join(folder, "projects.db");
    const open = (project: string) => sqliteStore(path, { project });
    await using store = open("one");
    for (const project of ["one", "two"]) {
      await using rath = testRath({ store: open(project) });
      await rath
        .session("long ".repeat(2000) + project)
        .to("memory")
        .call(put, { path: project, text: project });
    }
    expect(await sweep(store)).toEqual({ blobs: 0, bytes: 0 });
    await using other = open("two");
    expect(Object.values(await readAll(other))).toContainEqual(expect.objectContaining({ files: { two: "two" } }));
  });

  test("loses nothing of what is written at the same time", async () => {
    const path = join(folder, "busy.db");
    await using store = sqliteStore(path);
    // What is written below was written once before, and then forgotten: old, unnamed and about to be named.
    const texts = Array.from({ length: 30 }, (_, index) => `text ${index} `.repeat(1000));
    await store.append({ branches: [], blobs: texts.map(garbageOf) });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = new Date();
    await using writing = sqliteStore(path);
    await using rath = testRath({ store: lasting(writing), implicitForks: "allow" });
    let session: Session = rath.session("begin").to("memory");
    const work = (async () => {
      for (const [index, text] of texts.entries()) session = await session.call(put, { path: `f${index}`, text });
    })();
    let done = false;
    void work.finally(() => {
      done = true;
    });
    while (!done) await sweep(store, { before });
    await work;
    for (const [index, text] of texts.entries()) expect(await session.files.text(`f${index}`)).toBe(text);
    await using again = testRath({ store: lasting(sqliteStore(path)) });
    const opened = await again.open(session.id);
    for (const [index, text] of texts.entries()) expect(await opened.files.text(`f${index}`)).toBe(text);
  });
});

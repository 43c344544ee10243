import { hash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { copyFile, mkdtemp, open, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import type { Rath } from "../runtime/rath.ts";
import { memoryStore } from "../store/memory.ts";
import { sqliteStore } from "../store/sqlite.ts";
import { foldCase } from "../store/sqlite-index.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { storedChain } from "../testing/stored-event.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { ObjectMap } from "../workspace/objects.ts";
import { emptyTree, Trees } from "../workspace/tree.ts";
import { type GrepHit, type GrepOptions, grep } from "./grep.ts";

let folder = "";
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-grep-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
const freshPath = (): string => join(folder, `store-${files++}.db`);
const indexOf = (path: string): string => path.replace(/\.db$/, ".index.db");

async function all(asked: Parameters<typeof grep>[0], pattern: string, options?: GrepOptions): Promise<GrepHit[]> {
  const hits: GrepHit[] = [];
  for await (const hit of grep(asked, pattern, options)) hits.push(hit);
  return hits;
}

/** What an event of the law says. */
type Draft =
  | { readonly note: string }
  | { readonly value: string; readonly key: string; readonly number: number }
  | { readonly long: string }
  | { readonly files: Readonly<Record<string, string>> };

/** Letters that fold, or seem to; enough of the same ones that matches are found. */
const letters = fc.constantFrom(...Array.from('aAbBsSſßẞkKKσΣςiIİıéÉ😀日"\\%_*[ '), "😀", "日", "\u0000");
const word = fc.string({ unit: fc.oneof(letters, fc.constant("a")), minLength: 0, maxLength: 12 });
const lines = fc.array(word, { minLength: 1, maxLength: 4 }).map((some) => some.join("\n"));
/** Mostly the same few: several events, logs and paths have them. */
const shared = fc.oneof({ weight: 3, arbitrary: fc.constantFrom("aaa\nlong", "bBß", "σς日 12") }, { weight: 1, arbitrary: lines });
const draft: fc.Arbitrary<Draft> = fc.oneof(
  { weight: 4, arbitrary: lines.map((note) => ({ note })) },
  { weight: 2, arbitrary: fc.record({ value: lines, key: word, number: fc.nat(999) }) },
  { weight: 1, arbitrary: shared.map((text) => ({ long: `${text}\n${"long text\n".repeat(450)}${text}` })) },
  {
    weight: 1,
    arbitrary: fc
      .dictionary(fc.constantFrom("a.txt", "src/b.txt", "src/deep/c.txt"), shared, { minKeys: 1 })
      .map((made) => ({ files: made })),
  },
);
const logs = fc.array(fc.array(draft, { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 4 });
const searched = fc.record({
  pattern: fc.oneof(
    fc.string({ unit: letters, minLength: 1, maxLength: 5 }),
    fc.constantFrom("long", "LONG TEXT", "a", "aaa", "AAA", "😀", "12", "txt", "sſß"),
  ),
  ignoreCase: fc.boolean(),
});

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** What must be found, from what was written alone. */
function expected(drafts: readonly (readonly Draft[])[], pattern: string, ignoreCase: boolean): string[] {
  const found: string[] = [];
  const met = new Set<string>();
  const wanted = new RegExp(escaped(pattern), ignoreCase ? "iu" : "u");
  drafts.forEach((log, number) => {
    log.forEach((one, at) => {
      const look = (where: string, text: string): void => {
        text.split("\n").forEach((line, index) => {
          if (wanted.test(line)) found.push(`${number}@${at + 1} ${where}:${index + 1}`);
        });
      };
      const once = (what: string, where: string, text: string): void => {
        if (met.has(what + text)) return;
        met.add(what + text);
        look(where, text);
      };
      if ("note" in one) look("text", one.note);
      else if ("long" in one) once("text", "text", one.long);
      else if ("files" in one)
        for (const path of ["a.txt", "src/b.txt", "src/deep/c.txt"]) {
          // A file with a zero byte is a binary.
          if (one.files[path]?.includes("\0") === false) once("file", path, one.files[path]);
        }
      else {
        for (const [where, text] of [
          ["value.inner", "inner"],
          [`value.inner.${one.key}`, one.key],
          [`value.inner.${one.key}`, one.value],
          ["value.number", "number"],
          ["value.number", String(one.number)],
        ] as const)
          look(where, text);
      }
    });
  });
  return found;
}

const sessionOf = (number: number): string => `0000000${number}-0000-7000-8000-000000000000`;

async function written(store: Store, drafts: readonly Draft[], number: number, after?: StoredEvent): Promise<StoredEvent> {
  const objects = new ObjectMap();
  const trees = new Trees(objects);
  const events = await Promise.all(
    drafts.map(async (one) => {
      if ("note" in one) return { kind: "note.added", data: JSON.stringify({ text: one.note }) };
      if ("long" in one) {
        const name = await objects.put(Buffer.from(one.long));
        return { kind: "note.added", data: JSON.stringify({ text: { $: "blob", bytes: 1, hash: name, type: "text" } }) };
      }
      if ("files" in one) {
        let tree = emptyTree;
        for (const [path, text] of Object.entries(one.files))
          tree = await trees.with(tree, path, { type: "file", mode: 0o644, size: text.length, hash: await objects.put(Buffer.from(text)) });
        // As effects do that change nothing: the files before, and the same after.
        const named = { $: "tree", hash: tree };
        return { kind: "workspace.captured", data: JSON.stringify({ directory: "", before: named, tree: named }) };
      }
      const inner = Object.fromEntries([[one.key, one.value]]);
      return { kind: "do.returned", data: JSON.stringify({ value: { inner, number: one.number } }) };
    }),
  );
  const chain = storedChain(
    events.map((event, at) => ({ ...event, ...(after === undefined && at === 0 ? { step: 1 } : {}) })),
    sessionOf(number),
    after,
  );
  const result = await store.append({
    branches: [{ session: sessionOf(number), expectedHead: after?.id, events: chain, about: { log: "session" } }],
    blobs: [...objects.map].map(([name, bytes]) => ({ hash: name, bytes })),
  });
  expect(result).toEqual({ ok: true });
  return chain.at(-1) as StoredEvent;
}

const shape = (hits: readonly GrepHit[]): string[] =>
  hits.map(({ session, step, where, line }) => `${Number(session[7])}@${step} ${where}:${line}`);

/** One of two files was indexed before with another log: they come in the order of the tree all the same. */
const knownBefore: [Draft[][], { pattern: string; ignoreCase: boolean }[], number, boolean] = [
  [
    [{ files: { "a.txt": "" } }, { files: { "a.txt": "aaa", "src/deep/c.txt": "aaa\nlong", "src/b.txt": "baaa" } }],
    [{ files: { "a.txt": "aaa\nlong" } }, { note: "" }],
  ],
  [{ pattern: "aaa", ignoreCase: false }],
  0,
  false,
];

describe("grep", () => {
  test("finds with its index what it finds without, and what a plain search of what was written finds", async () => {
    await fc.assert(
      fc.asyncProperty(
        logs,
        fc.array(searched, { minLength: 1, maxLength: 5 }),
        fc.nat(40),
        fc.boolean(),
        async (drafts, patterns, cut, lost) => {
          const path = freshPath();
          const lasting = sqliteStore(path);
          const plain = memoryStore();
          await using rath = openrath({ store: path });
          await using without = openrath({ store: plain });
          const firsts = drafts.map((log) => log.slice(0, Math.max(1, cut)));
          const heads = new Map<number, StoredEvent>();
          for (const [number, log] of firsts.entries()) {
            heads.set(number, await written(lasting, log, number));
          }
          const [first] = patterns as [{ pattern: string; ignoreCase: boolean }];
          // Twice: the first one reads everything and fills the index, the second one asks it.
          for (const one of [first, ...patterns])
            expect(shape(await all(rath, one.pattern, { ignoreCase: one.ignoreCase }))).toEqual(
              expected(firsts, one.pattern, one.ignoreCase),
            );
          if (lost) for (const end of ["", "-wal", "-shm"]) await rm(indexOf(path) + end, { force: true });
          for (const [number, log] of drafts.entries()) {
            const rest = log.slice(Math.max(1, cut));
            if (rest.length > 0) await written(lasting, rest, number, heads.get(number));
            await written(plain, log, number);
          }
          for (const { pattern, ignoreCase } of [...patterns, ...patterns]) {
            const model = expected(drafts, pattern, ignoreCase);
            expect(shape(await all(rath, pattern, { ignoreCase }))).toEqual(model);
            expect(shape(await all(without, pattern, { ignoreCase }))).toEqual(model);
            expect(shape(await all(rath, escaped(pattern), { ignoreCase, regex: true }))).toEqual(model);
          }
          await lasting[Symbol.asyncDispose]();
        },
      ),
      { numRuns: 12, examples: [knownBefore] },
    );
  }, 60_000);

  // Mutants of what the index chooses: the log that names it at the smallest step, or the last one.
  test("what several logs have is told where the first of them has it, with the index too", async () => {
    const text = { long: `a shared needle\n${"long text\n".repeat(450)}` };
    const file = { files: { "a.txt": "another shared needle" } };
    const drafts: readonly (readonly Draft[])[] = [
      [{ note: "one" }, { note: "two" }, text, file],
      [file, text],
      [{ note: "x" }, text, file],
    ];
    const path = freshPath();
    await using lasting = sqliteStore(path);
    await using rath = openrath({ store: path });
    for (const [number, log] of drafts.entries()) await written(lasting, log, number);
    for (const _ of ["fills the index", "asks it"]) expect(shape(await all(rath, "shared needle"))).toEqual(["0@3 text:1", "0@4 a.txt:1"]);
  });

  // Mutant: a log that is not the one that was indexed is taken for it.
  test("an older state of the store that was put back is searched as it is", async () => {
    const path = freshPath();
    const lives = async (log: readonly Draft[]): Promise<void> => {
      await using store = sqliteStore(path);
      let newest: StoredEvent | undefined;
      for await (const event of store.events({ session: sessionOf(0) })) newest = event;
      await written(store, log, 0, newest);
    };
    const found = async (): Promise<string[]> => {
      await using rath = openrath({ store: path });
      return shape(await all(rath, "needle"));
    };
    await lives([{ note: "needle one" }, { note: "plain" }]);
    await copyFile(path, `${path}.kept`);
    await lives([{ note: "needle that was lost" }, { note: "lost" }]);
    for (const _ of ["fills the index", "asks it"]) expect(await found()).toEqual(["0@1 text:1", "0@3 text:1"]);
    await copyFile(`${path}.kept`, path);
    await lives([{ note: "other" }, { note: "needle of another life" }, { note: "other" }]);
    for (const _ of ["fills the index", "asks it"]) expect(await found()).toEqual(["0@1 text:1", "0@4 text:1"]);
    await copyFile(`${path}.kept`, path);
    expect(await found(), "shorter than what was indexed").toEqual(["0@1 text:1"]);
  });

  test("excerpts show the match where it says it is", async () => {
    await using rath = testRath();
    const long = `${"x".repeat(5000)}needle${"y".repeat(5000)}`;
    const session = await rath.save(
      rath
        .session("one needle\nand a needle more")
        .note(long)
        .note(`${"😀".repeat(100)}needle${"😀".repeat(400)}`),
    );
    const hits = await all(session, "needle");
    expect(hits.map(({ line, where }) => `${where}:${line}`)).toEqual(["parts[0].text:1", "parts[0].text:2", "text:1", "text:1"]);
    for (const { excerpt, start, end } of hits) {
      expect(excerpt.slice(start, end)).toBe("needle");
      expect(excerpt.length).toBeLessThan(250);
      expect((excerpt as string & { isWellFormed(): boolean }).isWellFormed()).toBe(true);
    }
  });

  test("finds what agents read, said, called and wrote, each with its place", async () => {
    await using rath = testRath();
    const put = tool({
      name: "put",
      description: "Writes a file.",
      input: z.object({ path: z.string(), text: z.string() }),
      writes: "files",
      run: async ({ path, text }, { sandbox }) => {
        await sandbox.write(path, text);
        return { done: "marker in a result" };
      },
    });
    const model = scripted(
      { text: "marker in a reply", calls: [{ tool: "put", input: { path: "src/a.txt", text: "one\nmarker in a file" } }] },
      "Done.",
    );
    const agent = new Agent({ name: "coder", model, instructions: "marker in instructions", tools: [put] });
    const made = rath.session("marker in a message", { title: "marker in a title" }).to("memory");
    const run = await rath.run(agent, made);
    const session = (await run.settle()).session.note("marker in a note").fork("marker in a label").reject("marker in a reason");
    await rath.save(session);
    const places = (await all(session, "marker")).map(({ kind, where, line, file }) => `${kind} ${where}:${line}${file ? " file" : ""}`);
    expect(places.sort()).toEqual([
      "message.added parts[0].text:1",
      "model.called configuration.instructions:1",
      "model.returned parts[0].text:1",
      "model.returned parts[1].input:1",
      "note.added text:1",
      "session.created title:1",
      "session.forked label:1",
      "session.rejected reason:1",
      "tool.called input.text:2",
      "tool.returned src/a.txt:2 file",
      "tool.returned value.done:1",
    ]);
    expect(await all(session, "marker", { kind: "tool.returned", by: "coder", limit: 1 })).toHaveLength(1);
    expect(await all(session, "marker", { by: "nobody" })).toEqual([]);
    expect(await all(session, "marker", { since: "2030-01-01" })).toEqual([]);
    expect(await all(session, "marker", { until: "2030-01-01" })).toHaveLength(11);
    // Up to a place, without what forked off after it.
    expect((await all(await rath.open(`${made.id}@2`), "marker")).map(({ kind }) => kind)).not.toContain("session.rejected");
    await rath.save(rath.session("marker of somebody else"));
    expect(await all(session, "marker")).toHaveLength(11);
    expect(await all(rath, "marker")).toHaveLength(12);
    expect(await all(rath, "marker", { session: made.id })).toSatisfy((hits: GrepHit[]) => hits.every((hit) => hit.session === made.id));
    await expect(all(rath, "marker", { session: "ffff" })).rejects.toMatchObject({ code: "session.not-found" });
    await expect(all(rath, "marker", { limits: 3 } as GrepOptions)).rejects.toMatchObject({ code: "value.unsupported" });
  });

  test("folds case as regular expressions do, for every character that has one", () => {
    const cased: string[] = [];
    for (let code = 0; code <= 0x1ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const one = String.fromCodePoint(code);
      if (one.toLowerCase() !== one || one.toUpperCase() !== one) cased.push(one);
    }
    const together = cased.join("");
    const wrong: string[] = [];
    for (const one of cased)
      for (const [same] of together.matchAll(new RegExp(escaped(one), "giu"))) if (foldCase(same) !== foldCase(one)) wrong.push(one + same);
    expect(wrong).toEqual([]);
  });
});

async function world(rath: Rath): Promise<void> {
  for (let number = 0; number < 5; number++) {
    let session = rath.session(`Session ${number}`, { title: `title ${number}` });
    for (let at = 0; at < 50; at++) session = session.note(`note ${at} of ${number}`);
    await rath.save(session.note(`needle-${number}`));
  }
}

describe("the index", () => {
  test("is a private file beside the store, and is what a second search reads", async () => {
    const path = freshPath();
    await using rath = openrath({ store: path });
    await world(rath);
    expect(await all(rath, "needle")).toHaveLength(5);
    expect(statSync(indexOf(path)).mode & 0o777).toBe(0o600);
    let read = 0;
    const hits = await all(rath, "needle-3", { onProgress: (events) => (read += events) });
    expect(hits).toMatchObject([{ kind: "note.added", by: "user", where: "text", line: 1, excerpt: "needle-3", start: 0, end: 8 }]);
    expect(read).toBeLessThan(70);
  });

  test("holds logs with events that name the same files twice", async () => {
    const path = freshPath();
    await using rath = openrath({ store: path });
    {
      await using store = sqliteStore(path);
      const notes = Array.from({ length: 90 }, (_, number) => ({ note: `needle-${number}` }));
      await written(store, [{ files: { "a.txt": "zebra", "src/b.txt": "needle" } }, ...notes], 1);
    }
    expect(await all(rath, "zebra")).toHaveLength(1);
    let read = 0;
    expect(await all(rath, "needle-77", { onProgress: (events) => (read += events) })).toHaveLength(1);
    expect(read).toBeLessThan(70);
  });

  test.each<[string, (file: string) => Promise<unknown>]>([
    ["is no database", (file) => writeFile(file, "not a database".repeat(1000))],
    ["is cut", (file) => truncate(file, 5000)],
    ["is empty", (file) => truncate(file, 0)],
    [
      "has a page of noise",
      async (file) => {
        const handle = await open(file, "r+");
        await handle.write(Buffer.alloc(8192, 0x5a), 0, 8192, 4096);
        await handle.close();
      },
    ],
    [
      "is of another format",
      async (file) => {
        const bytes = await readFile(file);
        bytes[71] = 99; // the last byte of the mark
        await writeFile(file, bytes);
      },
    ],
  ])("that %s is thrown away and built again", async (_, damage) => {
    const path = freshPath();
    await using rath = openrath({ store: path });
    await world(rath);
    await all(rath, "needle");
    for (const end of ["-wal", "-shm"]) await rm(indexOf(path) + end, { force: true });
    await damage(indexOf(path));
    expect(await all(rath, "needle")).toHaveLength(5);
    expect(await all(rath, "needle")).toHaveLength(5);
    let read = 0;
    expect(await all(rath, "needle-3", { onProgress: (events) => (read += events) })).toHaveLength(1);
    expect(read).toBeLessThan(70);
  });

  test("filled by two at once while others append finds each event once", async () => {
    const path = freshPath();
    await using one = openrath({ store: path });
    await using two = openrath({ store: path });
    await world(one);
    const found = Promise.all([all(one, "needle"), all(two, "needle"), all(one, "needle"), all(two, "title")]);
    await world(two);
    const [a, b, c, titles] = await found;
    for (const hits of [a, b, c]) expect(new Set(hits.map(({ event }) => event)).size).toBe(hits.length);
    expect(a.length).toBeGreaterThanOrEqual(5);
    expect(titles.length).toBeGreaterThanOrEqual(5);
    for (const rath of [one, two, one]) expect(await all(rath, "needle")).toHaveLength(10);
  });

  test("forgets what was erased, in its file too", async () => {
    const path = freshPath();
    await using rath = openrath({ store: path });
    await world(rath);
    await rath.save(rath.session("nothing").note("the unspeakable жщы"));
    await all(rath, "needle");
    const [hit] = await all(rath, "unspeakable жщы");
    expect((await readFile(indexOf(path))).includes("ЖЩЫ")).toBe(true);
    const store = sqliteStore(path);
    await store.erase?.([hit?.event ?? ""], "e".repeat(64));
    await store[Symbol.asyncDispose]();
    expect(await all(rath, "unspeakable жщы")).toEqual([]);
    expect(await all(rath, "unspeakable жщы")).toEqual([]);
    expect(existsSync(`${indexOf(path)}-wal`)).toBe(false);
    expect((await readFile(indexOf(path))).includes("ЖЩЫ")).toBe(false);
    expect(await all(rath, "nothing")).toHaveLength(1);
  });

  test("forgets what an erasure log tells of, before anybody meets it", async () => {
    const path = freshPath();
    await using rath = openrath({ store: path });
    await world(rath);
    const store = sqliteStore(path);
    const long = `漢字界${"long text\n".repeat(450)}`;
    await written(store, [{ note: "the unspeakable жщы" }, { note: "stays" }], 9);
    await written(store, [{ long }], 8);
    await all(rath, "needle");
    expect(await all(rath, "stays")).toHaveLength(1);
    const [hit] = await all(rath, "unspeakable");
    expect(await all(rath, "漢字界")).toHaveLength(1);
    for (const letters of ["ЖЩЫ", "漢字界"]) expect((await readFile(indexOf(path))).includes(letters)).toBe(true);
    await store.erase?.([hit?.event ?? ""], "e".repeat(64));
    const content = hash("sha256", long);
    const data = JSON.stringify({ events: [hit?.event], blobs: [content], reason: "asked for" });
    const events = storedChain([{ step: 1, kind: "data.erased", data }], "0000000e-0000-7000-8000-000000000000");
    await store.append({
      branches: [{ session: events[0]?.session ?? "", expectedHead: undefined, events, about: { log: "erasure" as never } }],
    });
    await store[Symbol.asyncDispose]();
    // Another question altogether.
    expect(await all(rath, "stays")).toHaveLength(1);
    for (const letters of ["ЖЩЫ", "漢字界"]) expect((await readFile(indexOf(path))).includes(letters)).toBe(false);
    expect(await all(rath, "unspeakable")).toEqual([]);
    expect(await all(rath, "asked for")).toHaveLength(1);
  });

  test.each([true, false])("of a store that was put back to an earlier state is not believed (asked before it grew: %s)", async (asked) => {
    const path = freshPath();
    const before = freshPath();
    let id = "";
    const save = async (...notes: readonly string[]): Promise<GrepHit[]> => {
      await using rath = openrath({ store: path });
      let session = id === "" ? rath.session("Session") : await rath.open(id);
      for (const note of notes) session = session.note(note);
      id = (await rath.save(session)).id;
      await all(rath, "needle");
      return await all(rath, "needle");
    };
    await save("first needle");
    await writeFile(before, await readFile(path));
    expect(await save("second needle", "third needle")).toHaveLength(3);
    await writeFile(path, await readFile(before));
    if (asked) expect((await save()).map(({ excerpt }) => excerpt)).toEqual(["first needle"]);
    const now = await save("another needle", "one more needle", "the last needle");
    expect(now.map(({ excerpt }) => excerpt)).toEqual(["first needle", "another needle", "one more needle", "the last needle"]);
  });
});

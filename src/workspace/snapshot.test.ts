/** What a snapshot sees: everything that is there and nothing else, changed files always, unchanged files without reading them. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { RathError } from "../session/errors.ts";
import { readContent } from "./content.ts";
import { Ignore } from "./ignore.ts";
import { ObjectMap } from "./objects.ts";
import { Place } from "./place.ts";
import { restore } from "./restore.ts";
import { Slices } from "./slices.ts";
import { snapshot } from "./snapshot.ts";
import { StatCache } from "./stat-cache.ts";
import { type Entry, emptyTree, Trees } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "openrath-snapshot-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

let objects: ObjectMap;
let trees: Trees;
let directory: string;
let made = 0;

beforeEach(() => {
  objects = new ObjectMap();
  trees = new Trees(objects);
  directory = join(scratch, `d${made++}`);
  mkdirSync(directory);
});

function put(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}
async function entries(tree: string): Promise<Record<string, Entry>> {
  const all: Record<string, Entry> = {};
  for await (const { path, entry } of trees.walk(tree)) all[path] = entry;
  return all;
}
async function text(tree: string, path: string): Promise<string | undefined> {
  const entry = await trees.entry(tree, path);
  return entry?.type === "file" ? Buffer.from(await objects.get(entry.hash)).toString() : undefined;
}
async function failure(run: Promise<unknown>): Promise<RathError> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!RathError.is(error)) throw new Error("It did not fail as expected.", { cause: error });
  return error;
}
/** Longer than the clock of a file system ticks, so that files count as settled. */
const settled = () => sleep(30);

describe("a snapshot", () => {
  test("of an empty directory is the empty tree", async () => {
    expect(await snapshot(trees, directory)).toEqual({ tree: emptyTree, files: 0, bytes: 0, hashed: 0, withheld: [], layers: [] });
  });

  test("has files, links, directories and special files, each as what it is", async () => {
    put({ "bin/run": "#!", "empty.txt": "" });
    chmodSync(join(directory, "bin/run"), 0o4751);
    mkdirSync(join(directory, "nothing"), 0o700);
    symlinkSync("/nowhere/at/all", join(directory, "absolute"));
    symlinkSync("nowhere", join(directory, "dangling"));
    symlinkSync("bin", join(directory, "to-directory"));
    execFileSync("mkfifo", [join(directory, "fifo")]);
    const server = createServer().listen(join(directory, "socket"));
    await new Promise((resolve) => server.on("listening", resolve));
    const { tree, files, bytes } = await snapshot(trees, directory);
    server.close();
    expect(await entries(tree)).toMatchObject({
      "bin/run": { type: "file", mode: 0o751, size: 2 },
      nothing: { type: "directory", mode: 0o700, hash: emptyTree },
      absolute: { type: "link", target: "/nowhere/at/all" },
      dangling: { type: "link", target: "nowhere" },
      "to-directory": { type: "link", target: "bin" },
      fifo: { type: "fifo" },
      socket: { type: "socket" },
    });
    expect([files, bytes]).toEqual([7, 2]);
    expect(Object.keys(await entries(tree))).not.toContain("to-directory/run");
  });

  test("reads no file that took the place of the one it saw", async () => {
    put({ mine: "mine" });
    const place = Place.open(directory);
    const stat = place.stat("mine");
    // It stays somewhere, so that nothing else gets its inode.
    renameSync(join(directory, "mine"), join(directory, "kept"));
    symlinkSync("kept", join(directory, "mine"));
    const read = { own: false, slices: new Slices() };
    expect(await readContent(place, "mine", stat!, read)).toBeUndefined();
    rmSync(join(directory, "mine"));
    put({ mine: "other" });
    expect(await readContent(place, "mine", stat!, read)).toBeUndefined();
    rmSync(join(directory, "mine"));
    execFileSync("mkfifo", [join(directory, "mine")]);
    expect(await readContent(place, "mine", stat!, read)).toBeUndefined();
    place.close();
  });

  test("reads no more of a file than it had when its size was looked at", async () => {
    put({ log: "line\n" });
    const place = Place.open(directory);
    const stat = place.stat("log");
    appendFileSync(join(directory, "log"), "x".repeat(10_000));
    expect(await readContent(place, "log", stat!, { own: false, slices: new Slices() })).toMatchObject({
      bytes: { length: 5 },
      steady: false,
    });
    place.close();
  });

  test("of a directory that does not exist, or is a file, says so", async () => {
    put({ file: "" });
    expect((await failure(snapshot(trees, join(directory, "none")))).code).toBe("workspace.not-found");
    expect((await failure(snapshot(trees, join(directory, "file")))).code).toBe("workspace.not-found");
  });

  test("stops when it is told to, and tells how far it is", async () => {
    for (let index = 0; index < 1000; index++) put({ [`${index % 20}/${index}`]: `${index}` });
    const control = new AbortController();
    const seen: number[] = [];
    const onProgress = ({ files }: { files: number }) => {
      seen.push(files);
      control.abort();
    };
    await expect(snapshot(trees, directory, { signal: control.signal, onProgress })).rejects.toThrow(/abort/i);
    expect(seen).toHaveLength(1);
    await expect(snapshot(trees, directory, { signal: control.signal })).rejects.toThrow(/abort/i);
  });

  test("lets others run", async () => {
    for (let index = 0; index < 1200; index++) put({ [`${index % 20}/${index}`]: `${index}` });
    let turns = 0;
    let scanning = true;
    const turn = () => {
      turns++;
      if (scanning) setImmediate(turn);
    };
    turn();
    await snapshot(trees, directory);
    scanning = false;
    expect(turns).toBeGreaterThan(3);
  });
});

describe("limits", () => {
  test("name themselves and what to do", async () => {
    put({ "a/b/c": "12345", d: "12345" });
    for (const limits of [{ files: 3 }, { total: 9 }, { depth: 1 }]) {
      const error = await failure(snapshot(trees, directory, { limits }));
      expect([error.code, error.details["limit"]]).toEqual(["workspace.too-large", Object.keys(limits)[0]]);
      expect(error.message).toContain(".openrathignore");
    }
    expect((await snapshot(trees, directory, { limits: { files: 4, total: 10, depth: 2, file: 5 } })).withheld).toEqual([]);
  });

  test("also hold for files that are known", async () => {
    put({ a: "12345", b: "12345" });
    await settled();
    const cache = new StatCache();
    await snapshot(trees, directory, { cache });
    expect((await failure(snapshot(trees, directory, { cache, limits: { total: 9 } }))).code).toBe("workspace.too-large");
    expect((await snapshot(trees, directory, { cache, limits: { file: 4 } })).withheld).toEqual(["a", "b"]);
  });

  test("of one file withhold its content, and it counts no more", async () => {
    put({ small: "1234", large: "12345" });
    const { tree, withheld, bytes } = await snapshot(trees, directory, { limits: { file: 4, total: 4 } });
    expect([withheld, bytes]).toEqual([["large"], 4]);
    expect(await trees.entry(tree, "large")).toEqual({ type: "withheld", why: "size", size: 5 });
  });
});

describe("contents that must not be stored", () => {
  const withhold = (bytes: Uint8Array) => Buffer.from(bytes).includes("token");

  test("are withheld, again each time", async () => {
    put({ "in/secret": "my token", open: "hello" });
    await settled();
    const cache = new StatCache();
    for (let round = 0; round < 2; round++) {
      const { tree, withheld } = await snapshot(trees, directory, { withhold, cache });
      expect(withheld).toEqual(["in/secret"]);
      expect(await trees.entry(tree, "in/secret")).toEqual({ type: "withheld", why: "secret", size: 8 });
    }
    expect([...objects.map.values()].some((bytes) => Buffer.from(bytes).includes("my token"))).toBe(false);
  });

  test("are taken over from the tree before, where nothing took their place", async () => {
    put({ "in/secret": "token", "gone/secret": "token", "taken/secret": "token" });
    const { tree: before } = await snapshot(trees, directory, { withhold });
    rmSync(join(directory, "in/secret"));
    rmSync(join(directory, "gone"), { recursive: true });
    put({ "taken/secret": "now open" });
    const { tree, withheld, files } = await snapshot(trees, directory, { before });
    expect([withheld, files]).toEqual([["in/secret"], 2]);
    expect(Object.keys(await entries(tree))).toEqual(["in", "in/secret", "taken", "taken/secret"]);
    expect(await text(tree, "taken/secret")).toBe("now open");
    expect((await snapshot(trees, directory)).tree).not.toBe(tree);
  });

  test("are gone when they were there at the last look", async () => {
    put({ "in/secret": "token", "in/large": "0123456789", open: "hello" });
    const cache = new StatCache();
    const options = { withhold, cache, limits: { file: 8 } };
    const { tree: before, withheld } = await snapshot(trees, directory, options);
    expect(withheld).toEqual(["in/large", "in/secret"]);
    expect((await snapshot(trees, directory, { ...options, before })).tree).toBe(before);
    rmSync(join(directory, "in/large"));
    rmSync(join(directory, "in/secret"));
    const { tree } = await snapshot(trees, directory, { ...options, before });
    expect(Object.keys(await entries(tree))).toEqual(["in", "open"]);
    // Brought back to it they cannot be made, and nobody removed them.
    await restore(trees, directory, tree, before, { cache });
    expect((await snapshot(trees, directory, { ...options, before })).tree).toBe(before);
  });
});

describe("what may not be read", () => {
  test("is named, and made readable for the moment when the directory is ours", async () => {
    if (process.geteuid?.() !== 0) return;
    chmodSync(scratch, 0o755);
    chmodSync(directory, 0o777);
    process.seteuid?.(65_534);
    try {
      put({ "closed/file": "x", file: "y" });
      chmodSync(join(directory, "file"), 0);
      const error = await failure(snapshot(trees, directory));
      expect([error.code, error.details["path"]]).toEqual(["workspace.unreadable", "file"]);
      expect(error.message).toContain(".openrathignore");
      chmodSync(join(directory, "closed"), 0o100);
      rmSync(join(directory, "file"));
      expect((await failure(snapshot(trees, directory))).details["path"]).toBe("closed");
      put({ file: "y" });
      chmodSync(join(directory, "file"), 0o200);
      const cache = new StatCache();
      const { tree } = await snapshot(trees, directory, { own: true, cache });
      expect(await entries(tree)).toMatchObject({ closed: { mode: 0o100 }, file: { mode: 0o200 } });
      expect(await text(tree, "closed/file")).toBe("x");
      expect(["closed", "file"].map((name) => lstatSync(join(directory, name)).mode & 0o777)).toEqual([0o100, 0o200]);
      expect((await snapshot(trees, directory, { own: true, cache })).tree).toBe(tree);
    } finally {
      process.seteuid?.(0);
    }
  });
});

describe("the cache", () => {
  test("spares reading and storing what looks the same, from memory and from bytes", async () => {
    put({ "a/one": "1", "a/two": "2", "b/three": "3" });
    symlinkSync("a", join(directory, "link"));
    writeFileSync(Buffer.concat([Buffer.from(`${directory}/b/`), Buffer.from([0xff])]), "odd");
    await settled();
    let cache = new StatCache();
    const first = await snapshot(trees, directory, { cache });
    expect(first.hashed).toBe(4);
    cache = StatCache.from(cache.toBytes());
    // A store that takes nothing: no content and no directory is stored again.
    const closed = new Trees({ get: (hash) => objects.get(hash), put: () => Promise.reject(new Error("It was stored again.")) });
    expect(await snapshot(closed, directory, { cache })).toEqual({ ...first, hashed: 0 });
    expect(await snapshot(closed, directory, { cache, before: first.tree })).toEqual({ ...first, hashed: 0 });
  });

  test("is worth nothing when it is damaged, and never wrong", async () => {
    put({ "a/one": "1" });
    await settled();
    const cache = new StatCache();
    const { tree } = await snapshot(trees, directory, { cache });
    const bytes = cache.toBytes();
    for (let at = 0; at <= bytes.length; at += 7) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      for (const damaged of [flipped.subarray(0, bytes.length), bytes.subarray(0, at), Buffer.concat([bytes, Buffer.from("x")])]) {
        if (Buffer.compare(damaged, bytes) === 0) continue;
        expect((await snapshot(trees, directory, { cache: StatCache.from(damaged) })).hashed).toBe(1);
      }
    }
    expect((await snapshot(trees, directory, { cache: StatCache.from(bytes) })).tree).toBe(tree);
  });

  test("sees a file that was rewritten with the same size and its old time", async () => {
    put({ file: "old" });
    utimesSync(join(directory, "file"), 1000, 1000);
    await settled();
    const cache = new StatCache();
    await snapshot(trees, directory, { cache });
    put({ file: "new" });
    utimesSync(join(directory, "file"), 1000, 1000);
    expect(await text((await snapshot(trees, directory, { cache })).tree, "file")).toBe("new");
  });

  test("sees each of 500 rapid rewrites of the same size", async () => {
    const cache = new StatCache();
    let missed = 0;
    for (let index = 100; index < 600; index++) {
      put({ file: `${index}` });
      if ((await text((await snapshot(trees, directory, { cache })).tree, "file")) !== `${index}`) missed++;
    }
    expect(missed).toBe(0);
  });

  test("does not trust a file that changed within the last tick", async () => {
    const cache = new StatCache();
    put({ file: "x" });
    // However long the machine takes, both looks are within the tick.
    const now = vi.spyOn(Date, "now").mockReturnValue(Math.floor(lstatSync(join(directory, "file")).ctimeMs) + 5);
    onTestFinished(() => now.mockRestore());
    await snapshot(trees, directory, { cache });
    expect((await snapshot(trees, directory, { cache })).hashed).toBe(1);
    now.mockRestore();
    await settled();
    expect((await snapshot(trees, directory, { cache })).hashed).toBe(1);
    expect((await snapshot(trees, directory, { cache })).hashed).toBe(0);
  });

  test("follows permissions, additions, removals and changes of type", async () => {
    put({ "a/one": "1", "a/two": "2", "b/three": "3" });
    await settled();
    const cache = new StatCache();
    const steps = [
      () => chmodSync(join(directory, "a/one"), 0o600),
      () => chmodSync(join(directory, "a"), 0o700),
      () => put({ "a/four": "4" }),
      () => rmSync(join(directory, "a/two")),
      () => renameSync(join(directory, "b"), join(directory, "c")),
      () => rmSync(join(directory, "a/one")),
      () => symlinkSync("x", join(directory, "a/one")),
      () => mkdirSync(join(directory, "b")),
      () => appendFileSync(join(directory, "c/three"), "!"),
    ];
    const seen = new Set<string>();
    for (const step of steps) {
      step();
      const { tree } = await snapshot(trees, directory, { cache });
      expect(tree).toBe((await snapshot(new Trees(new ObjectMap()), directory)).tree);
      seen.add(tree);
    }
    expect(seen.size).toBe(steps.length);
  });

  test("stays as it was when a snapshot fails", async () => {
    put({ a: "12345" });
    await settled();
    const cache = new StatCache();
    await snapshot(trees, directory, { cache });
    await failure(snapshot(trees, directory, { cache, limits: { files: 0 } }));
    expect((await snapshot(trees, directory, { cache })).hashed).toBe(0);
  });

  test("has copies that learn on their own, for work whose objects may not be kept", async () => {
    put({ a: "12345" });
    await settled();
    const cache = new StatCache();
    await snapshot(trees, directory, { cache: cache.copy() });
    expect((await snapshot(trees, directory, { cache })).hashed).toBe(1);
    expect((await snapshot(trees, directory, { cache: cache.copy() })).hashed).toBe(0);
  });
});

describe("a directory that others write to", () => {
  test("gives whole files, or none", async () => {
    const text = (byte: string) => byte.repeat(3_000_000);
    put({ file: text("a") });
    let rounds = 0;
    const other = setInterval(() => put({ file: text("ab"[rounds++ % 2] as string) }), 5);
    for (let index = 0; index < 10; index++) {
      const { tree } = await snapshot(trees, directory);
      const entry = await trees.entry(tree, "file");
      if (entry?.type === "file") expect(new Set(await objects.get(entry.hash)).size).toBe(1);
    }
    clearInterval(other);
  });

  test("can lose what is being looked at", async () => {
    for (let index = 0; index < 1500; index++) put({ [`${index % 10}/${index}`]: "x" });
    const onProgress = () => {
      for (const name of readdirSync(directory).slice(-3)) rmSync(join(directory, name), { recursive: true });
    };
    await snapshot(trees, directory, { onProgress });
    expect((await snapshot(trees, directory, { ignore: new Ignore() })).withheld).toEqual([]);
  });
});

/** Laws of snapshot and restore: what a tree says is what is on disk, from any tree to any other, and never outside the directory. */
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { RathError } from "../session/errors.ts";
import { nameOf } from "./name.ts";
import { ObjectMap } from "./objects.ts";
import { Place } from "./place.ts";
import { restore } from "./restore.ts";
import { snapshot } from "./snapshot.ts";
import { StatCache } from "./stat-cache.ts";
import { type Entry, emptyTree, sorted, Trees } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "openrath-restore-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
/** Where links of the generated trees lead. Never to the host's own files: a test of a guard must do no harm when the guard fails. */
const decoy = join(scratch, "decoy");
mkdirSync(decoy);
writeFileSync(join(decoy, "a"), "untouched");
chmodSync(decoy, 0o751);
function decoyIsUntouched(): void {
  expect([lstatSync(decoy).mode & 0o777, readdirSync(decoy), readFileSync(join(decoy, "a"), "utf8")]).toEqual([0o751, ["a"], "untouched"]);
}
let made = 0;
function fresh(): string {
  const directory = join(scratch, `d${made++}`);
  mkdirSync(directory);
  return directory;
}

type Node =
  | { readonly type: "file"; readonly mode: number; readonly content: Uint8Array }
  | { readonly type: "directory"; readonly mode: number; readonly children: ReadonlyMap<string, Node> }
  | { readonly type: "link"; readonly target: string }
  | { readonly type: "socket" | "device" }
  | { readonly type: "withheld" };

const rawName = fc
  .oneof(
    fc
      .constantFrom("a", "b", "c", "-rf", "new\nline", "sp ace", "é", "e\u0301", "A", "*", "\\", "'\"", "~", "x".repeat(255), "...")
      .map((text) => Buffer.from(text)),
    fc.uint8Array({ minLength: 1, maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  )
  .filter((bytes) => !bytes.includes(0) && !bytes.includes(0x2f) && !["", ".", ".."].includes(bytes.toString("latin1")));
const name = rawName.map(nameOf);
const permissions = fc.oneof(fc.constantFrom(0, 0o644, 0o755, 0o600, 0o555, 0o400), fc.integer({ min: 0, max: 0o777 }));
const content = fc.oneof(
  { weight: 20, arbitrary: fc.uint8Array({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }).map((byte) => new Uint8Array(1_200_000).fill(byte)) },
);
const { node } = fc.letrec<{ node: Node; directory: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    { weight: 4, arbitrary: fc.record({ type: fc.constant("file" as const), mode: permissions, content }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant("link" as const),
        target: fc.oneof(name, fc.constantFrom(decoy, `${decoy}/a`, "../decoy", "../../decoy", "/nowhere/at/all", "a/b")),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom<Node>({ type: "socket" }, { type: "device" }, { type: "withheld" }) },
    { weight: 4, arbitrary: tie("directory") },
  ),
  directory: fc.record({
    type: fc.constant("directory" as const),
    mode: permissions,
    children: fc.uniqueArray(fc.tuple(name, tie("node")), { maxLength: 5, selector: ([key]) => key }).map((pairs) => new Map(pairs)),
  }),
}));
const tree = fc.uniqueArray(fc.tuple(name, node), { maxLength: 6, selector: ([key]) => key }).map((pairs) => new Map(pairs));

async function stored(trees: Trees, children: ReadonlyMap<string, Node>): Promise<string> {
  const entries: [string, Entry][] = [];
  for (const [key, child] of children) entries.push([key, await entryOf(trees, child)]);
  return trees.store(sorted(entries));
}
async function entryOf(trees: Trees, child: Node): Promise<Entry> {
  switch (child.type) {
    case "file":
      return { type: "file", mode: child.mode, size: child.content.length, hash: await trees.objects.put(child.content) };
    case "directory":
      return { type: "directory", mode: child.mode, hash: await stored(trees, child.children) };
    case "withheld":
      return { type: "withheld", why: "secret", size: 3 };
    default:
      return child;
  }
}

describe("snapshot after restore", () => {
  test("gives the tree that was restored, from nothing and from any other tree", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(tree, { minLength: 2, maxLength: 4 }), fc.boolean(), async (all, cached) => {
        const trees = new Trees(new ObjectMap());
        const directory = fresh();
        const cache = cached ? new StatCache() : undefined;
        let from = emptyTree;
        for (const one of all) {
          const to = await stored(trees, one);
          await restore(trees, directory, from, to, { cache });
          expect((await snapshot(trees, directory, { own: true, before: to, cache })).tree).toBe(to);
          expect((await snapshot(trees, directory, { own: true, before: to })).tree).toBe(to);
          from = to;
        }
        await restore(trees, directory, from, emptyTree);
        expect(readdirSync(directory)).toEqual([]);
        decoyIsUntouched();
      }),
      { numRuns: 60 },
    );
  });

  test("and so it does for a user who is not root, whatever the permissions", async () => {
    if (process.geteuid?.() !== 0) return;
    const directory = fresh();
    chmodSync(scratch, 0o755);
    chmodSync(directory, 0o777);
    process.seteuid?.(65_534);
    try {
      await fc.assert(
        fc.asyncProperty(tree, tree, async (a, b) => {
          const trees = new Trees(new ObjectMap());
          const [from, to] = [await stored(trees, a), await stored(trees, b)];
          await restore(trees, directory, emptyTree, from);
          expect((await snapshot(trees, directory, { own: true, before: from })).tree).toBe(from);
          await restore(trees, directory, from, to);
          expect((await snapshot(trees, directory, { own: true, before: to })).tree).toBe(to);
          expect((await snapshot(trees, directory, { own: true, before: to })).tree).toBe(to);
          await restore(trees, directory, to, emptyTree);
          expect(readdirSync(directory)).toEqual([]);
        }),
        { numRuns: 40 },
      );
    } finally {
      process.seteuid?.(0);
    }
  });

  test("changes what is in a directory that its owner may not write to, and leaves it so", async () => {
    if (process.geteuid?.() !== 0) return;
    const directory = fresh();
    chmodSync(directory, 0o777);
    process.seteuid?.(65_534);
    try {
      const trees = new Trees(new ObjectMap());
      const from = await stored(trees, new Map([["in", closed("one")]]));
      const to = await stored(trees, new Map([["in", closed("two")]]));
      await restore(trees, directory, emptyTree, from);
      await restore(trees, directory, from, to);
      expect((await snapshot(trees, directory, { own: true })).tree).toBe(to);
    } finally {
      process.seteuid?.(0);
    }
  });

  test("holds for directories 200 deep with names of 200 bytes, beyond what a path can say", async () => {
    const trees = new Trees(new ObjectMap());
    const directory = fresh();
    let inner = new Map<string, Node>([["end", { type: "file", mode: 0o640, content: Buffer.from("deep") }]]);
    for (let depth = 0; depth < 200; depth++)
      inner = new Map([[`${depth}-`.padEnd(200, "x"), { type: "directory", mode: 0o700, children: inner }]]);
    const to = await stored(trees, inner);
    await restore(trees, directory, emptyTree, to);
    expect((await snapshot(trees, directory)).tree).toBe(to);
    await restore(trees, directory, to, emptyTree);
    expect(readdirSync(directory)).toEqual([]);
  });

  test("holds for fifos, under any name", async () => {
    const trees = new Trees(new ObjectMap());
    const directory = fresh();
    const to = await trees.store(
      sorted([
        [nameOf(Buffer.from([0xff, 0x0a])), { type: "fifo" }],
        ["-m", { type: "fifo" }],
      ]),
    );
    await restore(trees, directory, emptyTree, to);
    expect((await snapshot(trees, directory)).tree).toBe(to);
    expect(lstatSync(join(directory, "-m")).isFIFO()).toBe(true);
    await restore(trees, directory, to, emptyTree);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe("restore", () => {
  test("touches only what differs", async () => {
    const { trees, directory } = await two();
    const from = (await snapshot(trees, directory)).tree;
    const before = lstatSync(join(directory, "same/file"), { bigint: true });
    const to = await trees.with(from, "other/file", await file(trees, "new"));
    await restore(trees, directory, from, to);
    expect(lstatSync(join(directory, "same/file"), { bigint: true })).toEqual(before);
    expect(readFileSync(join(directory, "other/file"), "utf8")).toBe("new");
  });

  test("does not write through a link that took the place of a directory", async () => {
    const { trees, directory, outside } = await two();
    const from = (await snapshot(trees, directory)).tree;
    const to = await trees.with(from, "other/file", await file(trees, "new"));
    renameSync(join(directory, "other"), join(directory, "..", `gone${made++}`));
    symlinkSync(outside, join(directory, "other"));
    await restore(trees, directory, from, to);
    expect(readdirSync(outside)).toEqual(["file"]);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("outside");
    expect(lstatSync(join(directory, "other")).isDirectory()).toBe(true);
    expect((await snapshot(trees, directory)).tree).toBe(to);
  });

  test("does not remove or change permissions through a link", async () => {
    const { trees, directory, outside } = await two();
    chmodSync(join(outside, "file"), 0o600);
    const from = (await snapshot(trees, directory)).tree;
    const without = await trees.with(from, "other/file", undefined);
    const other = await trees.with(from, "same/file", { ...(await file(trees, "same")), mode: 0o777 } as Entry);
    renameSync(join(directory, "other"), join(directory, "..", `gone${made++}`));
    symlinkSync(outside, join(directory, "other"));
    rmSync(join(directory, "same/file"));
    symlinkSync(join(outside, "file"), join(directory, "same/file"));
    await restore(trees, directory, from, without);
    await restore(trees, directory, from, other);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("outside");
    expect(lstatSync(join(outside, "file")).mode & 0o777).toBe(0o600);
  });

  test("refuses a link in the place of a directory when the directory is somebody else's", async () => {
    const { trees, directory, outside } = await two();
    const from = (await snapshot(trees, directory)).tree;
    rmSync(join(directory, "other"), { recursive: true });
    symlinkSync(outside, join(directory, "other"));
    for (const path of ["other/file", "other/new"]) {
      const to = await trees.with(from, path, await file(trees, "new"));
      await expect(restore(trees, directory, from, to, { own: false })).rejects.toSatisfy((error) =>
        RathError.is(error, "workspace.changed"),
      );
    }
    const without = await trees.with(from, "other", undefined);
    await expect(restore(trees, directory, from, without, { own: false })).rejects.toSatisfy((error) =>
      RathError.is(error, "workspace.changed"),
    );
    expect(readdirSync(outside)).toEqual(["file"]);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("outside");
  });

  test("gives a file its own content and permissions when it shared them with another name", async () => {
    const { trees, directory } = await two();
    linkSync(join(directory, "same/file"), join(directory, "other/linked"));
    const from = (await snapshot(trees, directory)).tree;
    const to = await trees.with(from, "same/file", { ...(await trees.entry(from, "same/file")), mode: 0o600 } as Entry);
    await restore(trees, directory, from, to);
    expect((await snapshot(trees, directory)).tree).toBe(to);
  });

  test("leaves the permissions of somebody else's directories alone", async () => {
    const { trees, directory } = await two();
    chmodSync(join(directory, "other"), 0o755);
    const from = (await snapshot(trees, directory)).tree;
    chmodSync(join(directory, "other"), 0o705);
    await restore(trees, directory, from, await trees.with(from, "other/file", await file(trees, "new")), { own: false });
    expect(lstatSync(join(directory, "other")).mode & 0o777).toBe(0o705);
  });

  test("keeps what the tree does not name when it removes from somebody else's directory", async () => {
    const { trees, directory } = await two();
    const from = (await snapshot(trees, directory)).tree;
    writeFileSync(join(directory, "other/.env"), "secret");
    await restore(trees, directory, from, await trees.with(from, "other", undefined), { own: false });
    expect(readdirSync(join(directory, "other"))).toEqual([".env"]);
  });

  test("clears directories of any depth that are in the way", async () => {
    const trees = new Trees(new ObjectMap());
    const directory = fresh();
    let place = Place.open(directory);
    for (let depth = 0; depth < 1500; depth++) {
      mkdirSync(place.at("d"), 0o700);
      const inner = place.enter("d") as Place;
      place.close();
      place = inner;
    }
    place.close();
    const to = await trees.with(emptyTree, "d", await file(trees, "x"));
    await restore(trees, directory, await trees.with(emptyTree, "d", await file(trees, "y")), to);
    expect(readdirSync(directory)).toEqual(["d"]);
    expect(readFileSync(join(directory, "d"), "utf8")).toBe("x");
  });

  test("leaves no temporary file when it fails", async () => {
    const trees = new Trees(new ObjectMap());
    const directory = fresh();
    mkdirSync(join(directory, "a"));
    const to = await trees.with(emptyTree, "a", await file(trees, "x"));
    await expect(restore(trees, directory, emptyTree, to, { own: false })).rejects.toThrow();
    expect(readdirSync(directory)).toEqual(["a"]);
  });

  test("tells the cache, so that the next snapshot reads no file that is older than a tick", async () => {
    const trees = new Trees(new ObjectMap());
    const [source, directory] = [fresh(), fresh()];
    for (let index = 0; index < 300; index++) writeFileSync(join(source, `${index}`), "x".repeat(20_000));
    const { tree: to } = await snapshot(trees, source);
    const cache = new StatCache();
    // However quick the machine is, a file is older than a tick when it is looked at.
    const now = Date.now;
    const later = vi.spyOn(Date, "now").mockImplementation(() => now() + 1000);
    onTestFinished(() => later.mockRestore());
    await restore(trees, directory, emptyTree, to, { cache });
    const again = await snapshot(trees, directory, { cache });
    expect([again.tree, again.hashed]).toEqual([to, 0]);
  });

  test("says so when a name is too long for the file system", async () => {
    const trees = new Trees(new ObjectMap());
    const to = await trees.with(emptyTree, "x".repeat(300), await file(trees, "x"));
    const restoring = restore(trees, fresh(), emptyTree, to);
    await expect(restoring).rejects.toSatisfy((error) => RathError.is(error, "workspace.invalid"));
  });

  test("stops when it is told to", async () => {
    const { trees, directory } = await two();
    const { tree: from } = await snapshot(trees, directory);
    await expect(restore(trees, directory, from, emptyTree, { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(existsSync(join(directory, "same/file"))).toBe(true);
  });
});

describe("a place", () => {
  test("stays the directory it was when a link takes its name", () => {
    const directory = fresh();
    mkdirSync(join(directory, "in"));
    const root = Place.open(directory);
    const inner = root.enter("in");
    renameSync(join(directory, "in"), join(directory, "moved"));
    symlinkSync(decoy, join(directory, "in"));
    if (process.platform === "linux") expect(inner?.names()).toEqual([]);
    expect(root.enter("in")).toBeUndefined();
    expect(() => root.chmod("in", 0o700)).toThrow();
    decoyIsUntouched();
    inner?.close();
    root.close();
  });
});

function closed(text: string): Node {
  return { type: "directory", mode: 0o555, children: new Map([[text, { type: "file", mode: 0o400, content: Buffer.from(text) }]]) };
}

async function file(trees: Trees, text: string): Promise<Entry> {
  return { type: "file", mode: 0o644, size: Buffer.byteLength(text), hash: await trees.objects.put(Buffer.from(text)) };
}

/** A directory with `same/file` and `other/file`, and another one outside of it with a file. */
async function two(): Promise<{ trees: Trees; directory: string; outside: string }> {
  const [directory, outside] = [fresh(), fresh()];
  for (const name of ["same", "other"]) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, "file"), name);
  }
  writeFileSync(join(outside, "file"), "outside");
  return { trees: new Trees(new ObjectMap()), directory, outside };
}

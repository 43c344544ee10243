/** What `apply` does to a user's directory: all that was chosen or nothing at all, and never anything beside it. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { type ApplyOptions, applyTo } from "./apply.ts";
import { changesBetween } from "./diff.ts";
import { collisions, foldsNames } from "./fold.ts";
import { Ignore } from "./ignore.ts";
import { ObjectMap } from "./objects.ts";
import { Place } from "./place.ts";
import { snapshot } from "./snapshot.ts";
import { type Entry, Trees } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "openrath-apply-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

let trees: Trees;
let directory: string;
let base: string;
let made = 0;

beforeEach(async () => {
  trees = new Trees(new ObjectMap());
  directory = join(scratch, `user${made++}`);
  put({ "a.txt": "a", "b.txt": "b", "src/one.ts": "one", "src/two.ts": "two", "src/deep/three.ts": "three", "old/gone.ts": "gone" });
  base = (await snapshot(trees, directory)).tree;
});

function put(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}
async function file(text: string, mode = 0o644): Promise<Entry> {
  return { type: "file", mode, size: Buffer.byteLength(text), hash: await trees.objects.put(Buffer.from(text)) };
}
/** The base with files that have other texts, or are gone. */
async function edited(files: Readonly<Record<string, string | Entry | undefined>>, from = base): Promise<string> {
  let tree = from;
  for (const [path, text] of Object.entries(files)) tree = await trees.with(tree, path, typeof text === "string" ? await file(text) : text);
  return tree;
}
async function now(): Promise<string> {
  return (await snapshot(trees, directory)).tree;
}
function read(path: string): string {
  return readFileSync(join(directory, path), "utf8");
}
function apply(target: string, options: ApplyOptions = {}) {
  return applyTo(trees, directory, base, target, options);
}
/** The paths of the refusal, after which the directory must be as it was. */
async function refused(target: string, code: "workspace.changed" | "workspace.invalid", options: ApplyOptions = {}) {
  const before = await now();
  const error = await apply(target, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(RathError.is(error, code) ? code : error).toBe(code);
  expect(await now()).toBe(before);
  return (error as RathError).details["paths"];
}

describe("apply", () => {
  test("writes what changed, and tells it", async () => {
    const target = await edited({
      "a.txt": "A",
      "src/new/four.ts": "four",
      "old/gone.ts": undefined,
      "b.txt": { type: "link", target: "a.txt" },
    });
    expect(await apply(target)).toEqual(await changesBetween(trees, base, target));
    expect(await now()).toBe(target);
    expect(readlinkSync(join(directory, "b.txt"))).toBe("a.txt");
  });

  test("leads from any tree to any other, changes of type and permissions included", async () => {
    const target = await edited({
      "a.txt": await file("a", 0o755),
      src: await file("now a file"),
      "b.txt": undefined,
      "b.txt/inside": "in",
      old: undefined,
      empty: {
        type: "directory",
        mode: 0o750,
        hash: (await trees.entry(base, "old"))?.type === "directory" ? await trees.store(new Map()) : "",
      },
    });
    await apply(target);
    expect(await now()).toBe(target);
    const back = await applyTo(trees, directory, target, base);
    expect(await now()).toBe(base);
    expect(back.length).toBeGreaterThan(5);
  });

  test("changes nothing on a dry run, and tells the same", async () => {
    const target = await edited({ "a.txt": "A", "new.txt": "new", "old/gone.ts": undefined });
    const told = await apply(target, { dryRun: true });
    expect(await now()).toBe(base);
    expect(await apply(target)).toEqual(told);
  });

  test("puts nothing into the content store", async () => {
    const target = await edited({ "a.txt": "A", "src/one.ts": "ONE" });
    const before = (trees.objects as ObjectMap).map.size;
    await apply(target, { paths: ["a.txt"] });
    expect((trees.objects as ObjectMap).map.size).toBe(before);
  });

  test("writes chosen files and directories alone", async () => {
    const target = await edited({ "a.txt": "A", "src/one.ts": "1", "src/deep/three.ts": "3", "src/deep/four.ts": "4", "srcs.ts": "no" });
    const changes = await apply(target, { paths: ["./src/deep/", "a.txt"] });
    expect(changes.map(({ path }) => path)).toEqual(["a.txt", "src/deep/four.ts", "src/deep/three.ts"]);
    expect([read("a.txt"), read("src/one.ts"), read("src/deep/three.ts"), existsSync(join(directory, "srcs.ts"))]).toEqual([
      "A",
      "one",
      "3",
      false,
    ]);
    expect((await apply(await edited({ "a.txt": "A", "src/one.ts": "1" }), { paths: ["."] })).map(({ path }) => path)).toEqual([
      "src/one.ts",
    ]);
  });

  test("can take one file out of a directory that goes or takes the place of a file", async () => {
    const target = await edited({ src: undefined, "a.txt": undefined, "a.txt/in": "in", "a.txt/more": "more" });
    await apply(target, { paths: ["src/one.ts", "a.txt/in", "b.txt/none"] });
    expect(readdirSync(join(directory, "src")).sort()).toEqual(["deep", "two.ts"]);
    expect(readdirSync(join(directory, "a.txt"))).toEqual(["in"]);
  });

  test("leaves alone what is as it should be already", async () => {
    const target = await edited({ "a.txt": "A", "b.txt": undefined, old: undefined, "new/x": "x", "new/y": "y" });
    put({ "a.txt": "A", "new/x": "x" });
    unlinkSync(join(directory, "b.txt"));
    unlinkSync(join(directory, "old/gone.ts"));
    const look = lstatSync(join(directory, "a.txt"), { bigint: true }).ctimeNs;
    expect((await apply(target)).map(({ path }) => path)).toEqual(["new/y"]);
    expect(await now()).toBe(target);
    expect(lstatSync(join(directory, "a.txt"), { bigint: true }).ctimeNs).toBe(look);
  });

  test("keeps what others changed elsewhere meanwhile", async () => {
    put({ "b.txt": "mine", "src/mine.ts": "mine", "old/mine.ts": "mine" });
    rmSync(join(directory, "src/deep"), { recursive: true });
    await apply(await edited({ "a.txt": "A", "src/one.ts": "1", old: undefined, "src/deep/new.ts": "new" }));
    expect([read("b.txt"), read("src/mine.ts"), read("a.txt")]).toEqual(["mine", "mine", "A"]);
    expect(readdirSync(join(directory, "old"))).toEqual(["mine.ts"]);
    expect(readdirSync(join(directory, "src/deep"))).toEqual(["new.ts"]);
  });
});

describe("apply refuses and writes nothing", () => {
  test("when a file was changed, removed, or made meanwhile; all such paths are named", async () => {
    put({ "a.txt": "mine", "new.txt": "mine" });
    unlinkSync(join(directory, "src/one.ts"));
    chmodSync(join(directory, "src/two.ts"), 0o600);
    const target = await edited({
      "a.txt": "A",
      "b.txt": "B",
      "new.txt": "new",
      "src/one.ts": "1",
      "src/two.ts": "2",
      "old/gone.ts": undefined,
    });
    expect(await refused(target, "workspace.changed")).toEqual(["a.txt", "src/one.ts", "src/two.ts", "new.txt"]);
    expect(await refused(target, "workspace.changed", { dryRun: true })).toHaveLength(4);
    await apply(target, { paths: ["b.txt", "old"] });
    expect(read("b.txt")).toBe("B");
  });

  test("when a file was rewritten with the same size and time", async () => {
    put({ "a.txt": "z" });
    expect(await refused(await edited({ "a.txt": "A" }), "workspace.changed")).toEqual(["a.txt"]);
  });

  test("when a file that is to be removed was changed", async () => {
    put({ "old/gone.ts": "mine" });
    expect(await refused(await edited({ old: undefined }), "workspace.changed")).toEqual(["old/gone.ts"]);
    expect(await refused(await edited({ old: await file("x") }), "workspace.changed")).toEqual(["old/gone.ts", "old"]);
  });

  test("when a directory that is to become a file holds what nobody recorded", async () => {
    put({ "old/.env": "secret" });
    expect(await refused(await edited({ old: await file("x") }), "workspace.changed", { ignore: new Ignore() })).toEqual(["old"]);
  });

  test("when a parent became a link, and nothing outside changes", async () => {
    const outside = join(scratch, `outside${made++}`);
    mkdirSync(join(outside, "deep"), { recursive: true });
    for (const path of ["one.ts", "two.ts"]) writeFileSync(join(outside, path), path.slice(0, 3));
    writeFileSync(join(outside, "deep/three.ts"), "three");
    rmSync(join(directory, "src"), { recursive: true });
    symlinkSync(outside, join(directory, "src"));
    const target = await edited({ "src/one.ts": "1", "src/new.ts": "new", "src/deep/three.ts": undefined, "src/d/e": "e" });
    expect(await refused(target, "workspace.changed")).toEqual(["src/deep/three.ts", "src/one.ts", "src/d/e", "src/new.ts"]);
    expect(await refused(await edited({ src: undefined }), "workspace.changed")).toHaveLength(3);
    expect(readdirSync(outside).sort()).toEqual(["deep", "one.ts", "two.ts"]);
    expect(readFileSync(join(outside, "one.ts"), "utf8")).toBe("one");
  });

  test("when a file became a link to the same content", async () => {
    unlinkSync(join(directory, "a.txt"));
    writeFileSync(join(scratch, "same"), "a");
    symlinkSync(join(scratch, "same"), join(directory, "a.txt"));
    expect(await refused(await edited({ "a.txt": "A" }), "workspace.changed")).toEqual(["a.txt"]);
    expect(readFileSync(join(scratch, "same"), "utf8")).toBe("a");
  });

  test("when two names are one on the file system", async () => {
    const target = await edited({ "README.md": "x", "readme.md": "y", "src/\u00e9": "1", "src/e\u0301": "2" });
    expect(await refused(target, "workspace.invalid", { foldsNames: true })).toEqual([
      "src/e\u0301",
      "src/\u00e9",
      "README.md",
      "readme.md",
    ]);
    await apply(target);
    expect(await now()).toBe(target);
  });

  test("when a directory cannot be written", (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can ask as another user");
    const readable = spawnSync("test", ["-r", fileURLToPath(import.meta.url)], { uid: 65_534 }).status === 0;
    if (!readable) return context.skip("no other user can read this repository");
    chmodSync(scratch, 0o755);
    chmodSync(join(directory, "src"), 0o777);
    // The system answers for the real user, so another process asks.
    const program = `
      import { applyTo } from "./src/workspace/apply.ts";
      import { ObjectMap } from "./src/workspace/objects.ts";
      import { snapshot } from "./src/workspace/snapshot.ts";
      import { Trees } from "./src/workspace/tree.ts";
      const trees = new Trees(new ObjectMap());
      const directory = ${JSON.stringify(directory)};
      const { tree } = await snapshot(trees, directory);
      const target = await trees.with(await trees.with(tree, "a.txt", undefined), "src/new", { type: "link", target: "x" });
      await applyTo(trees, directory, tree, target).catch((error) => console.log(error.code, error.details.paths));`;
    const printed = execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
      uid: 65_534,
      encoding: "utf8",
    });
    expect(printed).toBe("workspace.unreadable [ '.' ]\n");
    expect(existsSync(join(directory, "src/new"))).toBe(false);
  });

  test("when something is swapped between the look and the write", async () => {
    const target = await edited({ "b.txt": "B" });
    const objects = trees.objects;
    const slow = trees.over({
      put: (bytes) => objects.put(bytes),
      // Contents are fetched after everything was looked at.
      get: (hash) => {
        put({ "b.txt": "mine" });
        return objects.get(hash);
      },
    });
    await expect(applyTo(slow, directory, base, target)).rejects.toSatisfy((error) => RathError.is(error, "workspace.changed"));
    expect(read("b.txt")).toBe("mine");
    expect(readdirSync(directory).sort()).toEqual(["a.txt", "b.txt", "old", "src"]);
  });
});

describe("apply leaves alone", () => {
  test("contents that were withheld", async () => {
    put({ "src/big": "x".repeat(100), secret: "token" });
    const options = { limits: { file: 50 }, withhold: (bytes: Uint8Array) => Buffer.from(bytes).includes("token") };
    base = (await snapshot(trees, directory, options)).tree;
    await apply(await edited({ src: undefined, secret: undefined }));
    expect([read("secret"), readdirSync(join(directory, "src"))]).toEqual(["token", ["big"]]);
    expect(await refused(await edited({ secret: "mine" }), "workspace.changed")).toEqual(["secret"]);
  });

  test("a file whose new content was not kept", async () => {
    expect(await apply(await edited({ "a.txt": { type: "withheld", why: "size", size: 9 }, "b.txt": "B" }))).toHaveLength(1);
    expect(read("a.txt")).toBe("a");
  });

  test("a file whose new content was erased, in a process that has not read its directory before", async () => {
    const target = await edited({ "src/one.ts": "secret", "src/two.ts": "2" });
    const erased = new Set([await trees.objects.put(Buffer.from("secret"))]);
    const { map } = trees.objects as ObjectMap;
    for (const hash of erased) map.delete(hash);
    const { objects } = trees;
    const fresh = new Trees({ get: (hash) => objects.get(hash), put: (bytes) => objects.put(bytes), erased: async () => erased });
    const told = await applyTo(fresh, directory, base, target, { dryRun: true });
    expect(told.map(({ path }) => path)).toEqual(["src/two.ts"]);
    expect(await applyTo(fresh, directory, base, target)).toEqual(told);
    expect([read("src/one.ts"), read("src/two.ts")]).toEqual(["one", "2"]);
  });

  test("what its rules leave out", async () => {
    const changes = await apply(await edited({ ".env": "stolen", "node_modules/x/index.js": "x", "a.txt": "A" }), { ignore: new Ignore() });
    expect(changes.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(readdirSync(directory).sort()).toEqual(["a.txt", "b.txt", "old", "src"]);
  });
});

test("names collide by case and Unicode form; an ordinary file system tells them apart", () => {
  expect(collisions(["a", "B", "b", "c", "\u00e9", "e\u0301"])).toEqual(["B", "b", "\u00e9", "e\u0301"]);
  const place = Place.open(directory);
  if (process.platform === "linux") expect(foldsNames(place)).toBe(false);
  place.close();
});

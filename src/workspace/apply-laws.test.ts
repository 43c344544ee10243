/** Laws of `apply`: it leads to the target, or refuses for exactly those paths that both sides changed; nobody's work is lost. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { applyTo } from "./apply.ts";
import { ObjectMap } from "./objects.ts";
import { restore } from "./restore.ts";
import { snapshot } from "./snapshot.ts";
import { type Entry, emptyTree, sorted, Trees } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "openrath-apply-laws-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let made = 0;

async function directoryWith(trees: Trees, tree: string): Promise<string> {
  const directory = join(scratch, `d${made++}`);
  mkdirSync(directory);
  await restore(trees, directory, emptyTree, tree);
  return directory;
}

type Leaf = { readonly text: string; readonly mode: number } | { readonly target: string };
type Node = Leaf | ReadonlyMap<string, Node>;

const leaf: fc.Arbitrary<Leaf> = fc.oneof(
  fc.record({ text: fc.constantFrom("", "a", "b"), mode: fc.constantFrom(0o644, 0o755) }),
  fc.record({ target: fc.constantFrom("a", "/nowhere/at/all", "../b") }),
);
const { node } = fc.letrec<{ node: Node; directory: Node }>((tie) => ({
  node: fc.oneof({ maxDepth: 3, withCrossShrink: true }, leaf, tie("directory")),
  directory: fc
    .dictionary(fc.constantFrom("a", "b", "c"), tie("node"), { maxKeys: 3 })
    .map((children) => new Map(Object.entries(children))),
}));
const whole = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), node).map((children) => new Map(Object.entries(children)));

async function stored(trees: Trees, children: ReadonlyMap<string, Node>): Promise<string> {
  const entries: [string, Entry][] = [];
  for (const [name, child] of children) entries.push([name, await entryOf(trees, child)]);
  return trees.store(sorted(entries));
}
async function entryOf(trees: Trees, child: Node): Promise<Entry> {
  if (child instanceof Map) return { type: "directory", mode: 0o755, hash: await stored(trees, child) };
  if ("target" in child) return { type: "link", target: child.target };
  const { text, mode } = child as { text: string; mode: number };
  return { type: "file", mode, size: text.length, hash: await trees.objects.put(Buffer.from(text)) };
}

test("a directory that stayed as it was gets the target, whatever it is", async () => {
  await fc.assert(
    fc.asyncProperty(whole, whole, async (a, b) => {
      const trees = new Trees(new ObjectMap());
      const [base, target] = [await stored(trees, a), await stored(trees, b)];
      const directory = await directoryWith(trees, base);
      const told = await applyTo(trees, directory, base, target, { dryRun: true });
      expect((await snapshot(trees, directory)).tree).toBe(base);
      expect(await applyTo(trees, directory, base, target)).toEqual(told);
      expect((await snapshot(trees, directory)).tree).toBe(target);
      expect(await applyTo(trees, directory, base, target)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

const paths = ["a", "b", "d/a", "d/b", "d/e/a"] as const;
const state = fc.record(Object.fromEntries(paths.map((path) => [path, fc.option(fc.constantFrom("1", "2", "3"), { nil: undefined })])));
type State = Readonly<Record<string, string | undefined>>;

async function treeOf(trees: Trees, files: State): Promise<string> {
  let tree = emptyTree;
  for (const [path, text] of Object.entries(files))
    if (text !== undefined) tree = await trees.with(tree, path, await entryOf(trees, { text, mode: 0o644 }));
  return tree;
}
async function stateOf(trees: Trees, directory: string): Promise<State> {
  const { tree } = await snapshot(trees, directory);
  const files: Record<string, string | undefined> = {};
  for (const path of paths) {
    const entry = await trees.entry(tree, path);
    files[path] = entry?.type === "file" ? Buffer.from(await trees.objects.get(entry.hash)).toString() : undefined;
  }
  return files;
}

test("a directory that others changed keeps their changes, and refuses for those that cross", async () => {
  await fc.assert(
    fc.asyncProperty(
      state,
      state,
      state,
      fc.option(fc.subarray([...paths, "d", "d/e"]), { nil: undefined }),
      async (base, target, mine, chosen) => {
        const trees = new Trees(new ObjectMap());
        const directory = await directoryWith(trees, await treeOf(trees, mine));
        const isChosen = (path: string) => chosen === undefined || chosen.some((one) => path === one || path.startsWith(`${one}/`));
        const changed = paths.filter((path) => base[path] !== target[path] && isChosen(path));
        const crossing = changed.filter((path) => mine[path] !== base[path] && mine[path] !== target[path]);
        const result = await applyTo(trees, directory, await treeOf(trees, base), await treeOf(trees, target), { paths: chosen }).then(
          (changes) => ({ written: changes.map(({ path }) => path) }),
          (error: unknown) => ({ refused: RathError.is(error, "workspace.changed") ? error.details["paths"] : error }),
        );
        if (crossing.length > 0) {
          expect([...((result as { refused: string[] }).refused ?? [])].sort()).toEqual([...crossing].sort());
          expect(await stateOf(trees, directory)).toEqual(mine);
          return;
        }
        expect(result).toEqual({ written: changed.filter((path) => mine[path] !== target[path]) });
        expect(await stateOf(trees, directory)).toEqual({ ...mine, ...Object.fromEntries(changed.map((path) => [path, target[path]])) });
      },
    ),
    { numRuns: 100 },
  );
});

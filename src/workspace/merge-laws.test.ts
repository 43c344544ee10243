/** Laws of merges, on random trees and against models of plain maps. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { leavesOf, someFiles, type TreeModel, treeFrom } from "../testing/tree-model.ts";
import { textOf } from "./conflict.ts";
import { diff3 } from "./diff3.ts";
import { mergeTrees } from "./merge.ts";
import { ObjectMap } from "./objects.ts";
import { type Entry, sameEntry, Trees } from "./tree.ts";

async function three(base: TreeModel, ours: TreeModel, theirs: TreeModel) {
  const trees = new Trees(new ObjectMap());
  const [a, o, t] = [await treeFrom(trees, base), await treeFrom(trees, ours), await treeFrom(trees, theirs)];
  return { trees, a, o, t };
}

/** A side made from the base by taking some paths away and putting others in, so that most stays. */
function side(base: TreeModel, drop: readonly boolean[], more: TreeModel): TreeModel {
  const result: Record<string, TreeModel[string]> = {};
  Object.entries(base).forEach(([path, spec], i) => {
    if (!drop[i]) result[path] = spec;
  });
  for (const [path, spec] of Object.entries(more)) {
    for (const other of Object.keys(result)) if (related(other, path)) delete result[other];
    result[path] = spec;
  }
  return result;
}

const related = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
const drops = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 });
const triple = fc
  .record({ base: someFiles, dropOurs: drops, dropTheirs: drops, ours: someFiles, theirs: someFiles })
  .map((given) => [given.base, side(given.base, given.dropOurs, given.ours), side(given.base, given.dropTheirs, given.theirs)] as const);

test("with an unchanged or an equal side, a merge is the other side", async () => {
  await fc.assert(
    fc.asyncProperty(triple, async ([base, ours]) => {
      const { trees, a, o } = await three(base, ours, {});
      for (const [left, right] of [[o, a] as const, [a, o] as const, [o, o] as const])
        expect(await mergeTrees(trees, a, left, right)).toEqual({ tree: o, conflicts: [] });
    }),
  );
});

test("sides can be swapped: the same conflicts, and without any the same tree", async () => {
  await fc.assert(
    fc.asyncProperty(triple, async (models) => {
      const { trees, a, o, t } = await three(...models);
      const [one, other] = [await mergeTrees(trees, a, o, t), await mergeTrees(trees, a, t, o)];
      expect(one.conflicts.map(({ path, problem }) => `${problem} ${path}`)).toEqual(
        other.conflicts.map(({ path, problem }) => `${problem} ${path}`),
      );
      if (one.conflicts.length === 0) expect(one.tree).toBe(other.tree);
    }),
    { numRuns: 300 },
  );
});

test("changes that do not meet merge without conflicts, in either order", async () => {
  await fc.assert(
    fc.asyncProperty(someFiles, someFiles, someFiles, drops, async (base, mine, yours, drop) => {
      // What begins with "a" belongs to one side, the rest to the other.
      const own = (path: string, first: boolean): boolean => /^a/.test(path) === first;
      const pick = (model: TreeModel, first: boolean) => Object.fromEntries(Object.entries(model).filter(([path]) => own(path, first)));
      const of = (first: boolean, more: TreeModel) => ({
        ...pick(base, !first),
        ...side(pick(base, first), drop, pick(more, first)),
      });
      const { trees, a, o, t } = await three(base, of(true, mine), of(false, yours));
      const both = await treeFrom(trees, { ...pick(of(true, mine), true), ...pick(of(false, yours), false) });
      expect(await mergeTrees(trees, a, o, t)).toEqual({ tree: both, conflicts: [] });
      expect(await mergeTrees(trees, a, t, o)).toEqual({ tree: both, conflicts: [] });
    }),
    { numRuns: 200 },
  );
});

test("what both sides changed differently is a conflict unless texts merge; what one changed is taken; nothing else happens", async () => {
  await fc.assert(
    fc.asyncProperty(triple, async (models) => {
      const { trees, a, o, t } = await three(...models);
      const { tree, conflicts } = await mergeTrees(trees, a, o, t);
      const [base, ours, theirs, result] = await Promise.all([a, o, t, tree].map((hash) => filesIn(trees, hash)));
      for (const path of new Set([...base!.keys(), ...ours!.keys(), ...theirs!.keys(), ...result!.keys()])) {
        const [was, mine, yours, now] = [base!.get(path), ours!.get(path), theirs!.get(path), result!.get(path)];
        const conflict = conflicts.some((one) => related(one.path, path));
        if (sameEntry(mine, yours)) expect(conflict || sameEntry(now, mine)).toBe(true);
        else if (sameEntry(was, mine)) expect(conflict || sameEntry(now, yours)).toBe(true);
        else if (sameEntry(was, yours)) expect(conflict || sameEntry(now, mine)).toBe(true);
        else if (!conflict) expect(await content(trees, now)).toBe(await cleanText(trees, was, mine, yours));
      }
      for (const { path, entries } of conflicts) {
        expect(sameEntry(entries.base, entries.ours) || sameEntry(entries.base, entries.theirs)).toBe(false);
        expect([entries.ours, entries.theirs]).toEqual([await trees.entry(o, path), await trees.entry(t, path)]);
      }
    }),
    { numRuns: 400 },
  );
});

async function filesIn(trees: Trees, tree: string): Promise<Map<string, Entry>> {
  return new Map([...(await leavesOf(trees, tree))].filter(([, entry]) => entry.type !== "directory"));
}

async function content(trees: Trees, entry: Entry | undefined): Promise<string | undefined> {
  return textOf(trees, entry);
}

/** What three files merge to; fails where they cannot. */
async function cleanText(trees: Trees, ...files: readonly (Entry | undefined)[]): Promise<string> {
  const [was, mine, yours] = await Promise.all(files.map((file) => textOf(trees, file)));
  if (mine !== undefined && mine === yours) return mine;
  if (was === undefined || mine === undefined || yours === undefined) throw new Error("a conflict was not seen");
  const { text, conflicts } = diff3(was, mine, yours);
  expect(conflicts).toBe(0);
  return text;
}

/** Files of numbered lines, of which sides replace some: no doubt about what was changed. */
const edits = fc.dictionary(
  fc.constantFrom("a", "b", "d/c"),
  fc.dictionary(fc.constantFrom("0", "2", "4", "6", "8"), fc.constantFrom("x", "y")),
);

test("lines that both sides changed differently are a conflict, lines apart merge", async () => {
  const file = (changes: Readonly<Record<string, string>> = {}): string =>
    Array.from({ length: 9 }, (_, i) => `${i} ${changes[i] ?? ""}\n`).join("");
  const model = (all: Readonly<Record<string, Readonly<Record<string, string>>>>): TreeModel =>
    Object.fromEntries(["a", "b", "d/c"].map((path) => [path, file(all[path])]));
  await fc.assert(
    fc.asyncProperty(edits, edits, async (mine, yours) => {
      const { trees, a, o, t } = await three(model({}), model(mine), model(yours));
      const { tree, conflicts } = await mergeTrees(trees, a, o, t);
      const clash = (path: string) => Object.entries(mine[path] ?? {}).some(([i, to]) => (yours[path]?.[i] ?? to) !== to);
      expect(conflicts.map(({ path }) => path)).toEqual(["a", "b", "d/c"].filter(clash));
      for (const path of ["a", "b", "d/c"].filter((one) => !clash(one)))
        expect(await textOf(trees, await trees.entry(tree, path))).toBe(file({ ...mine[path], ...yours[path] }));
    }),
    { numRuns: 200 },
  );
});

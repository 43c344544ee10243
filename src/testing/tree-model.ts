/** Trees of files for tests: made from plain maps of paths, and random ones whose paths often meet. Not behind a door. */
import fc from "fast-check";
import { ObjectMap } from "../workspace/objects.ts";
import { type Entry, emptyTree, KnownDirectories, Trees } from "../workspace/tree.ts";

/** What is at a path: text or bytes of a file, or an entry. A directory is there by what is in it; an empty one is `emptyDirectory`. */
export type Spec = string | Uint8Array | Entry | { readonly text: string; readonly mode: number };
export type TreeModel = Readonly<Record<string, Spec>>;

export const emptyDirectory: Entry = { type: "directory", mode: 0o755, hash: emptyTree };
export const linkTo = (target: string): Entry => ({ type: "link", target });

/** Trees in memory that count what is read. */
export class CountingTrees extends Trees {
  readonly reads: string[];

  constructor() {
    const objects = new ObjectMap();
    const reads: string[] = [];
    // Without a memory of nodes, every look at a directory is a read.
    const forgetful = new KnownDirectories(0);
    const get = (hash: string): Promise<Uint8Array> => {
      reads.push(hash);
      return objects.get(hash);
    };
    super({ get, put: (bytes) => objects.put(bytes) }, forgetful);
    this.reads = reads;
  }
}

/** The entry of a file with this content. */
async function fileEntry(trees: Trees, content: string | Uint8Array, mode = 0o644): Promise<Entry> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return { type: "file", mode, size: bytes.length, hash: await trees.objects.put(bytes) };
}

/** The tree with these files. */
export async function treeFrom(trees: Trees, model: TreeModel): Promise<string> {
  let tree = emptyTree;
  for (const [path, spec] of Object.entries(model)) tree = await trees.with(tree, path, await entryFrom(trees, spec));
  return tree;
}

async function entryFrom(trees: Trees, spec: Spec): Promise<Entry> {
  if (typeof spec === "string" || spec instanceof Uint8Array) return fileEntry(trees, spec);
  return "text" in spec ? fileEntry(trees, spec.text, spec.mode) : spec;
}

/** Everything in a tree that is no directory, and empty directories, by path. */
export async function leavesOf(trees: Trees, tree: string): Promise<Map<string, Entry>> {
  const leaves = new Map<string, Entry>();
  for await (const { path, entry } of trees.walk(tree)) if (entry.type !== "directory" || entry.hash === emptyTree) leaves.set(path, entry);
  return leaves;
}

/** Names of which one is in order before the slash, one is no UTF-8, and one needs two UTF-16 units. */
const name = fc.constantFrom("a", "b", "a.txt", "é", "\udcff", "😀", "\uffee");
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
const content = fc.constantFrom("", "one\n", "two\n", "one\ntwo\nthree\n", "no newline");
const spec: fc.Arbitrary<Spec> = fc.oneof(
  { weight: 6, arbitrary: content },
  { weight: 1, arbitrary: content.map((text) => ({ text, mode: 0o755 })) },
  { weight: 1, arbitrary: fc.constantFrom("a", "../b").map(linkTo) },
  { weight: 1, arbitrary: fc.constant(emptyDirectory) },
  { weight: 1, arbitrary: fc.constantFrom<Entry>({ type: "fifo" }, { type: "withheld", why: "size", size: 9 }) },
);

/** Random files whose paths meet often; never one below something that is no directory. */
export const someFiles: fc.Arbitrary<TreeModel> = fc.array(fc.tuple(path, spec), { maxLength: 8 }).map((pairs) => {
  const model: Record<string, Spec> = {};
  for (const [at, value] of pairs) {
    const blocked = Object.keys(model).some((other) => other === at || other.startsWith(`${at}/`) || at.startsWith(`${other}/`));
    if (!blocked) model[at] = value;
  }
  return model;
});

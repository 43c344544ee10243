/**
 * The files of a tree, to read and to write. Trees are values: writing gives the hash of another one. Patterns and patches need
 * packages that are loaded when somebody asks.
 */
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import type { Files } from "../session/session.ts";
import { changesBetween, inOrder, join } from "./diff.ts";
import { bytesOf } from "./name.ts";
import { normalPath, resolvePath } from "./path.ts";
import type { Entry, Trees } from "./tree.ts";

/** The public view of a tree. Nothing is read before somebody asks; `taken` names the tree that it began with. */
export function filesOf(trees: Trees, tree: string, taken: () => string): Files {
  return {
    hash: tree,
    list: (glob) => listFiles(trees, tree, glob),
    read: async (path) => copyOf(await readFile(trees, tree, path)),
    text: async (path) => Buffer.from(await readFile(trees, tree, path)).toString("utf8"),
    changes: async (since) => changesBetween(trees, since?.hash ?? taken(), tree),
    patch: async (since) => (await import("./patch.ts")).patchBetween(trees, since?.hash ?? taken(), tree),
  };
}

/** Paths of files and links, in the byte order of paths; with a pattern those that match it. Links are not followed. */
async function* listFiles(trees: Trees, tree: string, pattern?: string): AsyncGenerator<string> {
  if (pattern === undefined) return yield* leaves(trees, { type: "directory", mode: 0, hash: tree }, "");
  const glob = (await import("./glob.ts")).globOf(pattern);
  const top = await trees.entry(tree, glob.base);
  if (top === undefined) return;
  let batch: string[] = [];
  for await (const path of leaves(trees, top, glob.base)) {
    if (batch.push(path) < batchSize) continue;
    yield* glob.filter(batch);
    batch = [];
  }
  yield* glob.filter(batch);
}

const batchSize = 1000;

/** In the order of whole paths: "a.txt" is before "a/b", since a dot is before a slash. */
async function* leaves(trees: Trees, entry: Entry, path: string): AsyncGenerator<string> {
  if (entry.type === "directory") {
    const inside = inOrder([...(await trees.directory(entry.hash))], ([name, { type }]) => (type === "directory" ? `${name}/` : name));
    for (const [name, below] of inside) yield* leaves(trees, below, join(path, name));
  } else if (entry.type === "file" || entry.type === "link" || entry.type === "withheld") yield path;
}

/** The content of a file; links are followed. It is the one that is kept: who gives it away gives a copy. */
export async function readFile(trees: Trees, tree: string, path: string): Promise<Uint8Array> {
  const { entry } = await resolvePath(trees, tree, path);
  if (entry.type === "file") return trees.objects.get(entry.hash);
  if (entry.type === "withheld") throw withheld(path, entry);
  throw refused(path, entry.type, "read");
}

/** What is kept under its hash is nobody's to change, so users give and get copies. A Buffer's own `slice` would share its bytes. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.prototype.slice.call(bytes);
}

/**
 * The tree with other content at a path. Links are followed, also to a file that is not there yet; directories above are made, and
 * a file keeps its permissions.
 */
export async function writeFile(trees: Trees, tree: string, path: string, content: Uint8Array): Promise<string> {
  const { path: real, entry } = await resolvePath(trees, tree, path, { missing: true });
  if (entry !== undefined && entry.type !== "file" && entry.type !== "withheld") throw refused(path, entry.type, "written");
  if (entry === undefined) checkLength(path, real);
  const mode = entry?.type === "file" ? entry.mode : 0o644;
  return trees.with(tree, real, { type: "file", mode, size: content.length, hash: await trees.objects.put(content) });
}

/** The tree without what is at a path: a file, a link (not what it points to), or a directory with all that is in it. */
export async function removePath(trees: Trees, tree: string, path: string): Promise<string> {
  const { path: real, entry } = await resolvePath(trees, tree, path, { followLast: false, missing: true });
  if (real === "")
    throw new RathError("workspace.invalid", "The workspace itself cannot be removed: remove what is in it.", { details: { path } });
  return entry === undefined ? tree : trees.with(tree, real, undefined);
}

/** What is in a directory, not below it, in the order of names. Paths begin as the one that was asked for, links followed or not. */
export async function listDirectory(
  trees: Trees,
  tree: string,
  path: string,
): Promise<readonly { readonly path: string; readonly entry: Entry }[]> {
  const { entry } = await resolvePath(trees, tree, path);
  if (entry.type !== "directory")
    throw new RathError("workspace.invalid", `${JSON.stringify(path)} is a ${entry.type}, not a directory.`, { details: { path } });
  const under = normalPath(path);
  return [...(await trees.directory(entry.hash))].map(([name, below]) => ({ path: join(under, name), entry: below }));
}

/** What file systems take: a tree that cannot be written to a disk helps nobody. */
function checkLength(path: string, real: string): void {
  const tooLong = bytesOf(real).length > mostPathBytes || real.split("/").some((name) => bytesOf(name).length > mostNameBytes);
  if (!tooLong) return;
  const limit = `a path has at most ${mostPathBytes} bytes, each name in it ${mostNameBytes}`;
  throw new RathError("workspace.invalid", `${JSON.stringify(path.slice(0, 100))}… is too long: ${limit}.`, { details: { path } });
}

const mostPathBytes = 3800;
const mostNameBytes = 255;

function withheld(path: string, entry: Entry & { readonly type: "withheld" }): RathError {
  if (entry.why === "erased")
    return new RathError("event.erased", `The content of ${JSON.stringify(path)} (${counted(entry.size, "byte")}) was erased.`, {
      details: { path, why: entry.why, size: entry.size },
    });
  const why = entry.why === "size" ? `it is too large (${counted(entry.size, "byte")})` : "it holds a secret";
  return new RathError("workspace.not-found", `The content of ${JSON.stringify(path)} was not kept: ${why}.`, {
    details: { path, why: entry.why, size: entry.size },
  });
}

function refused(path: string, type: Entry["type"], verb: string): RathError {
  return new RathError("workspace.invalid", `${JSON.stringify(path)} is a ${type}, so it cannot be ${verb}.`, { details: { path, type } });
}

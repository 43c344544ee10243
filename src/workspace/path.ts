/**
 * Paths that users, models and tools give. A path is relative to the workspace, or absolute under "/workspace". Links are followed
 * inside the recorded tree, as a kernel would with the workspace as its root: never to a file of the host.
 */
import { RathError } from "../session/errors.ts";
import { join } from "./diff.ts";
import { bytesOf, nameOf } from "./name.ts";
import type { Entry, Trees } from "./tree.ts";

/** Where the workspace is, as commands in a sandbox see it. */
export const mount = "/workspace";

/**
 * The path from the root of the workspace, "" for the root itself. Dots and doubled slashes go; ".." is taken by the text alone.
 * Throws `sandbox.outside` for a path that leaves the workspace, also if it would come back.
 */
export function normalPath(path: string): string {
  if (path.includes("\0"))
    throw new RathError("workspace.invalid", `${quoted(path)} holds a zero byte: no path can.`, { details: { path } });
  const steps: string[] = [];
  for (const step of (path.startsWith("/") ? underMount(path, path) : path).split("/")) {
    if (step === "..") {
      if (steps.pop() === undefined) throw outside(path);
    } else if (step !== "" && step !== ".") steps.push(step);
  }
  return canonical(steps.join("/"));
}

export interface ResolveOptions {
  /** Whether a link at the end of the path is followed too. Default: true. */
  readonly followLast?: boolean | undefined;
  /** Whether steps at the end may not exist yet: for writing. */
  readonly missing?: boolean | undefined;
}

/** Where a path leads. */
export interface Resolved {
  /** The real path: no step of it is a link, except the last when it was not to be followed. */
  readonly path: string;
  /** What is there; undefined when nothing is yet. */
  readonly entry: Entry | undefined;
}

/**
 * Where a path really leads in a tree. Rejects with `workspace.not-found` when nothing is there, `workspace.invalid` when a file is
 * used as a directory or links go in circles, `sandbox.outside` when a link points out of the workspace.
 */
export async function resolvePath(
  trees: Trees,
  tree: string,
  path: string,
  options: ResolveOptions & { readonly missing: true },
): Promise<Resolved>;
export async function resolvePath(
  trees: Trees,
  tree: string,
  path: string,
  options?: ResolveOptions & { readonly missing?: false | undefined },
): Promise<Resolved & { readonly entry: Entry }>;
export async function resolvePath(trees: Trees, tree: string, path: string, options: ResolveOptions = {}): Promise<Resolved> {
  const normal = normalPath(path);
  const root: Found = { path: "", entry: { type: "directory", mode: 0o755, hash: tree } };
  let found: Found[] = [root];
  let rest = normal === "" ? [] : normal.split("/");
  for (let links = 0; rest.length > 0; ) {
    const at = found.at(-1) as Found;
    const step = rest.shift() as string;
    if (at.entry.type !== "directory") throw notDirectory(path, at);
    if (step === ".") continue;
    if (step === "..") {
      if (found.length === 1) throw outside(path, at.path);
      found.pop();
      continue;
    }
    const here = join(at.path, step);
    const directory = await trees.directory(at.entry.hash);
    const entry = directory.get(step);
    if (entry === undefined) {
      if (options.missing !== true || rest.some((next) => next === "." || next === ".."))
        throw await notFound(path, here, step, directory.keys());
      return { path: [here, ...rest].join("/"), entry: undefined };
    }
    if (entry.type !== "link" || (rest.length === 0 && options.followLast === false)) {
      found.push({ path: here, entry });
      continue;
    }
    links += 1;
    if (links > mostLinks)
      throw new RathError("workspace.invalid", `The links on the way to ${quoted(path)} go in circles.`, { details: { path } });
    if (entry.target === "") throw await notFound(path, here, step, []);
    if (entry.target.startsWith("/")) found = [root];
    // An empty step stands where a slash demands a directory, as "." does.
    const steps = (entry.target.startsWith("/") ? underMount(entry.target, path, here) : entry.target).split("/");
    rest = [...steps.map((next) => (next === "" ? "." : next)), ...rest];
  }
  return found.at(-1) as Found;
}

interface Found {
  readonly path: string;
  readonly entry: Entry;
}

/** As many as Linux follows. */
const mostLinks = 40;

/** What follows "/workspace" in an absolute path. */
function underMount(absolute: string, asked: string, link?: string): string {
  const [first, ...rest] = absolute.split("/").filter((step) => step !== "" && step !== ".");
  if (first !== mount.slice(1)) throw outside(asked, link);
  return absolute.endsWith("/") && rest.length > 0 ? `${rest.join("/")}/` : rest.join("/");
}

/** The one spelling of a name: bytes that form UTF-8 are its text. A lone surrogate that stands for no byte names nothing. */
function canonical(path: string): string {
  if ((path as string & { isWellFormed(): boolean }).isWellFormed()) return path;
  if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udc7f\udd00-\udfff]/.test(path))
    throw new RathError("workspace.invalid", `${quoted(path)} is no path: it holds half a character.`, { details: { path } });
  return nameOf(bytesOf(path));
}

function outside(path: string, link?: string): RathError {
  const why = link === undefined ? "" : ` (through ${quoted(link === "" ? "." : link)})`;
  return new RathError(
    "sandbox.outside",
    `${quoted(path)} leads out of the workspace${why}. Give a path relative to the workspace, or one under ${mount}/.`,
    { details: { path } },
  );
}

function notDirectory(path: string, at: Found): RathError {
  return new RathError("workspace.invalid", `${quoted(path)}: ${quoted(at.path)} is a ${at.entry.type}, so nothing can be under it.`, {
    details: { path, at: at.path },
  });
}

/** Says where the path ends, and which names there are like the missing one. */
async function notFound(path: string, at: string, name: string, names: Iterable<string>): Promise<RathError> {
  const near = await nearNames(name, names);
  const where = at === normalPath(path) ? "" : ` (${quoted(at)} does not exist)`;
  const hint = near.length === 0 ? "" : ` Near it: ${near.map(quoted).join(", ")}.`;
  return new RathError("workspace.not-found", `Nothing is at ${quoted(path)} in the workspace${where}.${hint}`, {
    details: { path, near },
  });
}

/** Names that differ in case or by a letter or two. Looks at a bounded number of them: this only helps to word an error. */
async function nearNames(name: string, names: Iterable<string>): Promise<readonly string[]> {
  const { diffChars } = await import("diff");
  const lower = name.toLowerCase();
  const near: string[] = [];
  let looked = 0;
  for (const other of names) {
    looked += 1;
    if (looked > mostLooked || near.length === mostNear) break;
    if (Math.abs(other.length - name.length) > 2 || name.length > mostLetters) continue;
    if (diffChars(other.toLowerCase(), lower, { maxEditLength: name.length < 3 ? 1 : 2 }) !== undefined) near.push(other);
  }
  return near;
}

const mostLooked = 2000;
const mostNear = 3;
const mostLetters = 100;

/** A path in a message: quoted, and cut when somebody gives a book. */
function quoted(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

/** Carries files in and out of a sandbox that keeps its own: before a command what differs goes in, after it what is there comes out. */
import { RathError } from "../session/errors.ts";
import type { Sandbox, SandboxEntry } from "../session/session.ts";
import { type Entry, emptyTree, sameEntry, sorted, type Trees } from "../workspace/tree.ts";

/** Brings the files of a sandbox from one tree to another. */
export async function carryIn(sandbox: Sandbox, trees: Trees, from: string, to: string, under = ""): Promise<void> {
  if (from === to) return;
  const [before, after] = [await trees.directory(from), await trees.directory(to)];
  for (const [name, entry] of before) {
    const next = after.get(name);
    if (next === undefined || next.type !== entry.type) {
      if (entry.type === "directory") await openUp(sandbox, trees, join(under, name), entry);
      await sandbox.remove(join(under, name));
    }
  }
  const links: (() => Promise<void>)[] = [];
  for (const [name, entry] of after) {
    const old = before.get(name);
    const path = join(under, name);
    if (sameEntry(old, entry)) continue;
    if (entry.type === "directory") await carryDirectory(sandbox, trees, path, old, entry);
    else if (entry.type === "file") await putFile(sandbox, trees, path, old, entry);
    else if (entry.type === "link") links.push(() => make(sandbox, path, ["ln", "-sfn", "--", entry.target, path]));
  }
  // When their directory is there for sure: files bring it.
  for (const link of links) await link();
}

type DirectoryEntry = Extract<Entry, { type: "directory" }>;
type FileEntry = Extract<Entry, { type: "file" }>;

async function carryDirectory(sandbox: Sandbox, trees: Trees, path: string, earlier: Entry | undefined, entry: DirectoryEntry) {
  const old = earlier?.type === "directory" ? earlier : undefined;
  // Files bring the directories above them; links and nothing do not.
  if (old === undefined && !(await holdsFile(trees, entry.hash))) await make(sandbox, path, ["mkdir", "-p", "--", path]);
  const shut = old !== undefined && old.hash !== entry.hash && (old.mode & 0o700) !== 0o700;
  if (shut) await setMode(sandbox, path, 0o700);
  await carryIn(sandbox, trees, old?.hash ?? emptyTree, entry.hash, path);
  if (entry.mode !== (shut ? 0o700 : (old?.mode ?? 0o755))) await setMode(sandbox, path, entry.mode);
}

/** What may not be entered or changed cannot be emptied either. */
async function openUp(sandbox: Sandbox, trees: Trees, path: string, { mode, hash }: DirectoryEntry): Promise<void> {
  if ((mode & 0o700) !== 0o700) await setMode(sandbox, path, 0o700);
  for (const [name, entry] of await trees.directory(hash))
    if (entry.type === "directory") await openUp(sandbox, trees, join(path, name), entry);
}

async function holdsFile(trees: Trees, tree: string): Promise<boolean> {
  return [...(await trees.directory(tree)).values()].some(({ type }) => type === "file");
}

async function putFile(sandbox: Sandbox, trees: Trees, path: string, old: Entry | undefined, entry: FileEntry): Promise<void> {
  await sandbox.write(path, await trees.objects.get(entry.hash));
  if (entry.mode !== 0o644 || (old?.type === "file" && old.mode !== entry.mode)) await setMode(sandbox, path, entry.mode);
}

function setMode(sandbox: Sandbox, path: string, mode: number): Promise<void> {
  // Not every shell's chmod knows "--".
  return make(sandbox, path, ["chmod", mode.toString(8), `./${path}`]);
}

/** Links, permissions and empty directories are made by commands: the port's own verbs know only contents. */
async function make(sandbox: Sandbox, path: string, command: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await sandbox.exec(command);
  // What was not made would be recorded as changed by the command that comes next.
  if (exitCode !== 0)
    throw new RathError("sandbox.failed", `${JSON.stringify(path)} could not be carried into the sandbox: ${stderr.trim()}.`, {
      details: { path },
    });
}

/** Says of content that it may not be kept. */
export type Withholds = (bytes: Uint8Array) => boolean;

/** The tree of what a sandbox holds. What it does not tell (permissions, where links lead) stays as it was. */
export async function carryOut(sandbox: Sandbox, trees: Trees, before: string, withholds: Withholds, under = ""): Promise<string> {
  const known = await trees.directory(before);
  const found = new Map<string, Entry>();
  for await (const one of sandbox.list(under === "" ? "." : under)) {
    const name = one.path.slice(one.path.lastIndexOf("/") + 1);
    const entry = await entryOf(sandbox, trees, one, known.get(name), withholds);
    if (entry !== undefined) found.set(name, entry);
  }
  // What cannot be carried in is not missing because it is not there.
  for (const [name, entry] of known) {
    const carried = entry.type === "file" || entry.type === "directory" || entry.type === "link";
    if (!carried && !found.has(name)) found.set(name, entry);
  }
  return trees.store(sorted(found));
}

async function entryOf(
  sandbox: Sandbox,
  trees: Trees,
  one: SandboxEntry,
  old: Entry | undefined,
  withholds: Withholds,
): Promise<Entry | undefined> {
  const mode = one.mode ?? (old?.type === "file" || old?.type === "directory" ? old.mode : one.kind === "file" ? 0o644 : 0o755);
  switch (one.kind) {
    case "directory":
      return {
        type: "directory",
        mode,
        hash: await carryOut(sandbox, trees, old?.type === "directory" ? old.hash : emptyTree, withholds, one.path),
      };
    case "link":
      return one.target === undefined ? (old?.type === "link" ? old : undefined) : { type: "link", target: one.target };
    case "file": {
      const bytes = await sandbox.read(one.path);
      if (withholds(bytes)) return { type: "withheld", why: "secret", size: bytes.length };
      return { type: "file", mode, size: bytes.length, hash: await trees.objects.put(bytes) };
    }
  }
}

function join(under: string, name: string): string {
  return under === "" ? name : `${under}/${name}`;
}

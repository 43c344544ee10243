/** Carries files in and out of a sandbox that keeps its own: before a command what differs goes in, after it what is there comes out. */
import type { Sandbox, SandboxEntry } from "../session/session.ts";
import { type Entry, emptyTree, sameEntry, sorted, type Trees } from "../workspace/tree.ts";

/** Brings the files of a sandbox from one tree to another. */
export async function carryIn(sandbox: Sandbox, trees: Trees, from: string, to: string, under = ""): Promise<void> {
  if (from === to) return;
  const [before, after] = [await trees.directory(from), await trees.directory(to)];
  for (const [name, entry] of before) {
    const next = after.get(name);
    if (next === undefined || next.type !== entry.type) await sandbox.remove(join(under, name));
  }
  for (const [name, entry] of after) {
    const old = before.get(name);
    const path = join(under, name);
    // Files bring the directories above them; links and nothing do not.
    if (entry.type === "directory" && old?.type !== "directory" && !(await holdsFile(trees, entry.hash)))
      await sandbox.exec(["mkdir", "-p", "--", path]);
    if (entry.type === "directory") await carryIn(sandbox, trees, old?.type === "directory" ? old.hash : emptyTree, entry.hash, path);
    else if (!sameEntry(old, entry)) await put(sandbox, trees, path, entry);
  }
}

async function holdsFile(trees: Trees, tree: string): Promise<boolean> {
  return [...(await trees.directory(tree)).values()].some(({ type }) => type === "file");
}

/** Links and permissions are made by commands, where there are any: the port's own verbs know only contents. */
async function put(sandbox: Sandbox, trees: Trees, path: string, entry: Entry): Promise<void> {
  if (entry.type === "link") await sandbox.exec(["ln", "-sfn", "--", entry.target, path]);
  if (entry.type !== "file") return;
  await sandbox.write(path, await trees.objects.get(entry.hash));
  if (entry.mode !== 0o644) await sandbox.exec(["chmod", entry.mode.toString(8), "--", path]);
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
    const carried = entry.type === "file" || entry.type === "directory";
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

/**
 * Control groups: what holds a whole sandbox to its processes and its memory, whoever runs it. Only root, or a user to whom a part of
 * the hierarchy was given, can make them. One is made for each sandbox, below the group of this process so that no limit of it is
 * escaped, and removed with it.
 */
import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Bounds } from "./bounds.ts";

/** Where groups can be made. In the unified hierarchy both are one. */
export interface Hierarchy {
  readonly pids: string;
  readonly memory: string | undefined;
}

export interface Group {
  /** A command that puts itself into the group and then runs the rest of the list. It runs nothing when that fails. */
  readonly join: readonly string[];
  /** How many processes were ended for want of memory. */
  outOfMemory(): Promise<number>;
  remove(): Promise<void>;
}

/** Undefined where no group that counts processes can be made. `root` and `own` are there for tests. */
export function findHierarchy(root = "/sys/fs/cgroup", own = ownGroups()): Hierarchy | undefined {
  if (existsSync(join(root, "cgroup.controllers"))) return unified(root, own.get("") ?? "/");
  const pids = separate(root, "pids", own);
  return pids === undefined ? undefined : { pids, memory: separate(root, "memory", own) };
}

export async function makeGroup(hierarchy: Hierarchy, bounds: Bounds): Promise<Group> {
  const name = `openrath-${process.pid}-${randomBytes(4).toString("hex")}`;
  const groups = [...new Set([hierarchy.pids, hierarchy.memory ?? hierarchy.pids])].map((parent) => join(parent, name));
  const remove = async () => {
    for (const group of groups) await removeGroup(group);
  };
  try {
    for (const group of groups) {
      await removeLeftOver(dirname(group));
      await mkdir(group);
    }
    const [pids, memory = pids] = groups as [string, string?];
    // Two for bubblewrap and for process 1 of the sandbox.
    await writeFile(join(pids, "pids.max"), String(bounds.processes + 2));
    if (hierarchy.memory !== undefined) await limitMemory(memory, bounds.memory);
    return { join: joining(groups), outOfMemory: () => outOfMemory(memory), remove };
  } catch (error) {
    await remove().catch(() => {});
    throw error;
  }
}

const joinScript =
  'count=$1; shift; while [ "$count" -gt 0 ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; count=$((count - 1)); done; exec "$@"';

function joining(groups: readonly string[]): readonly string[] {
  return ["/bin/sh", "-c", joinScript, "sh", String(groups.length), ...groups];
}

async function limitMemory(group: string, bytes: number): Promise<void> {
  const unifiedGroup = existsSync(join(group, "memory.max"));
  const files = unifiedGroup
    ? [["memory.max", String(bytes)]]
    : [
        ["memory.limit_in_bytes", String(bytes)],
        // Where swap is not accounted for, this is not there.
        ...(existsSync(join(group, "memory.memsw.limit_in_bytes")) ? [["memory.memsw.limit_in_bytes", String(bytes)]] : []),
      ];
  if (unifiedGroup && existsSync(join(group, "memory.swap.max"))) files.push(["memory.swap.max", "0"]);
  for (const [name, value] of files as [string, string][]) await writeFile(join(group, name), value);
}

async function outOfMemory(group: string): Promise<number> {
  for (const name of ["memory.events", "memory.oom_control"]) {
    const text = await readFile(join(group, name), "utf8").catch(() => undefined);
    if (text !== undefined) return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }
  return 0;
}

/** The kernel keeps a group busy for a moment after its last process has ended. */
async function removeGroup(group: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      return await rmdir(group);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      if (code !== "EBUSY") throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Groups of processes that are gone: a crash leaves them behind, empty. */
async function removeLeftOver(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = /^openrath-(\d+)-[0-9a-f]{8}$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await rmdir(join(parent, name)).catch(() => {});
  }
}

/** The group of this process by controller; "" is the unified hierarchy. */
function ownGroups(): ReadonlyMap<string, string> {
  const lines = readFileSync("/proc/self/cgroup", "utf8").trim().split("\n");
  return new Map(
    lines.flatMap((line) => {
      const [, controllers = "", ...path] = line.split(":");
      return controllers.split(",").map((controller) => [controller, path.join(":")] as const);
    }),
  );
}

function separate(root: string, controller: string, own: ReadonlyMap<string, string>): string | undefined {
  // In a container the path may be one of the host's, which is not there.
  const places = [join(root, controller, own.get(controller) ?? "/"), join(root, controller)];
  return places.find((place) => existsSync(join(place, "cgroup.procs")) && writable(place));
}

/**
 * The nearest group above this process that hands both controllers down: one that holds processes itself cannot, and a process is
 * moved only below a group that may be written.
 */
function unified(root: string, own: string): Hierarchy | undefined {
  for (let place = join(root, own); place.length >= root.length; place = dirname(place)) {
    const handed = existsSync(place) ? readFileSync(join(place, "cgroup.subtree_control"), "utf8").trim().split(" ") : [];
    if (!handed.includes("pids") || !writable(place) || !writable(join(place, "cgroup.procs"))) continue;
    return { pids: place, memory: handed.includes("memory") ? place : undefined };
  }
  return undefined;
}

function writable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

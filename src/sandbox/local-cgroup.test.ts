import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { boundsOf } from "./bounds.ts";
import { findHierarchy, makeGroup } from "./local-cgroup.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "openrath-cgroup-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function group(path: string, files: Readonly<Record<string, string>> = {}): void {
  mkdirSync(join(root, path), { recursive: true });
  for (const [name, text] of Object.entries({ "cgroup.procs": "", ...files })) writeFileSync(join(root, path, name), text);
}

describe("where groups are made", () => {
  test("in separate hierarchies below the group of this process", () => {
    group("pids");
    group("memory/mine");
    const own = new Map([
      ["pids", "/"],
      ["memory", "/mine"],
    ]);
    expect(findHierarchy(root, own)).toEqual({ pids: `${root}/pids/`, memory: join(root, "memory/mine") });
    expect(findHierarchy(root, new Map([["pids", "/of/the/host"]]))?.pids).toBe(join(root, "pids"));
  });

  test("in the unified hierarchy at the nearest group that hands both controllers down", () => {
    group("", { "cgroup.controllers": "", "cgroup.subtree_control": "cpu memory pids\n" });
    group("slice", { "cgroup.subtree_control": "memory pids\n" });
    group("slice/service", { "cgroup.subtree_control": "\n" });
    expect(findHierarchy(root, new Map([["", "/slice/service"]]))).toEqual({ pids: join(root, "slice"), memory: join(root, "slice") });
    writeFileSync(join(root, "slice/cgroup.subtree_control"), "memory\n");
    expect(findHierarchy(root, new Map([["", "/slice/service"]]))?.pids).toBe(root);
  });

  test("nowhere without a controller of processes", () => {
    expect(findHierarchy(root, new Map())).toBeUndefined();
    group("", { "cgroup.controllers": "", "cgroup.subtree_control": "memory\n" });
    expect(findHierarchy(root, new Map([["", "/"]]))).toBeUndefined();
  });
});

const real = findHierarchy();

describe.skipIf(real === undefined)("groups of this machine", () => {
  const hierarchy = real as NonNullable<typeof real>;
  const ours = () => readdirSync(hierarchy.pids).filter((name) => name.startsWith(`openrath-${process.pid}-`));

  test("are made with their limits and removed", async () => {
    const made = await makeGroup(hierarchy, boundsOf({ processes: 7, memory: "64mb" }));
    const [name] = ours();
    expect(readFileSync(join(hierarchy.pids, name as string, "pids.max"), "utf8").trim()).toBe("9");
    expect(await made.outOfMemory()).toBe(0);
    await made.remove();
    await made.remove();
    expect(ours()).toEqual([]);
  });

  test("of a process that is gone are removed when the next is made", async () => {
    const left = join(hierarchy.pids, "openrath-4194305-00000000");
    mkdirSync(left);
    const made = await makeGroup(hierarchy, boundsOf(undefined));
    expect(existsSync(left)).toBe(false);
    await made.remove();
  });

  test("that cannot be made leave nothing behind", async () => {
    await expect(makeGroup({ ...hierarchy, memory: join(root, "missing") }, boundsOf(undefined))).rejects.toThrow();
    expect(ours()).toEqual([]);
  });
});

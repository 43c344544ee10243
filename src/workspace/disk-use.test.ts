import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DiskUse } from "./disk-use.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "openrath-use-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const megabyte = 2 ** 20;

test("counts files and names, and follows no link", async () => {
  mkdirSync(join(directory, "a/b"), { recursive: true });
  writeFileSync(join(directory, "a/b/file"), Buffer.alloc(megabyte, 1));
  symlinkSync("/usr", join(directory, "a/link"));
  const use = await new DiskUse(directory).bytes();
  expect(use).toBeGreaterThanOrEqual(megabyte + 4 * 4096);
  expect(use).toBeLessThan(2 * megabyte);
  expect(await new DiskUse(join(directory, "gone")).bytes()).toBe(0);
});

// Others write to the disk too, so that it may be more than this.
test("where something lies too deep to look at, all that the disk lost since counts", async () => {
  const at = join(directory, "d/".repeat(300));
  mkdirSync(at, { recursive: true });
  writeFileSync(join(directory, "file"), Buffer.alloc(megabyte, 1));
  const use = new DiskUse(directory);
  const before = await use.now();
  expect(before).toBeGreaterThan(megabyte);
  expect(before).toBeLessThan(4 * megabyte);
  writeFileSync(join(at, "hidden"), Buffer.alloc(40 * megabyte, 1));
  expect(await use.now()).toBeLessThan(4 * megabyte);
  const fresh = new DiskUse(directory);
  expect(await fresh.bytes()).toBeLessThan(30 * megabyte);
  writeFileSync(join(at, "more"), Buffer.alloc(40 * megabyte, 1));
  expect(await fresh.bytes()).toBeGreaterThan(30 * megabyte);
});

// Mutants: what others write counts; what was removed is not counted anew.
// It looks at the whole disk, and at what was found a moment ago: where others fill or empty it in just this moment, it is tried anew.
test("whoever does not make it more is not blamed, whatever others write, and whoever does is judged by what there is", {
  retry: 4,
}, async () => {
  const write = (name: string, megabytes: number) => writeFileSync(join(directory, name), Buffer.alloc(megabytes * megabyte, 1));
  mkdirSync(join(directory, "own"));
  const use = new DiskUse(join(directory, "own"));
  const during = async (command: () => void): Promise<readonly number[]> => {
    await use.bytes("begin");
    command();
    return [await use.bytes("during"), await use.bytes("end")].map((bytes) => Math.floor(bytes / megabyte));
  };
  expect(await during(() => write("own/a", 4))).toEqual([4, 4]);
  expect(await during(() => write("others", 8))).toEqual([0, 0]);
  expect(await during(() => write("own/b", 2))).toEqual([6, 6]);
  expect(await during(() => rmSync(join(directory, "own/a")))).toEqual([0, 0]);
  expect(await during(() => write("own/c", 3))).toEqual([5, 5]);
});

/** Faster than anything that is written. */
const allocating = "fallocate";
const allocate = (name: string) => spawnSync(allocating, ["-l", "100M", join(directory, name)]).status === 0;

describe.skipIf(!canAllocate())("of many files", () => {
  beforeEach(() => {
    mkdirSync(join(directory, "many"));
    for (let n = 0; n < 3000; n++) writeFileSync(join(directory, "many", String(n)), "");
  });

  test("a walk that was made just now does not stand for what was written since, when it is much", async () => {
    const use = new DiskUse(directory);
    const before = await use.now();
    expect(allocate("large")).toBe(true);
    expect((await use.bytes()) - before).toBeGreaterThan(99 * megabyte);
  });

  test("neither does one that began before it was written", async () => {
    const use = new DiskUse(directory);
    const early = use.now();
    while (!isEntered("many")) await new Promise(setImmediate);
    expect(allocate("large")).toBe(true);
    expect(await use.bytes()).toBeGreaterThan(99 * megabyte);
    await early;
  });
});

/** Whether a walk is in a directory now: it has listed what is beside it. */
function isEntered(name: string): boolean {
  return readdirSync("/proc/self/fd").some((fd) => linkOf(`/proc/self/fd/${fd}`) === join(directory, name));
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // closed meanwhile
  }
}

function canAllocate(): boolean {
  const place = mkdtempSync(join(tmpdir(), "openrath-use-"));
  const { status } = spawnSync(allocating, ["-l", "1M", join(place, "file")]);
  rmSync(place, { recursive: true });
  if (status !== 0) console.warn("Left out: fallocate does not work here, and nothing else writes fast enough.");
  return status === 0;
}

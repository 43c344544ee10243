import { describe, expect, test } from "vitest";
import { assemble } from "./bpf.ts";
import { examinedCalls, refusedCalls, seccompFilter } from "./local-seccomp.ts";

const allowed = 0x7fff0000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const killed = 0x80000000;

/** What the kernel would say: an interpreter of the few operations a filter may hold. */
function run(program: Uint8Array, arch: number, call: number, args: readonly number[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call >>> 0, 0);
  data.writeUInt32LE(arch, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  const code = Buffer.from(program);
  let accumulator = 0;
  for (let at = 0; at < code.length / 8; at++) {
    const [operation, yes, no, k] = [code.readUInt16LE(at * 8), code[at * 8 + 2]!, code[at * 8 + 3]!, code.readUInt32LE(at * 8 + 4)];
    if (operation === 0x20) accumulator = data.readUInt32LE(k);
    else if (operation === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (operation === 0x15) at += accumulator === k ? yes : no;
    else if (operation === 0x35) at += accumulator >= k ? yes : no;
    else if (operation === 0x05) at += k;
    else if (operation === 0x06) return k;
    else throw new Error(`operation ${operation} is none of a filter`);
  }
  throw new Error("the filter has no end");
}

describe.each([
  ["x64", 0xc000003e, 0],
  ["arm64", 0xc00000b7, 1],
] as const)("on %s", (architecture, arch, column) => {
  const filter = seccompFilter(architecture)!;
  const ask = (call: number, ...args: number[]) => run(filter, arch, call, args);
  const examined = (name: keyof typeof examinedCalls) => examinedCalls[name][column] as number;

  test.each(Object.entries(refusedCalls).filter(([, numbers]) => numbers[column] !== null))("%s is refused", (_name, numbers) => {
    expect(ask(numbers[column]!)).toBe(EPERM);
  });

  test("no other number is refused", () => {
    const special = new Set<number | null>([
      ...Object.values(refusedCalls).map((numbers) => numbers[column]!),
      ...Object.values(examinedCalls).map((numbers) => numbers[column]),
    ]);
    for (let call = 0; call < 500; call++) if (!special.has(call)) expect([call, ask(call)]).toEqual([call, allowed]);
  });

  test("calls of another architecture end the process, those of x32 do not exist", () => {
    expect(run(filter, 0x40000003, 1)).toBe(killed);
    expect(ask(0x40000000 + 101)).toBe(ENOSYS);
    expect(ask(0xffffffff)).toBe(ENOSYS);
  });

  test("a terminal's input cannot be forged, whatever is in the high half of the request", () => {
    expect(ask(examined("ioctl"), 0, 0x5412)).toBe(EPERM);
    expect(ask(examined("ioctl"), 0, 0x541c)).toBe(EPERM);
    expect(ask(examined("ioctl"), 0, 0x100005412)).toBe(EPERM);
    expect(ask(examined("ioctl"), 0, 0x5413)).toBe(allowed);
  });

  test("sockets are of the families that programs need", () => {
    for (const family of [1, 2, 10]) expect(ask(examined("socket"), family, 1, 0)).toBe(allowed);
    expect(ask(examined("socket"), 16, 3, 0)).toBe(allowed);
    expect(ask(examined("socket"), 16, 3, 9)).toBe(EPERM);
    for (const family of [0, 3, 17, 38, 40, 44, -1]) expect([family, ask(examined("socket"), family, 1, 0)]).toEqual([family, EPERM]);
  });

  test("processes and threads can be made, namespaces cannot", () => {
    expect(ask(examined("clone"), 0x1200011)).toBe(allowed);
    expect(ask(examined("clone"), 0x3d0f00)).toBe(allowed);
    for (const flag of [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
      expect([flag, ask(examined("clone"), flag | 17)]).toEqual([flag, EPERM]);
    expect(ask(examined("clone3"))).toBe(ENOSYS);
  });

  test("fifos and files can be made as nodes, devices cannot", () => {
    for (const type of [0, 0o010000, 0o100000, 0o140000])
      expect([type, ask(examined("mknodat"), -100, 0, type | 0o644)]).toEqual([type, allowed]);
    for (const type of [0o020000, 0o060000]) expect([type, ask(examined("mknodat"), -100, 0, type | 0o644)]).toEqual([type, EPERM]);
    if (architecture !== "x64") return;
    expect(ask(examined("mknod"), 0, 0o010644)).toBe(allowed);
    expect(ask(examined("mknod"), 0, 0o020644)).toBe(EPERM);
  });

  test("no file gets the rights of its owner", () => {
    const create = 0o101;
    expect(ask(examined("openat"), -100, 0, create, 0o644)).toBe(allowed);
    expect(ask(examined("openat"), -100, 0, create, 0o4755)).toBe(EPERM);
    expect(ask(examined("openat"), -100, 0, 0o20000002, 0o2755)).toBe(EPERM);
    // What is not read may be anything.
    expect(ask(examined("openat"), -100, 0, 0, 0o7777)).toBe(allowed);
    expect(ask(examined("openat"), -100, 0, 0o200000, 0xffffffff)).toBe(allowed);
    expect(ask(examined("openat2"))).toBe(ENOSYS);
    for (const [name, place] of [
      ["fchmod", 1],
      ["fchmodat", 2],
      ["fchmodat2", 2],
      ["mknodat", 2],
      ["chmod", 1],
      ["creat", 1],
      ["mknod", 1],
    ] as const) {
      if (examined(name) === null) continue;
      const call = (mode: number) => ask(examined(name), ...[0, 0, 0].map((_, index) => (index === place ? mode : 0o4000)));
      expect([name, call(0o1777), call(0o4755), call(0o2755)]).toEqual([name, allowed, EPERM, EPERM]);
    }
    if (architecture !== "x64") return;
    expect(ask(examined("open"), 0, create, 0o4755)).toBe(EPERM);
    expect(ask(examined("open"), 0, create, 0o755)).toBe(allowed);
    expect(ask(examined("open"), 0, 0, 0o4755)).toBe(allowed);
  });

  test("a personality can be asked for, and be the ordinary one", () => {
    expect(ask(examined("personality"), 0)).toBe(allowed);
    expect(ask(examined("personality"), 0xffffffff)).toBe(allowed);
    expect(ask(examined("personality"), 0x0040000)).toBe(EPERM);
  });
});

test("another machine has no filter", () => {
  expect(seccompFilter("riscv64")).toBeUndefined();
});

test("a jump that leads nowhere or back is refused", () => {
  expect(() => assemble([{ goto: "nowhere" }])).toThrow(RangeError);
  expect(() => assemble([{ label: "back" }, { give: 0 }, { goto: "back" }])).toThrow(RangeError);
});

import { expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { boundsOf } from "./bounds.ts";
import { sizeBytes } from "./size.ts";

test.each([
  ["1b", 1],
  ["512mb", 512 * 2 ** 20],
  ["2GB", 2 * 2 ** 30],
  ["1.5kb", 1536],
])("%s is %d bytes", (size, bytes) => {
  expect(sizeBytes(size)).toBe(bytes);
});

test.each(["", "12", "mb", "-1mb", "0mb", "1 mb", "1mib", "99999999tb", "1e3mb", "0.1b"])("%j is no size", (size) => {
  expect(() => sizeBytes(size)).toThrow(expect.objectContaining({ code: "value.unsupported" }));
});

test("limits that are not named have a default", () => {
  expect(boundsOf(undefined)).toEqual({
    memory: 2 * 2 ** 30,
    disk: 2 * 2 ** 30,
    file: 512 * 2 ** 20,
    output: 8 * 2 ** 20,
    timeMs: 600_000,
    processes: 256,
  });
  expect(boundsOf({ memory: "64mb", time: "5s", processes: 8 })).toMatchObject({ memory: 64 * 2 ** 20, timeMs: 5000, processes: 8 });
});

test.each([0, -1, 1.5, Number.NaN])("%d processes are refused", (processes) => {
  expect(() => boundsOf({ processes })).toThrow(RathError);
});

import { expect, test } from "vitest";
import { RathError } from "../session/errors.ts";
import { boundsOf } from "./bounds.ts";

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

import { expect, test } from "vitest";
import { sizeBytes } from "./size.ts";

test.each([
  ["1b", 1],
  ["512mb", 512 * 2 ** 20],
  ["2GB", 2 * 2 ** 30],
  ["1.5kb", 1536],
  ["1g", 2 ** 30],
])("%s is %d bytes", (size, bytes) => {
  expect(sizeBytes(size)).toBe(bytes);
});

test.each(["", "12", "mb", "-1mb", "0mb", "1 mb", "1mib", "99999999tb", "1e3mb", "0.1b"])("%j is no size", (size) => {
  expect(() => sizeBytes(size)).toThrow(expect.objectContaining({ code: "value.unsupported" }));
});

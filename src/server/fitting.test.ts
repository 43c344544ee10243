/** A page has a size, whatever its items are made of; and what has not is whole. */
import { expect, test } from "vitest";
import { plainJson } from "../wire/neutral.ts";
import { fitting } from "./fitting.ts";

const mostInPage = 4 << 20;
const same = <T>(item: T): T => item;

test.each([
  ["plain text", { text: "x".repeat(100_000) }],
  ["characters that JSON writes as six", { text: "\u0001".repeat(100_000) }],
  ["keys of them", { ["\u0001".repeat(100_000)]: 1 }],
  ["bytes", { data: new Uint8Array(100_000) }],
  ["numbers", { list: Array.from({ length: 20_000 }, (_, i) => -1 / (i + 3)) }],
  ["numbers that JSON has no words for", { list: Array.from({ length: 20_000 }, () => Number.NaN) }],
])("%s: a page ends with the item that goes beyond its size", async (_, item) => {
  const items = await fitting(
    Array.from({ length: 200 }, () => item),
    same,
  );
  expect(items).toHaveLength(Math.min(200, Math.ceil(mostInPage / plainJson(item).length)));
});

test("many small items are one page", async () => {
  const item = { text: "x".repeat(2000) };
  expect(
    await fitting(
      Array.from({ length: 500 }, () => item),
      same,
    ),
  ).toHaveLength(500);
});

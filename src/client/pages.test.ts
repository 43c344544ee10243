/** Lists that are read page by page. */
import { expect, test } from "vitest";
import { type Page, pagesOf } from "./pages.ts";

const pages = (asked: (string | undefined)[] = []) =>
  pagesOf<number, Page<number>>(async (after) => {
    asked.push(after);
    const from = Number(after ?? 0);
    const items = from === 2 ? [] : [from, from + 1];
    return from >= 6 ? { items } : { items, next: String(from + 2) };
  });

async function all<T>(list: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const one of list) found.push(one);
  return found;
}

test("a list is read to its end, over pages that are empty too", async () => {
  expect(await all(pages())).toEqual([0, 1, 4, 5, 6, 7]);
});

test("no page is fetched before it is needed", async () => {
  const asked: (string | undefined)[] = [];
  const list = pages(asked);
  expect(asked).toEqual([]);
  for await (const one of list) if (one === 1) break;
  expect(asked).toEqual([undefined]);
});

test("one page, and the one after it", async () => {
  const first = await pages().page();
  expect(first).toEqual({ items: [0, 1], next: "2" });
  expect(await pages().page(first.next)).toEqual({ items: [], next: "4" });
});

test("a server that gives the same page for ever is not asked for ever", async () => {
  await expect(all(pagesOf(async (): Promise<Page<number>> => ({ items: [1], next: "x" })))).rejects.toMatchObject({
    code: "server.failed",
  });
});

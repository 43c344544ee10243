/** Pages have a size, beside a number of items: what sessions hold may be long. */
import { plainJson } from "../wire/neutral.ts";

/** In characters. A page ends with the item that goes beyond it. */
const mostInPage = 4 << 20;

/** As many of the items as one page holds, at least one. */
export async function fitting<From, Item>(from: readonly From[], shown: (one: From) => Item | Promise<Item>): Promise<Item[]> {
  const items: Item[] = [];
  let [size, exact] = [0, false];
  for (const one of from) {
    if (size >= mostInPage && !exact) {
      exact = true;
      size = items.reduce((sum, item) => sum + plainJson(item).length, 0);
    }
    if (size >= mostInPage) break;
    const item = await shown(one);
    size += exact ? plainJson(item).length : atMost(item);
    items.push(item);
  }
  return items;
}

/** No fewer characters than its JSON has. Most pages are small: they need not be written to know that. */
function atMost(value: unknown): number {
  if (typeof value === "string") return 6 * value.length + 2;
  if (typeof value !== "object" || value === null) return 50;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + atMost(item) + 1, 2);
  if (value instanceof Uint8Array || "toJSON" in value) return plainJson(value).length;
  let size = 2;
  for (const key in value) size += 6 * key.length + 4 + atMost((value as Readonly<Record<string, unknown>>)[key]);
  return size;
}

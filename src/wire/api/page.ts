/** Lists are answered page by page. */
import { z } from "@hono/zod-openapi";
import { usually, wholeNumber } from "./number.ts";

const mostPerPage = 500;
const usualPerPage = 100;

/** What every list takes. */
export const pageQuery = {
  limit: usually(wholeNumber(1, mostPerPage), usualPerPage),
  after: z.string().min(1).max(4096).optional().describe("Where the page before ended: its `next`."),
};

/** A page may hold fewer items than were asked for, and still be followed by another one: only where `next` is missing it was the last. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next: z.string().optional() });
}

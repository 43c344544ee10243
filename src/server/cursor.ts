/** Where a page ended, as callers keep it and give it back. Nothing in it is believed: it is checked like any other input. */
import type { z } from "@hono/zod-openapi";
import { RathError } from "../session/errors.ts";

export function writeCursor(place: object): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

export function readCursor<Place extends z.ZodType>(cursor: string, schema: Place): z.infer<Place> {
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, "base64url").toString()));
  } catch (cause) {
    throw noSuchPlace(cause);
  }
}

/** It was made up, or what it names is gone. */
export function noSuchPlace(cause?: unknown): RathError {
  return new RathError("request.invalid", "query.after: is not where a page ended: begin with the first page again.", { cause });
}

/** A page of a list that is there as a whole. */
export function pageAfter<Item>(
  all: readonly Item[],
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
  name: (item: Item) => string,
): { readonly items: readonly Item[]; readonly next?: string } {
  const from = after === undefined ? 0 : all.findIndex((item) => name(item) === after) + 1;
  if (after !== undefined && from === 0) throw noSuchPlace();
  const items = all.slice(from, from + limit);
  const last = items.at(-1);
  return { items, ...(from + limit < all.length && last !== undefined ? { next: name(last) } : {}) };
}

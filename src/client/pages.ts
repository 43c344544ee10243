/** Lists, a page at a time: read to the end, or one page for whoever turns them. */
import { RathError } from "../session/errors.ts";

/** Where a list begins, and how many items a page of it has. */
export interface PageQuery {
  readonly after?: string | undefined;
  /** 100 when left out, 500 at most. */
  readonly limit?: number | undefined;
}

/** Some items of a list, and where the next ones begin. */
export interface Page<out T> {
  readonly items: readonly T[];
  /** Given back as `after`; nothing: there are no more. */
  readonly next?: string | undefined;
}

/**
 * A list on the server. Nothing is fetched before it is read, and no page before it is needed.
 *
 * @example
 * const { sessions } = connect({ url: "http://127.0.0.1:7284", key: token });
 * for await (const { id, title } of sessions.list({ status: "waiting" })) console.log(id, title);
 * const { items, next } = await sessions.list({ limit: 20 }).page();
 */
export interface Pages<out T, out P extends Page<T> = Page<T>> extends AsyncIterable<T> {
  /** The page after a place; without one the first. */
  page(after?: string): Promise<P>;
}

export function pagesOf<T, P extends Page<T>>(fetchPage: (after: string | undefined) => Promise<P>): Pages<T, P> {
  return {
    page: (after) => fetchPage(after),
    async *[Symbol.asyncIterator]() {
      let after: string | undefined;
      do {
        const { items, next } = await fetchPage(after);
        yield* items;
        // Whoever sent the same place for ever would be asked for ever.
        if (next !== undefined && next === after)
          throw new RathError("server.failed", `The server gives the page after ${JSON.stringify(next)} again and again.`);
        after = next;
      } while (after !== undefined);
    },
  };
}

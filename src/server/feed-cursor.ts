/**
 * Where a reader of the feed stands. Events that were stored together share one place, and a connection may break between two of them: so
 * the cursor of one that is not the last says how many of them were sent, between which places.
 */
import { RathError } from "../session/errors.ts";
import type { Fed } from "../store/store.ts";

export interface FeedCursor {
  /** Everything up to here was sent. */
  readonly after: string | undefined;
  /** Of what lies at this place, so many events were sent. */
  readonly within?: { readonly place: string; readonly sent: number } | undefined;
}

/** The cursor after one of the events of what was fed, `after` being the place before it. */
export function cursorAfter(fed: Fed, index: number, after: string | undefined): string {
  return index === fed.events.length - 1 ? fed.place : `${fed.place}~${index + 1}~${after ?? ""}`;
}

export function readCursor(text: string | undefined): FeedCursor {
  if (text === undefined) return { after: undefined };
  const [place = "", sent, after, more] = text.split("~");
  if (sent === undefined) return { after: place };
  if (after === undefined || more !== undefined || !/^[1-9]\d{0,8}$/.test(sent))
    throw new RathError("request.invalid", "Last-Event-ID is not the id of a message of this stream: leave it out to begin anew.");
  return { after: after === "" ? undefined : after, within: { place, sent: Number(sent) } };
}

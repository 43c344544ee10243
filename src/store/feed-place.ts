/** Places in a feed whose order is one number: texts that sort as the numbers do. */
import { RathError } from "../session/errors.ts";

const digits = 16;

/** The place after what has this number. */
export function placeAt(no: number): string {
  return String(no).padStart(digits, "0");
}

/** The number of a place; 0, which nothing has, for the beginning. `last` is the highest number that was ever given. */
export function numberOf(place: string | undefined, last: number): number {
  if (place === undefined) return 0;
  const no = /^\d{16}$/.test(place) ? Number(place) : Number.NaN;
  if (no <= last) return no;
  throw noSuchPlace(place);
}

/** The error of a place that this feed never gave: it is another store's, or the store was set back since. */
export function noSuchPlace(place: string): RathError {
  const shown = JSON.stringify(place.length > 100 ? `${place.slice(0, 100)}…` : place);
  return new RathError(
    "stream.gone",
    `The feed of this store has no place ${shown}: it comes from another store, or this one was restored from a backup. Read the feed from its beginning, or from where it ends now.`,
    { details: { place: place.slice(0, 100) } },
  );
}

/**
 * Screens are read from the server when somebody goes there. One that could not be read then cannot be read again by this page: the
 * browser, and the way its styles are loaded, remember the failure. Only a page that is loaded anew has it.
 */
import { RathError } from "../../../src/client/client.ts";

/** A part of the page itself, not of the record, did not come. */
export class MissingPart extends RathError {
  constructor(cause: unknown) {
    super("server.unreachable", "This part of the page could not be read from the server.", { retryable: true, cause });
  }
}

/** A dynamic import whose failure says so. */
export function part<T>(load: () => Promise<T>): () => Promise<T> {
  return async () => {
    try {
      return await load();
    } catch (error) {
      throw new MissingPart(error);
    }
  };
}

const place = "openrath.reloaded";
const seldomMs = 60_000;

/** Loads the page anew, but seldom by itself: a part that is missing for good would have it do so for ever. */
export function reloadSeldom(): void {
  if (Date.now() - Number(sessionStorage.getItem(place) ?? 0) < seldomMs) return;
  sessionStorage.setItem(place, String(Date.now()));
  window.location.reload();
}

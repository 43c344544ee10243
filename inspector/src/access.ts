/**
 * How this browser is let in. A link may bring a code, which is turned into a key once; the key stays in this browser, for this server
 * alone, and is sent to no other.
 */
import { connect } from "../../src/client/client.ts";

/** The server that handed out this page, with the path it is mounted at. */
export const serverUrl = new URL(".", window.location.href).href.replace(/\/$/, "");

const place = `openrath.key ${serverUrl}`;

export function storedKey(): string | undefined {
  return localStorage.getItem(place) ?? undefined;
}

/** Without one whoever uses this browser is asked again. */
export function storeKey(key: string | undefined): void {
  if (key === undefined) localStorage.removeItem(place);
  else localStorage.setItem(place, key);
}

/** Takes the code out of the address before anything else sees it. */
export async function enter(): Promise<void> {
  const [, code, to] = /^#code=([\w-]+)(?:&to=(\/[\w/-]*))?$/.exec(window.location.hash) ?? [];
  if (code === undefined) return;
  window.history.replaceState(null, "", `${window.location.pathname}${to === undefined ? "" : `#${to}`}`);
  const { token } = await connect({ url: serverUrl }).keys.exchange(code);
  storeKey(token);
}

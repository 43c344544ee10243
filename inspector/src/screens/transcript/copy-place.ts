/** Copies the address of an event as this screen shows it. */
import { copy } from "../../parts/copy.ts";

export function copyPlace(event: string, branch: string): void {
  const [path = "", search = ""] = window.location.hash.split("?");
  const named = new URLSearchParams(search);
  named.set("at", event);
  if (path.includes(branch)) named.delete("branch");
  else named.set("branch", branch);
  const address = new URL(`${path}?${named}`, window.location.href).href;
  copy(address, "the link");
}

/** Copies a text for whoever looks, and says so. */
import { say, sayFailure } from "../shell/toasts.tsx";

export function copy(text: string, what: string): void {
  // Browsers have a clipboard only for pages that came over HTTPS or from this machine.
  if (navigator.clipboard === undefined) {
    say("This browser lets pages copy only over HTTPS or from localhost: select the text and copy it by hand", "bad");
    return;
  }
  navigator.clipboard.writeText(text).then(() => say(`Copied ${what}`), sayFailure);
}

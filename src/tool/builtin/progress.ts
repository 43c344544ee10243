/** Output as it comes, told in pieces and not too often: whoever watches sees that something happens, not every byte. */
import type { ToolContext } from "../../session/session.ts";
import { wellFormed } from "./shorten.ts";

const everyMs = 200;
const pieceCharacters = 2_000;

export interface Told {
  add(text: string): void;
  /** Tells what is left. */
  end(): void;
}

export function progressOf(context: ToolContext): Told {
  let waiting = "";
  let told = -Infinity;
  const tell = (): void => {
    if (waiting === "") return;
    const piece = waiting;
    waiting = "";
    told = performance.now();
    context.progress(piece.length > pieceCharacters ? `…${wellFormed(piece.slice(-pieceCharacters))}` : piece);
  };
  return {
    add: (text) => {
      waiting += text;
      // What nobody will see need not be kept.
      if (waiting.length > 100 * pieceCharacters) waiting = waiting.slice(-2 * pieceCharacters);
      if (performance.now() - told >= everyMs) tell();
    },
    end: tell,
  };
}

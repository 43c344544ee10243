/** Long output as a model reads it: how it begins and how it ends, and how much is between. */

const headCharacters = 8_000;
const tailCharacters = 12_000;

/** Whole lines where lines are not very long. `whole` tells the reader where the rest is. */
export function shorten(text: string, whole = "the whole output is kept in the record of this call"): string {
  if (text.length <= headCharacters + tailCharacters) return text;
  const head = wellFormed(upToLine(text.slice(0, headCharacters)));
  const tail = wellFormed(fromLine(text.slice(-tailCharacters)));
  const left = text.length - head.length - tail.length;
  return `${head}\n[… ${left} characters are left out here; ${whole} …]\n${tail}`;
}

function upToLine(text: string): string {
  const end = text.lastIndexOf("\n");
  return end > text.length / 2 ? text.slice(0, end) : text;
}

function fromLine(text: string): string {
  const begin = text.indexOf("\n");
  return begin >= 0 && begin < text.length / 2 ? text.slice(begin + 1) : text;
}

/** Without halves of a character that was cut through. */
export function wellFormed(text: string): string {
  return text.replace(/^[\udc00-\udfff]/, "").replace(/[\ud800-\udbff]$/, "");
}

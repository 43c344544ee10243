/** JSON as it is, or not at all: a text of which parsing would lose something is refused, so that nothing is altered silently. */

/** What a text holds, or why it cannot be taken as it stands. */
export type StrictJson = { readonly value: unknown } | { readonly problem: string };

/** Stored values may be nested deeper; nobody's messages are. */
const deepest = 200;

/** Parses a text. Refused besides what is no JSON: keys given twice, integers that a number cannot hold, minus zero, and what is nested too deep. */
export function strictJson(text: string): StrictJson {
  const deep = depthOf(text) > deepest ? { problem: `it is nested deeper than ${deepest} levels` } : undefined;
  if (deep !== undefined) return deep;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "it is not JSON" };
  }
  const lost = lostIn(text);
  return lost === undefined ? { value } : { problem: lost };
}

/** How deep brackets go, strings left out; of any text, in one pass. */
function depthOf(text: string): number {
  let [depth, most] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case openBrace:
      case openBracket:
        most = Math.max(most, ++depth);
        break;
      case closeBrace:
      case closeBracket:
        depth--;
        break;
      default:
    }
  }
  return most;
}

const [quote, openBrace, closeBrace, openBracket, closeBracket, minus, zero, nine, colon] = [34, 123, 125, 91, 93, 45, 48, 57, 58];

/** What parsing a text that is JSON loses of it. */
function lostIn(text: string): string | undefined {
  /** The keys of each object around; of an array, nothing. */
  const around: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === openBrace) around.push(new Set());
    else if (code === openBracket) around.push(undefined);
    else if (code === closeBrace || code === closeBracket) around.pop();
    else if (code === quote) {
      const end = endOfString(text, at);
      const keys = around.at(-1);
      if (keys !== undefined && isKey(text, end)) {
        const key = JSON.parse(text.slice(at, end + 1)) as string;
        if (keys.has(key)) return `the key ${JSON.stringify(key.slice(0, 40))} is given twice`;
        keys.add(key);
      }
      at = end;
    } else if (code === minus || (code >= zero && code <= nine)) {
      const [number = ""] = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/.exec(text.slice(at, at + 400)) ?? [];
      if (Object.is(Number(number), -0) || (/^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number))))
        return `the number ${number.slice(0, 40)} cannot be kept as it is`;
      at += number.length - 1;
    }
  }
  return undefined;
}

/** Where the string that begins here ends. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 92) at++;
    else if (code === quote) return at;
  }
  return text.length;
}

function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (/\s/.test(text.charAt(at))) at++;
  return text.charCodeAt(at) === colon;
}

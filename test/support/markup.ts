/** A strict reader of the markup that is written here: it takes no more than that, so that whatever slips in is found. */

export interface Markup {
  /** Elements in order, with their attributes. */
  readonly elements: readonly { readonly name: string; readonly attributes: ReadonlyMap<string, string> }[];
  /** Everything that a reader sees, with references resolved; styles left out. */
  readonly text: string;
}

const empty = new Set(["meta", "br", "link", "img", "hr", "input"]);

/** Throws with the place where markup is not well formed. */
export function readMarkup(markup: string): Markup {
  const elements: { readonly name: string; readonly attributes: ReadonlyMap<string, string> }[] = [];
  const open: string[] = [];
  const words: string[] = [];
  const tag = /<(\/?)([a-zA-Z][a-zA-Z0-9-]*)((?: [a-zA-Z][a-zA-Z0-9:-]*(?:="[^"<]*")?)*) ?(\/?)>|<!doctype html>/y;
  let at = 0;
  while (at < markup.length) {
    const next = markup.indexOf("<", at);
    const between = markup.slice(at, next < 0 ? markup.length : next);
    if (open.at(-1) !== "style") words.push(resolved(between));
    if (next < 0) break;
    tag.lastIndex = next;
    const found = tag.exec(markup);
    if (found === null) throw new Error(`no tag at ${next}: ${JSON.stringify(markup.slice(next, next + 80))}`);
    at = tag.lastIndex;
    const [, close, name, attributes = "", self] = found;
    if (name === undefined) continue;
    if (close === "/") {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> closes <${last}> at ${next}: ${JSON.stringify(markup.slice(next - 80, next + 40))}`);
      continue;
    }
    elements.push({ name, attributes: attributesOf(attributes) });
    if (self !== "/" && !empty.has(name)) open.push(name);
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(", ")}`);
  return { elements, text: words.join("") };
}

function attributesOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/ ([a-zA-Z][a-zA-Z0-9:-]*)(?:="([^"<]*)")?/g)].map(([, name = "", value = ""]) => [name, resolved(value)]),
  );
}

function resolved(text: string): string {
  if (/[<>]/.test(text) || /&(?!#\d+;)/.test(text)) throw new Error(`markup in a text: ${JSON.stringify(text.slice(0, 120))}`);
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}

/**
 * The words and operators of a command line, as a shell reads them. What one shell reads in another way than the next, or what
 * runs a command inside a word, is not read at all: rules refuse what they cannot read. One look at each character.
 */

/** Stands in a word for what only the running shell knows. No command line can have this character. */
export const unknown = "\0";

export interface Word {
  readonly kind: "word";
  /** Without quotes, with `unknown` where something is put in. */
  readonly text: string;
  /** Nothing in it was quoted: it may be a keyword. */
  readonly bare: boolean;
  /** It may become several words, or none. */
  readonly splits: boolean;
  /** It has the form NAME=value. */
  readonly assigns: boolean;
}
export interface Operator {
  readonly kind: "operator";
  readonly text: string;
}
export type Token = Word | Operator;

/** Why a command line cannot be read. */
export class Unreadable extends Error {}

const blanks: ReadonlySet<string> = new Set([" ", "\t"]);
const breaks: ReadonlySet<string> = new Set([" ", "\t", "\n", ";", "&", "|", "(", ")", "<", ">"]);
/** Longest first. */
const operators = ["&>>", "<<<", "<<", ">>", ">&", ">|", "<&", "<>", "&&", "&>", "||", "|&", ";;", ";&", "((", "<(", ">("].concat([
  ..."\n;&|()<>",
]);
const refused: Readonly<Record<string, string>> = {
  "&>": 'it has "&>", which shells read differently (write "> file 2>&1")',
  "&>>": 'it has "&>>", which shells read differently (write ">> file 2>&1")',
  "<<": "it has a here-document",
  "<(": "it runs a command inside <( )",
  ">(": "it runs a command inside >( )",
  ";;": 'it has ";;"',
  ";&": 'it has ";&"',
  "((": 'it has "(("',
};
/** What some shell, or a person who reads along, may take for a blank or not see at all. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const invisible = /[\0-\x08\x0b-\x1f\x7f\x85\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/;
/** Shells take the two away before they look for anything else, so that "$" and "(" may be on two lines. */
const continued = "a line goes on in the next one inside a word";
/** A parameter by its name alone: whatever is more than that may run commands. */
const parameter = /\{(?:[A-Za-z_]\w*|\d+|[@*#?$!-])\}|[A-Za-z_]\w*|[\d@*#?$!-]/y;
/** Of parameters: always one word. */
const number = /^\{?[#?$]\}?$/;

/** Throws `Unreadable`. */
export function tokensOf(text: string): readonly Token[] {
  if (text.includes(unknown)) throw new Unreadable("it has a NUL character");
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at] as string;
    if (blanks.has(character)) at += 1;
    else if (text.startsWith("\\\n", at)) at += 2;
    else if (character === "#") at = endOf(text, "\n", at);
    else if (breaks.has(character)) {
      const operator = operators.find((one) => text.startsWith(one, at)) as string;
      if (refused[operator] !== undefined) throw new Unreadable(refused[operator]);
      tokens.push({ kind: "operator", text: operator });
      at += operator.length;
    } else {
      const reader = new WordReader(text, at);
      tokens.push(...reader.read());
      at = reader.at;
    }
  }
  return tokens;
}

/** Where a character is next, or the end. */
function endOf(text: string, character: string, from: number): number {
  const found = text.indexOf(character, from);
  return found < 0 ? text.length : found;
}

class WordReader {
  at: number;
  readonly #text: string;
  readonly #from: number;
  #parts: string[] = [];
  #bare = true;
  #splits = false;
  #equals = false;
  #assigns = false;
  #brace = false;
  /** What begins with an unquoted "[" may be any name that is there. */
  #bracket = false;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#from = at;
    this.at = at;
  }

  read(): readonly Token[] {
    while (this.at < this.#text.length && !breaks.has(this.#text[this.at] as string)) this.#one(this.#text[this.at] as string);
    const follows = this.#text[this.at];
    const raw = this.#text.slice(this.#from, this.at);
    if (follows === "<" || follows === ">") {
      if (/^\d+$/.test(raw)) return []; // the number of a descriptor
      // The number of a descriptor is put into a variable; bash takes any {NAME} and {NAME[…]}, and runs what is in the subscript.
      if (/^\{.*\}$/s.test(raw)) throw new Unreadable("it has {…} before a redirection");
    }
    return [this.#word()];
  }

  #word(): Word {
    const whole = this.#parts.join("");
    const expands = this.#brace && /,|\.\./.test(whole);
    const text = expands ? unknown : this.#bracket ? `${whole.slice(0, whole.indexOf("["))}${unknown}` : whole;
    return { kind: "word", text, bare: this.#bare, splits: this.#splits || expands || this.#bracket, assigns: this.#assigns };
  }

  #one(character: string): void {
    this.at += 1;
    switch (character) {
      case "\\":
        this.#escaped();
        return;
      case "'":
        this.#single();
        return;
      case '"':
        this.#double();
        return;
      case "`":
        throw new Unreadable("it runs a command inside ` `");
      case "$":
        this.#dollar(false);
        return;
      case "*":
      case "?":
        this.#add(unknown);
        this.#splits = true;
        return;
      case "~":
        this.#add(this.#mayBeHome() ? unknown : character);
        return;
      default:
        this.#plain(character);
    }
  }

  #plain(character: string): void {
    if (invisible.test(character)) throw new Unreadable("it has a control character or a blank that is neither space nor tab");
    if (character === "{") this.#brace = true;
    // "[" by itself is a command.
    if (character === "[" && !(this.#parts.length === 0 && breaks.has(this.#text[this.at] ?? " "))) this.#bracket = true;
    if (character === "=" && !this.#equals && this.#bare)
      this.#assigns = /^[A-Za-z_]\w*\+?$/.test(this.#text.slice(this.#from, this.at - 1));
    if (character === "=") this.#equals = true;
    this.#add(character);
  }

  #mayBeHome(): boolean {
    const before = this.#text[this.at - 2];
    return this.at - 1 === this.#from || before === "=" || before === ":";
  }

  #escaped(): void {
    const next = this.#text[this.at];
    if (next === undefined) throw new Unreadable("it ends with a backslash");
    this.at += 1;
    if (next === "\n") throw new Unreadable(continued);
    this.#quoted(next);
  }

  #single(): void {
    const end = this.#text.indexOf("'", this.at);
    if (end < 0) throw new Unreadable("a quotation does not end");
    this.#quoted(this.#text.slice(this.at, end));
    this.at = end + 1;
  }

  #double(): void {
    this.#quoted("");
    for (;;) {
      const character = this.#text[this.at++];
      if (character === undefined) throw new Unreadable("a quotation does not end");
      if (character === '"') return;
      if (character === "`") throw new Unreadable("it runs a command inside ` `");
      if (character === "$") this.#dollar(true);
      else if (character === "\\" && '$`"\\\n'.includes(this.#text[this.at] ?? "x")) {
        const next = this.#text[this.at++] as string;
        if (next === "\n") throw new Unreadable(continued);
        this.#quoted(next);
      } else this.#quoted(character);
    }
  }

  #dollar(quoted: boolean): void {
    const next = this.#text[this.at];
    if (next === "(") throw new Unreadable("it runs a command inside $( )");
    if (!quoted && (next === "'" || next === '"')) throw new Unreadable(`it has $${next}, which shells read differently`);
    parameter.lastIndex = this.at;
    const [name] = parameter.exec(this.#text) ?? [];
    if (name === undefined) {
      if (next === "{" || next === "[") throw new Unreadable(`it has an expansion $${next} that is more than a name`);
      this.#add("$");
      return;
    }
    this.at += name.length;
    this.#add(unknown);
    if ((!quoted && !number.test(name)) || name.includes("@")) this.#splits = true;
  }

  #quoted(text: string): void {
    this.#bare = false;
    this.#parts.push(text);
  }

  #add(text: string): void {
    this.#parts.push(text);
  }
}

/** The simple commands of a command line: what is run, whatever conditions and loops are around it. */
import { type Token, tokensOf, Unreadable, unknown, type Word } from "./shell-words.ts";

export interface SimpleCommand {
  /** NAME=value before the command, or alone; also what a loop sets. */
  readonly assignments: readonly Word[];
  readonly words: readonly Word[];
  /** Files it is connected with. */
  readonly redirections: readonly Word[];
}
/** Every command in it; or why it cannot be read. */
export type ParsedCommand = { readonly commands: readonly SimpleCommand[] } | { readonly problem: string };

export function commandsOf(text: string): ParsedCommand {
  try {
    return { commands: new CommandReader(tokensOf(text)).read() };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { problem: error.message };
  }
}

const separators: ReadonlySet<string> = new Set(["\n", ";", "&", "&&", "||", "|", "|&"]);
/**
 * Words that only say what belongs together. Whether they are where a shell wants them need not be known: it runs nothing of a
 * line that it cannot read, and here everything between them is a command.
 */
const structure: ReadonlySet<string> = new Set(["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}"]);
const unsupported: ReadonlySet<string> = new Set(["case", "esac", "select", "function", "coproc"]);
/** What a loop may call its variable: neither shells nor programs heed such a name. PATH, GIT_DIR and http_proxy are none. */
const unheeded = /^[a-z][a-z0-9]*$/;

class CommandReader {
  readonly #tokens: readonly Token[];
  readonly #commands: SimpleCommand[] = [];
  #at = 0;
  #depth = 0;
  #assignments: Word[] = [];
  #words: Word[] = [];
  #redirections: Word[] = [];
  /** After a redirection, also one to no file, a keyword is a word like any other. */
  #redirected = false;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  read(): readonly SimpleCommand[] {
    while (this.#at < this.#tokens.length) {
      const token = this.#tokens[this.#at++] as Token;
      if (token.kind === "word") this.#word(token);
      else this.#operator(token.text);
    }
    this.#end();
    if (this.#depth > 0) throw new Unreadable('a "(" is not closed');
    return this.#commands;
  }

  #word(word: Word): void {
    if (this.#isBeginning && word.bare) {
      if (structure.has(word.text)) return;
      if (word.text === "for") {
        this.#loop();
        return;
      }
      if (unsupported.has(word.text)) throw new Unreadable(`it has "${word.text}"`);
    }
    (word.assigns && this.#words.length === 0 ? this.#assignments : this.#words).push(word);
  }

  #operator(text: string): void {
    if (separators.has(text)) this.#end();
    else if (text === "(") {
      if (!this.#isBeginning) throw new Unreadable('it has a "(" after a word');
      this.#depth += 1;
    } else if (text === ")") {
      this.#end();
      if (--this.#depth < 0) throw new Unreadable('a ")" closes nothing');
    } else this.#redirection(text);
  }

  #redirection(operator: string): void {
    const target = this.#next("word");
    this.#redirected = true;
    // Text as input, or another descriptor: no file.
    if (operator === "<<<") return;
    if ((operator === ">&" || operator === "<&") && /^(?:\d+-?|-)$/.test(target.text)) return;
    this.#redirections.push(target);
  }

  /**
   * for NAME [in WORDS]: the words become the value of a variable, which is never known here. One that may be heeded is set as by
   * NAME=value.
   */
  #loop(): void {
    const name = this.#next("word");
    if (!name.bare || !/^\w+$/.test(name.text)) throw new Unreadable('it has a "for" without a name');
    if (!unheeded.test(name.text))
      this.#commands.push({ assignments: [{ ...name, text: `${name.text}=${unknown}`, assigns: true }], words: [], redirections: [] });
    const next = this.#tokens[this.#at];
    if (next?.kind !== "word" || next.text !== "in") return;
    while (this.#tokens[this.#at]?.kind === "word") this.#at += 1;
    const end = this.#tokens[this.#at]?.text;
    if (end !== ";" && end !== "\n") throw new Unreadable('it has a "for" that is not understood');
  }

  #next(kind: "word"): Word {
    const token = this.#tokens[this.#at++];
    if (token?.kind !== kind) throw new Unreadable("a word is missing");
    return token;
  }

  get #isBeginning(): boolean {
    return this.#words.length === 0 && this.#assignments.length === 0 && !this.#redirected;
  }

  #end(): void {
    if (!this.#isBeginning) this.#commands.push({ assignments: this.#assignments, words: this.#words, redirections: this.#redirections });
    this.#assignments = [];
    this.#words = [];
    this.#redirections = [];
    this.#redirected = false;
  }
}

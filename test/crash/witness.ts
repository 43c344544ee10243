/**
 * What happened outside, as the outside tells it: a file that every process appends to and that outlives them all. One line is one
 * act. A line that was handed to the kernel survives the death of its process, and lines of several processes never mix.
 */
import { appendFileSync, readFileSync } from "node:fs";

/** One line: an effect began, acted, or was asked about. `key` is the id of its call, which must be on disk before any of this. */
export interface Act {
  readonly run: string;
  readonly effect: string;
  readonly how: "begun" | "once" | "keyed" | "probed";
  readonly key: string;
  readonly pid: number;
}

export class Witness {
  readonly #file: string;
  #read = 0;
  #rest = "";
  readonly #acts: Act[] = [];

  constructor(file: string) {
    this.#file = file;
    appendFileSync(file, "");
  }

  see(act: Omit<Act, "pid">): void {
    appendFileSync(this.#file, `${JSON.stringify({ ...act, pid: process.pid })}\n`);
  }

  /** Everything so far, by anybody. */
  acts(): readonly Act[] {
    const bytes = readFileSync(this.#file);
    const lines = (this.#rest + bytes.subarray(this.#read).toString()).split("\n");
    this.#read = bytes.length;
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#acts.push(JSON.parse(line) as Act);
    return this.#acts;
  }

  /** What is known of one call. */
  of(key: string): { readonly acted: boolean; readonly begunBy: readonly number[] } {
    const acts = this.acts().filter((act) => act.key === key);
    return {
      acted: acts.some(({ how }) => how === "once" || how === "keyed"),
      begunBy: acts.filter(({ how }) => how === "begun").map(({ pid }) => pid),
    };
  }
}

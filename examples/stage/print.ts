/** Lines of an example. */
import { styleText } from "node:util";

/** What the terminal has; piped there is no such limit. */
export const columns = process.stdout.columns ?? 100;

export function heading(text: string): void {
  console.log(`\n${ink("bold", text)}`);
}

/** What something is called, in so many columns, and what it is. */
export function fact(name: string, text: string, width = 9): void {
  for (const [index, line] of folded(text, columns - width - 3).entries())
    console.log(`  ${(index === 0 ? name : "").padEnd(width)} ${line}`);
}

export function ink(colour: Parameters<typeof styleText>[0], text: string): string {
  return process.stdout.isTTY && process.env["NO_COLOR"] === undefined ? styleText(colour, text) : text;
}

/** Lines of so many characters. */
export function folded(text: string, room: number): readonly string[] {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + word.length >= room) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}
